// What a program must be told about the machine it answers for.
import { type Static, Type } from 'typebox'
import Value from 'typebox/value'
import { capturedAbout } from './captured-host.ts'
import { at, isRecord } from './foreign-json.ts'
import { NodeNetConfig, parseNodeNetConfig } from './net/config.ts'

const Path = (description: string) => Type.Optional(Type.String({ pattern: '^/', description }))

export const NodeSettings = Type.Object(
  {
    net: NodeNetConfig,
    frr: Type.Optional(
      Type.Object(
        {
          vty_dir: Path('Folder of the command sockets of the routing daemons.'),
          config_dir: Path('Folder of vtysh.conf.'),
          intended_config_path: Path('File with the intended routing configuration.'),
          timeout_ms: Type.Optional(Type.Integer({ minimum: 100, description: 'Longest wait for one daemon.' })),
        },
        { additionalProperties: false },
      ),
    ),
    proc_root: Path('Where /proc stands.'),
    sys_root: Path('Where /sys stands.'),
    root: Path('Where /etc and other absolute paths stand.'),
    tools: Type.Optional(
      Type.Record(Type.String(), Type.String({ pattern: '^/' }), {
        description: 'Tool to its absolute path, for tools that are not on the path.',
      }),
    ),
    cluster_args: Type.Optional(
      Type.Array(Type.String(), { description: 'Arguments before every storage cluster command.' }),
    ),
    captured: Path('Folder of a captured host to answer from instead of this machine.'),
  },
  { additionalProperties: false },
)
export type NodeSettings = Static<typeof NodeSettings>

/** Checks settings from a file; the messages of what is wrong, or the settings with defaults filled in. */
export function checkNodeSettings(raw: unknown): { settings: NodeSettings } | { problems: string[] } {
  const given = typeof raw === 'object' && raw !== null ? { net: {}, ...structuredClone(raw) } : raw
  const filled = Value.Default(NodeSettings, given)
  if (Value.Check(NodeSettings, filled)) return { settings: filled }
  const problems = [...Value.Errors(NodeSettings, filled)].map(
    ({ instancePath, message }) => `${instancePath.slice(1).replaceAll('/', '.') || '(top)'}: ${message}`,
  )
  return { problems: [...new Set(problems)] }
}

/** The network settings in force: a captured host brings its own; what is set beside it comes first. */
export function netConfigOf({ captured, net }: NodeSettings): NodeNetConfig {
  if (captured === undefined) return net
  const recorded = at(capturedAbout(captured), 'node_net')
  const { roles, uplinks, thresholds: _thresholds, ...named } = net
  return parseNodeNetConfig({
    ...(isRecord(recorded) ? recorded : {}),
    ...named,
    ...(Object.keys(roles).length === 0 ? {} : { roles }),
    ...(uplinks.length === 0 ? {} : { uplinks }),
  })
}
