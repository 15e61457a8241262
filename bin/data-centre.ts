// The lab's data centre: the embedded database, the simulated platform, address server and BMCs, and the real control plane
// in one process.
import { mkdirSync, writeFileSync } from 'node:fs'
import { getCompileCacheDir } from 'node:module'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { pino } from 'pino'
import { type Config, loadConfig } from '#src/kernel/config.ts'
import { createLog, type Log } from '#src/kernel/log.ts'
import { startEmbeddedPostgres } from '#src/store/embedded/postgres.ts'
import { defaultStateDir } from '#src/store/embedded/state-dir.ts'
import { makeStateFolder } from '#src/store/embedded/state-folder.ts'
import { startLabAgents } from '../lab/agents.ts'
import { type CephLab, startCephLab } from '../lab/ceph/server.ts'
import { type CloudStackLab, startCloudStack } from '../lab/cloudstack/server.ts'
import { rotateLog } from '../lab/log-file.ts'
import { DEFAULT_SIZE } from '../lab/site.ts'
import { makeInstaller } from '../lab/installer/xorriso.ts'
import { startPikvm } from '../lab/pikvm/server.ts'
import { BARE_NETWORK, BARE_NODES, KVM_NODES, NODE_NETWORK, seedBareNodes } from '../lab/redfish/bare-nodes.ts'
import { type RedfishLab, startRedfish } from '../lab/redfish/server.ts'
import { wipeImage, wipeMachine } from '../lab/redfish/wipe-image.ts'
import { startTechnitium, type TechnitiumLab } from '../lab/technitium/server.ts'
import { type LabCameras, orderNvr, startLabCameras } from './lab-cameras.ts'
import { type ControlPlane, type ControlPlaneOptions, startControlPlane } from './control-plane.ts'

export interface DataCentreOptions {
  host: string
  port: number
  vms: number
  /** Undefined: a folder of this checkout's own, which depends on the user (store/embedded/state-dir.ts). */
  state_dir: string | undefined
  agents: boolean
  /** Simulated cameras with an NVR. */
  cameras: boolean
  /** A real go2rtc that serves their live video. */
  relay_url?: string | undefined
  /** Settings by variable, as for the control plane; what the lab is made of cannot be set. */
  environment?: Readonly<Record<string, string | undefined>>
}

export interface DataCentre {
  url: string
  admin_token: string
  /** Signs in as admin, once. */
  console_url: string
  log_file: string
  /** A machine that the banner can offer to start. */
  stopped_vm: string
  /** UDP and TCP. */
  dns_port: number
  /** Control API of the address server: plays its DHCP clients. */
  dhcp_clients_url: string
  close(): Promise<void>
}

/** Shared by the lab's simulator and the control plane, for the webhook between them. */
const HOOK_SECRET = 'lab-hook-secret'

export async function startDataCentre(options: DataCentreOptions): Promise<DataCentre> {
  // What was started is stopped in reverse, at the end or when a later part cannot start.
  const started = new AsyncDisposableStack()
  try {
    const centre = await start(options, started)
    const all = started.move()
    return { ...centre, close: () => all.disposeAsync() }
  } catch (error) {
    await started.disposeAsync().catch((err: unknown) => console.error('Not everything could be stopped:', err))
    throw error
  }
}

