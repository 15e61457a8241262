// The configuration of an agent: a small YAML file; the options of enrolment come from the command line.
import { readFileSync } from 'node:fs'
import { type Static, Type } from 'typebox'
import Value from 'typebox/value'
import { parse } from 'yaml'
import { ConfigError } from '#src/kernel/config.ts'
import { checkNodeSettings, type NodeSettings } from '#src/node/config.ts'

export const AgentConfigSchema = Type.Object(
  {
    listen: Type.Object(
      {
        host: Type.String({ default: '0.0.0.0', description: 'Address to listen on.' }),
        port: Type.Integer({ default: 8443, minimum: 0, maximum: 65535, description: 'Port; 0 takes a free one.' }),
      },
      { additionalProperties: false, default: {}, description: 'Where the control plane reaches the agent.' },
    ),
    advertise_address: Type.Optional(
      Type.String({ description: 'Address to be reached at; left out: the one that heartbeats come from.' }),
    ),
    control_url: Type.Optional(Type.String({ pattern: '^https?://', description: 'Base URL of the control plane.' })),
    control_ca_file: Type.Optional(
      Type.String({ description: 'CA of the control plane’s HTTPS, where the system does not know it.' }),
    ),
    state_dir: Type.String({
      default: '/var/lib/groundplane-agent',
      description: 'Folder of the identity and of what must survive a restart.',
    }),
    node: Type.Unknown({ default: {}, description: 'About the machine: net, frr, tools and so on.' }),
    log: Type.Object(
      {
        level: Type.Enum(['debug', 'info', 'warn', 'error'], { default: 'info', description: 'Least level written.' }),
      },
      { additionalProperties: false, default: {}, description: 'Logs go to standard output.' },
    ),
  },
  { additionalProperties: false },
)

export type AgentConfig = Omit<Static<typeof AgentConfigSchema>, 'node' | 'control_url' | 'control_ca_file'> & {
  node: NodeSettings
  control_url: string
  control_ca: string | undefined
}

export function loadAgentConfig(
  file: string | undefined,
  given: { control_url?: string | undefined; state_dir?: string | undefined },
): AgentConfig {
  const raw = file === undefined ? {} : readYaml(file)
  const laid = typeof raw === 'object' && raw !== null ? { ...raw, ...defined(given) } : raw
  const filled = Value.Default(AgentConfigSchema, laid)
  const problems = [...Value.Errors(AgentConfigSchema, filled)].map(
    ({ instancePath, message }) => `${instancePath.slice(1).replaceAll('/', '.') || '(top)'}: ${message}`,
  )
  if (!Value.Check(AgentConfigSchema, filled)) throw new ConfigError([...new Set(problems)])
  const { control_url, control_ca_file, node, ...rest } = filled
  if (control_url === undefined) throw new ConfigError(['control_url: is needed (or --join URL)'])
  const checked = checkNodeSettings(node)
  if ('problems' in checked) throw new ConfigError(checked.problems.map((problem) => `node.${problem}`))
  const control_ca = control_ca_file === undefined ? undefined : readText(control_ca_file)
  return { ...rest, control_url, control_ca, node: checked.settings }
}

function defined<T extends object>(values: T): Partial<T> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as Partial<T>
}

function readYaml(file: string): unknown {
  try {
    return parse(readText(file)) ?? {}
  } catch (cause) {
    throw cause instanceof ConfigError ? cause : new ConfigError([`${file}: ${String(cause)}`])
  }
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new ConfigError([`${file}: ${cause instanceof Error ? cause.message : 'cannot be read'}`])
  }
}
