// Reads what a preflight is judged by, every source at the same time and for no longer than its budget.
import type { LimitFunction } from 'p-limit'
import { agent } from '#src/contract/agent.ts'
import { hostStorage } from '#src/contract/storage/host.ts'
import type { Ceph } from '#src/drivers/ceph/client.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import type { DhcpServer } from '#src/drivers/ddi/dhcp-server.ts'
import type { DnsServer } from '#src/drivers/ddi/dns-server.ts'
import type { IpamStore } from '#src/drivers/ddi/ipam-store.ts'
import { textAt } from '#src/drivers/redfish/document.ts'
import { bootSlot } from '#src/drivers/redfish/media.ts'
import { runningJob } from '#src/jobs/lookup.ts'
import type { Config } from '#src/kernel/config.ts'
import { ApiError, UpstreamError } from '#src/kernel/errors.ts'
import { asApiError } from '#src/kernel/http/errors.ts'
import type { Log } from '#src/kernel/log.ts'
import { lastInventory } from '#src/store/bmcs.ts'
import type { Database } from '#src/store/database.ts'
import type { NodeRow } from '#src/store/nodes.ts'
import type { BmcAccess } from '../../bmc-access.ts'
import type { NodeAgents } from '../../node-agents.ts'
import { readAddresses } from './address-reading.ts'
import type { ClusterPorts } from '../cluster/ports.ts'
import { readCluster } from './cluster-reading.ts'
import { readDisks } from './disk-reading.ts'
import { readFabric } from './fabric-reading.ts'
import { readPlatform } from './platform-reading.ts'
import type { BmcReading, Reading, Readings, StorageReading } from './readings.ts'
import type { Share } from './shared-reading.ts'
import { readingOf } from './store-reading.ts'
import { wipeImage } from './wipe-image.ts'

export interface SourceDeps {
  database: Database
  cloudstack: CloudStack
  agents: Pick<NodeAgents, 'client'>
  bmcs: Pick<BmcAccess, 'open'>
  dhcp_server: DhcpServer | undefined
  dns_server: DnsServer | undefined
  ipam_store: IpamStore | undefined
  ceph: Ceph | undefined
  config: Config
  log: Log
  cluster: ClusterPorts
  /** What each source may take. */
  budget_ms: number
  share: Share
  /** One reading of the platform asks it a dozen times: a hundred at once would be more than may wait for it. */
  platform_limit: LimitFunction
}

export async function readSources(deps: SourceDeps, node: NodeRow, by: string, except_job?: string): Promise<Readings> {
  const { database, cloudstack, config } = deps
  const read = <T>(source: string, work: (signal: AbortSignal) => Promise<T>): Promise<Reading<T>> =>
    within(deps, node, source, work)
  const names = [node.fqdn, node.hostname].filter((name) => name !== null)
  const addresses = [...new Set([...(node.node_ip === null ? [] : [node.node_ip]), ...(node.addresses ?? [])])]
  const [running_job, inventory, bmc, of_agent, platform, storage, fabric, cluster, bound, disks, wipe_image] =
    await Promise.all([
      runningJob(database.db, { node_ip: node.bmc_ip }, except_job),
      lastInventory(database.db, node.bmc_ip),
      read('bmc', (signal) => readBmc(deps, node.bmc_ip, by, signal)),
      read('agent', (signal) => readAgent(deps, node, signal)),
      read('platform', (signal) =>
        deps.platform_limit(() => {
          signal.throwIfAborted()
          return readPlatform(cloudstack, { addresses, names }, { signal }, deps.share)
        }),
      ),
      read('storage', (signal) => readStorage(deps, node, signal)),
      read('fabric', () => readFabric(deps, node, deps.budget_ms / 2)),
      read('cluster', () => readCluster(deps, node)),
      read('addresses', (signal) => readAddresses(deps, node, signal)),
      read('disks', (signal) => readDisks(deps, node, signal)),
      read('wipe_image', () => deps.share('wipe image', () => wipeImage(config.bmc))),
    ])
  const { serial = null, uuid = null } = inventory?.system ?? {}
  return {
    node: { bmc_ip: node.bmc_ip, node_ip: node.node_ip, role: node.role, addresses },
    running_job,
    recorded: inventory === undefined ? null : { serial, uuid },
    bmc, agent: of_agent, platform, storage, fabric, cluster, addresses: bound, disks, wipe_image,
  } // biome-ignore format: a record
}

