// The lab's data centre: the embedded database, the simulated platform, and the real control plane in one process.
import { mkdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { pino } from 'pino'
import { checkConfig } from '#src/kernel/config.ts'
import { createLog } from '#src/kernel/log.ts'
import { startEmbeddedPostgres } from '#src/store/embedded/postgres.ts'
import { defaultStateDir } from '#src/store/embedded/state-dir.ts'
import { startLabAgents } from '../lab/agents.ts'
import { startCloudStack } from '../lab/cloudstack/server.ts'
import { DEFAULT_SIZE } from '../lab/world.ts'
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from './control-plane.ts'

export interface DataCentreOptions {
  host: string
  port: number
  vms: number
  /** Undefined: a folder of this checkout's own, which depends on the user (store/embedded/state-dir.ts). */
  state_dir: string | undefined
  agents: boolean
}

export interface DataCentre {
  url: string
  admin_token: string
  log_file: string
  /** A machine that the banner can offer to start. */
  stopped_vm: string
  close(): Promise<void>
}

/** Shared by the lab's simulator and the control plane, for the webhook between them. */
const HOOK_SECRET = 'lab-hook-secret'

export async function startDataCentre(options: DataCentreOptions): Promise<DataCentre> {
  const state_dir = options.state_dir ?? ownStateDir()
  const data_dir = join(state_dir, 'control')
  mkdirSync(data_dir, { recursive: true, mode: 0o700 })
  const log_file = join(data_dir, 'control.log')
  const log = createLog({
    level: 'info',
    destination: pino.destination({ dest: log_file, append: false, sync: false }),
  })
  const [postgres, platform] = await Promise.all([
    startEmbeddedPostgres({ state_dir, log: (line) => log.debug({ line }, 'postgres') }),
    startCloudStack({
      time: 'auto',
      port: 0,
      state_file: join(data_dir, `cloudstack-${options.vms}.journal`),
      size: { ...DEFAULT_SIZE, vms: options.vms },
    }),
  ])
  const config = checkConfig({
    listen: { host: options.host, port: options.port },
    data_dir,
    compute: {
      url: platform.url,
      api_key: platform.api_key,
      secret_key: platform.secret_key,
      hook_secret: HOOK_SECRET,
    },
  })
  const control = await startOnFreePort(config, {
    connection: postgres.connection,
    log,
    validate_answers: true,
    admin_token: 'always',
  })
  // Nobody waits for the agents: the API says who is online. What cannot start is told in the log.
  const agents = options.agents
    ? startLabAgents({
        url: control.url,
        token: control.admin_token ?? '',
        state_dir: join(data_dir, 'agents'),
        node: process.execPath,
        environment: process.env,
        log: (line) => log.info({}, line),
      }).catch((err: unknown) => {
        log.warn({ err }, 'the agents of the lab cannot be started')
        return undefined
      })
    : undefined
  return {
    url: control.url,
    admin_token: control.admin_token ?? '',
    log_file,
    stopped_vm: 'runner-02',
    async close() {
      await (await agents)?.close()
      await control.close()
      await platform.close()
      await postgres.stop()
    },
  }
}

/** Somebody else may hold the usual port: then any free one will do. */
async function startOnFreePort(
  config: ReturnType<typeof checkConfig>,
  options: ControlPlaneOptions,
): Promise<ControlPlane> {
  try {
    return await startControlPlane(config, options)
  } catch (error) {
    const taken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'
    if (!taken) throw error
    console.log(`Port ${config.listen.port} is taken; using a free one.`)
    return startControlPlane({ ...config, listen: { ...config.listen, port: 0 } }, options)
  }
}

function ownStateDir(): string {
  return defaultStateDir({
    uid: process.getuid?.() ?? 0,
    home: homedir(),
    xdg_state_home: process.env.XDG_STATE_HOME,
    checkout: resolve(import.meta.dirname, '..'),
  })
}
