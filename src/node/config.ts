// What a program must be told about the machine it answers for.
import { type Static, Type } from 'typebox'
import Value from 'typebox/value'
import type { HostOptions } from '#src/kernel/host.ts'
import { PromotionSettings } from './failover/promotion.ts'
import { NodeNetConfig } from './net/config.ts'

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
    failover: Type.Optional(
      Type.Object(
        {
          scripts_dir: Type.String({
            default: '/usr/local/lib/groundplane/failover',
            pattern: '^/',
            description: 'Folder of the managed scripts: they are restored there, and nothing else belongs into it.',
          }),
          pid_file: Type.String({
            default: '/run/keepalived.pid',
            pattern: '^/',
            description: 'Process id of the failover daemon, which is asked to read restored scripts again.',
          }),
          promotion: Type.Optional(PromotionSettings),
          spool_dir: Path('Spool of the notify script: ha/spool in the data folder of the control plane.'),
        },
        { additionalProperties: false, description: 'On management nodes: the failover daemon.' },
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
  },
  { additionalProperties: false },
)
export type NodeSettings = Static<typeof NodeSettings>

/** Where the machine's files and tools stand, as `linuxHost` takes it. */
export function hostOptionsOf({ proc_root, sys_root, root, tools }: NodeSettings): HostOptions {
  return {
    ...(proc_root === undefined ? {} : { proc_root }),
    ...(sys_root === undefined ? {} : { sys_root }),
    ...(root === undefined ? {} : { root }),
    ...(tools === undefined ? {} : { tools }),
  }
}

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
