// The control plane as production runs it: `groundplane control --config FILE` as programs of their own, any number of
// replicas on one database and one data folder, in front of the simulated platform.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type CloudStackLab, startCloudStack } from '../../lab/cloudstack/server.ts'
import { type Child, type Children, createChildren } from './children.ts'
import { type Caller, callerFor } from './http.ts'
import { until } from './until.ts'
import { tempFolder } from './temp-folder.ts'

const PROGRAM = join(import.meta.dirname, '../../bin/cli.ts')

/** Variables that would be laid over the configuration of the test. */
const CONFIGURES = /^(DATABASE_URL$|GROUNDPLANE_)/

export interface ControlProcess extends Child {
  url: string
  call: Caller
}

export interface Production {
  platform: CloudStackLab
  children: Children
  /** Only after the first replica has started. */
  token(): string
  /** A loaded machine may need longer than others to start one. */
  startReplica(options?: ReplicaOptions): Promise<ControlProcess>
  /** Everything the replicas logged. */
  logs(): string
  close(): Promise<void>
}

export interface ReplicaOptions {
  ready_within_ms?: number
  /** Another way to the database than the others go. */
  database_url?: string
}

export interface ProductionOptions {
  database_url: string
  /** Laid over the configuration. */
  config?: Record<string, unknown>
  /** A running one, which outlives the replicas. */
  platform?: CloudStackLab
  /** Of Node, for each replica. */
  flags?: readonly string[]
}

export async function startProduction(options: ProductionOptions): Promise<Production> {
  const { database_url, config = {}, flags = [] } = options
  const folder = tempFolder('gp-production-')
  const data_dir = join(folder, 'data')
  mkdirSync(data_dir, { mode: 0o700 })
  const platform = options.platform ?? (await startCloudStack({ time: 'step', loopback_webhooks: true }))
  const config_file = join(folder, 'control.json')
  const { url, api_key, secret_key } = platform
  writeFileSync(
    config_file,
    // JSON is YAML as well.
    JSON.stringify({
      listen: { port: 0 },
      data_dir,
      database: { url: database_url },
      ...config,
      compute: {
        url,
        api_key,
        secret_key,
        events_poll_ms: 300,
        states_poll_ms: 500,
        ...(config['compute'] as object | undefined),
      },
    }),
    { mode: 0o600 },
  )
  const children = createChildren()
  const replicas: ControlProcess[] = []
  const token = (): string => readFileSync(join(data_dir, 'admin-token'), 'utf8').trim()
  return {
    platform,
    children,
    token,
    async startReplica({ ready_within_ms, database_url: own_way } = {}) {
      const child = children.start(process.execPath, [...flags, PROGRAM, 'control', '--config', config_file], {
        env: {
          ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !CONFIGURES.test(name))),
          ...(own_way === undefined ? {} : { DATABASE_URL: own_way }),
        },
      })
      const ready = await until('the control plane is ready', () => readyUrl(child), ready_within_ms)
      const replica: ControlProcess = { ...child, url: ready, call: callerFor(ready, token()) }
      replicas.push(replica)
      return replica
    },
    logs: () => replicas.map((replica) => replica.output() + replica.errors()).join(''),
    async close() {
      await children.close()
      if (options.platform === undefined) await platform.close()
    },
  }
}

function readyUrl(child: Child): string | undefined {
  const line = child
    .output()
    .split('\n')
    .find((one) => one.includes('"control plane ready"'))
  if (line !== undefined) return (JSON.parse(line) as { url: string }).url
  if (child.ended()) throw new Error(`the control plane ended: ${child.errors()}${child.output()}`)
  return undefined
}