async function start(options: DataCentreOptions, started: AsyncDisposableStack): Promise<Omit<DataCentre, 'close'>> {
  const state_dir = makeStateFolder(options.state_dir ?? ownStateDir())
  const data_dir = join(state_dir, 'control')
  mkdirSync(data_dir, { recursive: true, mode: 0o700 })
  mkdirSync(isoDir(data_dir), { recursive: true, mode: 0o700 })
  writeFileSync(join(isoDir(data_dir), WIPE_FILE), wipeImage())
  const log_file = join(data_dir, 'control.log')
  rotateLog(log_file)
  const { level } = loadConfig(undefined, options.environment ?? {}).log
  const log = createLog({ level, destination: pino.destination({ dest: log_file, sync: false }) })
  const [postgres, platform, addresses, redfish, pikvm, ceph] = await allStarted(
    startEmbeddedPostgres({ state_dir, log: (line) => log.debug({ line }, 'postgres') }).then((server) => {
      started.defer(() => server.stop())
      return server
    }),
    startCloudStack({
      loopback_webhooks: true,
      time: 'auto',
      port: 0,
      state_file: join(data_dir, `cloudstack-${options.vms}.journal`),
      size: { ...DEFAULT_SIZE, vms: options.vms },
    }).then((lab) => {
      started.defer(() => lab.close())
      return lab
    }),
    startTechnitium({
      state_file: join(data_dir, 'technitium.json'),
      log: (line) => log.debug({ line }, 'addresses'),
    }).then((lab) => {
      started.defer(() => lab.close())
      return lab
    }),
    startBareNodes(log).then((lab) => {
      started.defer(() => lab.close())
      return lab
    }),
    startPikvm({ kvms: KVM_NODES }).then((lab) => {
      started.defer(() => lab.close())
      return lab
    }),
    startCephLab({ folder: join(data_dir, 'ceph'), hosts: ['kvm-01', 'kvm-02', 'kvm-03'] }).then((lab) => {
      started.defer(() => lab.close())
      return lab
    }),
  )
  const cameras = options.cameras
    ? await startedCameras(platform, { data_dir, relay_url: options.relay_url, log }, started)
    : null
  const config = labConfig(options, data_dir, { platform, addresses, cameras, ceph })
  const control = await startOnFreePort(config, {
    connection: postgres.connection,
    log,
    validate_answers: true,
    admin_token: 'always',
  })
  started.defer(() => control.close())
  const access = { url: control.url, token: control.admin_token ?? '' }
  const devices = [...Object.values(redfish.bmcs), ...Object.values(pikvm.kvms)]
  await seedBareNodes({ ...access, devices, log: (line) => log.warn({}, line) })
  if (options.agents) startAgents(control, data_dir, log, started)
  if (cameras?.is_ordered === false) orderInBackground(cameras, control, log, started)
  const { dns_port, control_url: dhcp_clients_url } = addresses
  return {
    url: control.url,
    admin_token: control.admin_token ?? '',
    console_url: `${control.url}/console/#code=${control.sign_in_code ?? ''}`,
    log_file,
    stopped_vm: 'runner-02',
    dns_port,
    dhcp_clients_url,
  }
}

/** What the environment says, with what the lab itself is made of laid over it. */
function labConfig(
  options: DataCentreOptions,
  data_dir: string,
  parts: { platform: CloudStackLab; addresses: TechnitiumLab; cameras: LabCameras | null; ceph: CephLab },
): Config {
  const { platform, addresses, cameras, ceph } = parts
  const given = loadConfig(undefined, options.environment ?? {})
  return {
    ...given,
    listen: { ...given.listen, host: options.host, port: options.port },
    data_dir,
    compute: {
      ...given.compute,
      url: platform.url,
      api_key: platform.api_key,
      secret_key: platform.secret_key,
      hook_secret: HOOK_SECRET,
    },
    dhcp: { ...given.dhcp, server: 'technitium' },
    dns: { ...given.dns, server: 'technitium' },
    ceph: { ...given.ceph, conf: ceph.conf, tool: ceph.tool },
    technitium: { url: addresses.url, token: addresses.token },
    cam: {
      ...given.cam,
      camera_networks: [...given.cam.camera_networks, ...(cameras === null ? [] : [`${cameras.subnet}.0/24`])],
    },
    bmc: {
      ...given.bmc,
      allowed_networks: [BARE_NETWORK],
      iso_dir: given.bmc.iso_dir ?? isoDir(data_dir),
      wipe_image: given.bmc.wipe_image ?? WIPE_FILE,
      image_addresses: [...given.bmc.image_addresses, '127.0.0.1'],
      follow_ms: 500,
    },
    setup: { ...given.setup, cluster: given.setup.cluster ?? 'cluster-a' },
    installer: {
      ...given.installer,
      ...makeInstaller(data_dir),
      node_networks: [NODE_NETWORK],
      callback_scheme: 'http',
      poll_ms: 500,
      // Ports below 1024 are for root alone.
      ssh_port: 2222,
    },
    // The nodes of the lab are its captured hosts: this machine is none of them.
    node: { enabled: false, settings: {} },
  }
}

