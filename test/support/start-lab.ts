// A whole private cloud for a test file: a database of its own, the lab's platform, and the real control plane in front.
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { type ControlPlane, startControlPlane } from '../../bin/control-plane.ts'
import { type CloudStackLab, startCloudStack } from '../../lab/cloudstack/server.ts'
import type { SiteSize } from '../../lab/site.ts'
import { startTechnitium, type TechnitiumLab } from '../../lab/technitium/server.ts'
import { checkConfig, type Config } from '#src/kernel/config.ts'
import { createLog } from '#src/kernel/log.ts'
import { type Caller, callerFor } from './http.ts'
import { createTestDatabase, type TestDatabase } from './test-database.ts'
import { tempFolder } from './temp-folder.ts'

export interface LabOptions {
  /** `step`: the platform moves only when told; `auto`: by itself. */
  time?: 'auto' | 'step'
  size?: Partial<SiteSize>
  /** Starts a DHCP and DNS server as well, and names it in the configuration. */
  addresses?: boolean
  /** Laid over the test configuration. */
  config?: Record<string, unknown>
  /** One that the test starts and stops itself; it is dropped with the lab. */
  database?: TestDatabase
  /** Puts something between the control plane and the platform, and answers the address that is called instead. */
  between?: (platform_url: string) => Promise<string>
  /** Of the pauses that other systems are given; 1 where calls are on their way for long. */
  wait_factor?: number
  /** Called at each named point of a job run; throwing there is a crash (jobs/runner.ts). */
  at?: (point: string) => void
}

export interface Lab {
  url: string
  token: string
  call: Caller
  platform: CloudStackLab
  /** Only with the option `addresses`. */
  readonly addresses: TechnitiumLab
  control: ControlPlane
  config: Config
  database: TestDatabase
  /** Everything logged so far, one JSON line each. */
  logs: () => string
  data_dir: string
  /** Ends the control plane and starts it again on the same database and data folder; between the two another replica serves. */
  restart(meanwhile?: (call: Caller) => Promise<void>): Promise<void>
  close(): Promise<void>
}

/** With what answers at once when the machine is free: only tests of silence set less. */
const PATIENCE_MS = 15_000
/** Ten times as fast as in production. */
const WAIT_FACTOR = 0.1

export async function startLab(options: LabOptions = {}): Promise<Lab> {
  const data_dir = tempFolder('gp-lab-')
  const [database, platform, addresses] = await Promise.all([
    options.database ?? createTestDatabase(),
    startCloudStack({
      loopback_webhooks: true,
      time: options.time ?? 'auto',
      port: 0,
      state_file: join(data_dir, 'cloudstack.journal'),
      ...(options.size === undefined ? {} : { size: options.size as SiteSize }),
    }),
    options.addresses === true ? startTechnitium({ state_file: join(data_dir, 'technitium.json') }) : undefined,
  ])
  const stopRest = async (): Promise<void> => {
    await addresses?.close()
    await platform.close()
    await database.drop()
  }
  const config = await configOf(options, data_dir, platform, addresses).catch(async (error: unknown) => {
    await stopRest()
    throw error
  })
  const log = memoryLog()
  const start = (configured = config): Promise<ControlPlane> =>
    startControlPlane(configured, {
      connection: database.connection,
      log: log.log,
      validate_answers: true,
      admin_token: 'always',
      wait_factor: options.wait_factor ?? WAIT_FACTOR,
      ...(options.at === undefined ? {} : { at: options.at }),
    })
  let control = await start().catch(async (error: unknown) => {
    await stopRest()
    throw error
  })
  const lab: Lab = {
    url: control.url,
    token: control.admin_token ?? '',
    call: callerFor(control.url, control.admin_token ?? ''),
    platform,
    get addresses() {
      if (addresses === undefined) throw new Error('start the lab with addresses: true')
      return addresses
    },
    control,
    config,
    database,
    logs: log.text,
    data_dir,
    async restart(meanwhile) {
      await control.close()
      if (meanwhile !== undefined) {
        const other = await start({ ...config, listen: { ...config.listen, port: 0 } })
        try {
          await meanwhile(callerFor(other.url, lab.token))
        } finally {
          await other.close()
        }
      }
      control = await start()
      Object.assign(lab, { url: control.url, control, call: callerFor(control.url, lab.token) })
    },
    async close() {
      await control.close()
      await stopRest()
    },
  }
  return lab
}

/**
 * A silence is waited for so long while `work` runs. A lab that is impatient for all of its time takes a machine that stands
 * still for a silence.
 */
export async function impatiently<T>(
  settings: Pick<Config['compute'], 'timeout_ms' | 'read_timeout_ms'>,
  work: () => Promise<T>,
  timeout_ms = 1000,
): Promise<T> {
  const usual = { timeout_ms: settings.timeout_ms, read_timeout_ms: settings.read_timeout_ms }
  Object.assign(settings, { timeout_ms, read_timeout_ms: timeout_ms })
  try {
    return await work()
  } finally {
    Object.assign(settings, usual)
  }
}

async function configOf(
  options: LabOptions,
  data_dir: string,
  platform: CloudStackLab,
  addresses: TechnitiumLab | undefined,
): Promise<Config> {
  const nodes = { agent_timeout_ms: PATIENCE_MS }
  const servers =
    addresses === undefined
      ? { nodes }
      : {
          nodes,
          dhcp: { server: 'technitium', timeout_ms: PATIENCE_MS },
          dns: { server: 'technitium', timeout_ms: PATIENCE_MS },
          technitium: { url: addresses.url, token: addresses.token },
        }
  return checkConfig({
    listen: { port: 0 },
    data_dir,
    rate_limit: { per_second: 10_000, burst: 10_000, login_per_minute: 10_000 },
    ...options.config,
    ...laidOver(servers, options.config ?? {}),
    compute: {
      url: options.between === undefined ? platform.url : await options.between(platform.url),
      api_key: platform.api_key,
      secret_key: platform.secret_key,
      events_poll_ms: 300,
      states_poll_ms: 500,
      read_timeout_ms: PATIENCE_MS,
      timeout_ms: PATIENCE_MS,
      ...(options.config?.compute as object | undefined),
    },
  })
}

function memoryLog(): { log: ReturnType<typeof createLog>; text: () => string } {
  const lines: string[] = []
  const destination = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString())
      done()
    },
  })
  return { log: createLog({ level: 'debug', destination }), text: () => lines.join('') }
}

/** Groups of settings that the lab itself names keep what a test does not change. */
function laidOver(servers: Record<string, object>, given: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(servers).map(([name, group]) => [name, { ...group, ...(given[name] as object) }]),
  )
}