async function within<T>(
  { budget_ms, log }: SourceDeps,
  { bmc_ip }: NodeRow,
  source: string,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<Reading<T>> {
  const stop = new AbortController()
  const seconds = Math.round(budget_ms / 1000)
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<Reading<T>>((resolve) => {
    timer = setTimeout(() => {
      resolve({ missing: `it did not answer within ${seconds} s` })
      stop.abort()
    }, budget_ms)
  })
  const reading = work(stop.signal).then(
    (value): Reading<T> => ({ read: value }),
    (err: unknown): Reading<T> => {
      log.info({ err, bmc_ip, source }, 'source of a preflight not read')
      return { missing: sentenceOf(err) }
    },
  )
  return Promise.race([reading, over]).finally(() => clearTimeout(timer))
}

/** As it stands within another sentence. */
function sentenceOf(error: unknown): string {
  const known = error instanceof ApiError || error instanceof UpstreamError
  const text = known ? asApiError(error, null).message : 'reading it failed; the log says why'
  return text.replace(/\.$/, '')
}

async function readBmc({ bmcs }: SourceDeps, bmc_ip: string, by: string, signal: AbortSignal): Promise<BmcReading> {
  const bmc = await bmcs.open({ bmc_ip, by })
  const { system_path } = await bmc.graph({ signal })
  const system = await bmc.client.get(system_path, { signal })
  const boots_images = await bootSlot(bmc, { signal }).then(
    () => true,
    (error: unknown) => {
      if (error instanceof ApiError && error.code === 'BMC_UNSUPPORTED') return false
      throw error
    },
  )
  return { serial: textAt(system, 'SerialNumber'), uuid: textAt(system, 'UUID'), boots_images }
}

async function readAgent({ agents, budget_ms }: SourceDeps, node: NodeRow, signal: AbortSignal): Promise<true> {
  await agents.client(node, agent.routes, { timeout_ms: budget_ms, signal }).agentHealth()
  return true
}

/** The store itself, where it is configured; else what the node's agent knows, which is too little for a member to leave. */
async function readStorage(
  { agents, budget_ms, ceph, share }: SourceDeps,
  node: NodeRow,
  signal: AbortSignal,
): Promise<StorageReading> {
  const names = [node.fqdn, node.hostname].filter((name) => name !== null)
  if (ceph !== undefined) return readingOf(await share('store', (shared) => ceph.state(shared)), names)
  // One that has never had an agent has never been made a member.
  if (node.certificate === null) return NO_MEMBER
  const client = agents.client(node, hostStorage.routes, { timeout_ms: budget_ms, signal })
  const [status, health] = await Promise.all([client.clusterstoreStatus(), client.hostStorageHealth()])
  if (health.clusterstore_health === 'NOT_CONFIGURED') return NO_MEMBER
  const { disks } = await client.clusterstoreDiskList({ query: { page_size: 500 } })
  if (disks === null || status.pool_count === null) throw new Error('the node does not tell its share of the store')
  return {
    daemons: disks.length,
    daemons_up: disks.filter(({ is_healthy }) => is_healthy === true).length,
    pools: status.pool_count,
    health: status.message.includes('ERR')
      ? 'HEALTH_ERR'
      : health.clusterstore_health === 'HEALTHY'
        ? 'HEALTH_OK'
        : 'HEALTH_WARN',
    without: null,
  }
}

const NO_MEMBER: StorageReading = { daemons: 0, daemons_up: 0, pools: 0, health: 'HEALTH_OK', without: null }