/** Machines that wipe their disks when they are started from the wipe image. */
async function startBareNodes(log: Log): Promise<RedfishLab> {
  const redfish: RedfishLab = await startRedfish({
    bmcs: BARE_NODES,
    onBoot(name, image) {
      const bmc = redfish.bmcs[name]
      if (bmc === undefined) return
      wipeMachine(bmc, image).catch((err: unknown) => log.warn({ err, bmc: name }, 'wipe could not be played'))
    },
  })
  return redfish
}

const WIPE_FILE = 'wipe.iso'

/** Images that the bare nodes can be started from: whatever is put there. */
function isoDir(data_dir: string): string {
  return join(data_dir, 'images')
}

/** Waits for all also when one fails, so that the others are known to whoever stops them. */
async function allStarted<T extends readonly Promise<unknown>[]>(...parts: T) {
  await Promise.allSettled(parts)
  return Promise.all(parts)
}

/** Without them, for example where loopback has one address only, the rest of the lab is as useful. */
async function startedCameras(
  platform: CloudStackLab,
  options: Parameters<typeof startLabCameras>[1],
  started: AsyncDisposableStack,
): Promise<LabCameras | null> {
  try {
    const cameras = await startLabCameras(platform, options)
    started.defer(() => cameras.close())
    return cameras
  } catch (err) {
    options.log.warn({ err }, 'the cameras of the lab cannot be started')
    return null
  }
}

/** Takes some seconds, for which nobody waits. */
function orderInBackground(cameras: LabCameras, control: ControlPlane, log: Log, started: AsyncDisposableStack): void {
  const stopping = new AbortController()
  const { url, admin_token } = control
  const ordered = orderNvr(cameras, { url, admin_token: admin_token ?? '' }, stopping.signal).then(
    () => {
      cameras.markOrdered()
      log.info({}, 'the NVR of the lab is ready')
    },
    (err: unknown) => {
      if (!stopping.signal.aborted) log.warn({ err }, 'the NVR of the lab could not be ordered')
    },
  )
  started.defer(async () => {
    stopping.abort()
    await ordered
  })
}

/** Nobody waits for the agents: the API says who is online. What cannot start is logged. */
function startAgents(control: ControlPlane, data_dir: string, log: Log, started: AsyncDisposableStack): void {
  const compile_cache = getCompileCacheDir()
  const agents = startLabAgents({
    url: control.url,
    token: control.admin_token ?? '',
    state_dir: join(data_dir, 'agents'),
    node: process.execPath,
    ...(compile_cache === undefined ? {} : { compile_cache }),
    log: (line) => log.info({}, line),
  }).catch((err: unknown) => {
    log.warn({ err }, 'the agents of the lab cannot be started')
    return undefined
  })
  started.defer(async () => (await agents)?.close())
}

/** Somebody else may hold the usual port: then any free one will do. */
async function startOnFreePort(config: Config, options: ControlPlaneOptions): Promise<ControlPlane> {
  try {
    return await startControlPlane(config, options)
  } catch (error) {
    const taken = error instanceof Error && 'code' in error && error.code === 'EADDRINUSE'
    if (!taken) throw error
    console.log(`Port ${config.listen.port} is taken; using a free one.`)
    return startControlPlane({ ...config, listen: { ...config.listen, port: 0 } }, options)
  }
}

/** Of this checkout and user. */
export function ownStateDir(): string {
  return defaultStateDir({
    uid: process.getuid?.() ?? 0,
    home: homedir(),
    xdg_state_home: process.env.XDG_STATE_HOME,
    checkout: resolve(import.meta.dirname, '..'),
  })
}
