// What the jobs of a node's life act on in their walks: the platform, an address store, name and DHCP server, and nodes whose agents
// answer from memory. Each change of a system has a point of the walk between its effect and its answer.
import assert from 'node:assert/strict'
import { randomUUIDv7 } from 'node:crypto'
import { startTechnitium } from '../../lab/technitium/server.ts'
import { bindJob, type BoundJob } from '#src/jobs/define.ts'
import { createTechnitiumDhcp } from '#src/drivers/technitium/dhcp.ts'
import { createTechnitiumDns } from '#src/drivers/technitium/dns.ts'
import { checkConfig } from '#src/kernel/config.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { createLog } from '#src/kernel/log.ts'
import { createAddressNames } from '#src/modules/ddi/dns/address-names.ts'
import { createZoneContents } from '#src/modules/ddi/dns/zone-contents.ts'
import { builtInStore } from '#src/modules/ddi/ipam/built-in.ts'
import { createServerLock } from '#src/modules/ddi/server-lock.ts'
import type { LeaveDeps } from '#src/modules/lifecycle/leave/run.ts'
import { rollbackStartJob } from '#src/modules/lifecycle/rollback/rollback.job.ts'
import { storeClientOf } from '#src/modules/lifecycle/store-client.ts'
import type { SetupDeps } from '#src/modules/lifecycle/setup/input.ts'
import { openDatabase } from '#src/store/database.ts'
import { heldAddresses, moveNode, recordNics } from '#src/store/node-lifecycle.ts'
import { findNode, insertNode, type NodeRow } from '#src/store/nodes.ts'
import type { NodeState } from '#src/contract/nodes/registry.ts'
import { withSentPoints } from './job-harness.ts'
import { agentsOf, type SimulatedNode, simulatedNode } from './setup-node.ts'
import { NO_CLUSTER } from './simulated-cluster.ts'
import { simulatedStore } from './simulated-store.ts'
import { createTestDatabase } from './test-database.ts'
import { startWalkPlatform } from './walk-platform.ts'

const SILENT = createLog({ level: 'silent' })
const ZONE = 'walk.example'
const REVERSE = '50.10.in-addr.arpa'
const SCOPE = 'walk'
const FABRIC = { as_number: 65_000, route_reflectors: ['10.50.255.1', '10.50.255.2'] }
const PREFIX = {
  site_id: null,
  vlan_id: null,
  gateway: null,
  dns_servers: [],
  is_pool: false,
  description: '',
  excluded: [],
}

export interface WalkNode {
  bmc_ip: string
  node: SimulatedNode
}

export type WalkSite = Awaited<ReturnType<typeof startWalkSite>>

export async function startWalkSite() {
  await using opened = new AsyncDisposableStack()
  const test_database = await createTestDatabase()
  opened.defer(() => test_database.drop())
  const database = openDatabase({ connection: test_database.connection, pool_size: 4, log: SILENT })
  opened.defer(() => database.close())
  const platform = await startWalkPlatform()
  opened.defer(() => platform.close())
  const addresses = await startAddresses(database)
  opened.defer(() => addresses.close())
  const store = simulatedStore(['kvm-a', 'kvm-b'])
  const changesStore = (method: string) => (/^(make|remove)Client$/.test(method) ? method : undefined)
  const ceph = withSentPoints(store.ceph, changesStore)
  const ports = { database, cloudstack: platform.cloudstack, cluster: NO_CLUSTER, ceph, ...addresses }
  /** Names of the keys that the distributed store knows. */
  const keysOf = async (fixture: Pick<WalkNode, 'bmc_ip'>): Promise<string[]> => {
    const own = `client.${storeClientOf(await rowOf(fixture))}`
    return Object.keys(store.state.clients).filter((name) => name === own)
  }
  let count = 0

  /** With an agent, a DHCP reservation, and the state given. */
  async function addNode(
    state: Extract<NodeState, 'configuring' | 'configure_failed' | 'decommissioning'>,
  ): Promise<WalkNode & { row: NodeRow }> {
    count += 1
    const place = `${count >> 8}.${count & 255}`
    const bmc_ip = `10.9.${place}`
    const node = simulatedNode(`10.50.${place}`, `kvm-n${count}.${ZONE}`)
    await database.db.transaction().execute(async (trx) => {
      const names = { node_ip: node.node_ip, fqdn: node.fqdn, hostname: null, role: null, zone: 'Frankfurt-1' }
      await insertNode(trx, { id: randomUUIDv7(), bmc_ip, registered_by: 'test', ...names })
      await trx.updateTable('node').set({ certificate: 'of its agent' }).where('bmc_ip', '=', bmc_ip).execute()
      const { node_id } = (await findNode(trx, bmc_ip)) ?? assert.fail()
      const nics = node.nics.map(({ interfaceName, macAddress }) => ({
        name: interfaceName,
        permanent_mac: macAddress ?? '',
      }))
      await recordNics(trx, node_id, nics)
      await moveNode(trx, bmc_ip, 'discovered', state, randomUUIDv7())
    })
    const reservation = { mac: node.nics[0]?.macAddress ?? '', ip: node.node_ip, hostname: '', comment: '' }
    await addresses.dhcp_server.changeReservations(SCOPE, { put: [reservation] })
    return { bmc_ip, node, row: await rowOf({ bmc_ip }) }
  }

  const rowOf = async ({ bmc_ip }: Pick<WalkNode, 'bmc_ip'>): Promise<NodeRow> =>
    (await findNode(database.db, bmc_ip)) ?? assert.fail()

  const all = opened.move()
  return {
    ...ports,
    simulator: platform.platform,
    connection: test_database.connection,
    addNode,
    rowOf,
    setupDeps: ({ node }: WalkNode, platform_hosts = ['10.0.0.5']): SetupDeps => ({
      ...ports,
      agents: agentsOf(node),
      bmcs: { find: async () => undefined, open: () => assert.fail('no BMC is asked') },
      setup: checkConfig({ setup: { cluster: 'cluster-a', fabric: FABRIC } }).setup,
      platform_hosts,
      offline_after_ms: 30_000,
    }),
    leaveDeps: ({ node }: WalkNode, more: Partial<LeaveDeps> = {}): LeaveDeps => ({
      ...ports,
      agents: agentsOf(node),
      bmcs: { open: noBmc },
      ipam_store: undefined,
      config: checkConfig({}),
      image_port: () => 0,
      now: () => Date.now(),
      // Whoever releases an address must have a better reason than silence.
      answers: async () => true,
      wipe_wait_ms: 60_000,
      wipe_poll_ms: 20,
      ...more,
    }),
    keysOf,
    giveKey: async (fixture: Pick<WalkNode, 'bmc_ip'>) => store.ceph.makeClient(storeClientOf(await rowOf(fixture))),
    hostsOf: ({ node }: WalkNode) =>
      platform.platform.state.tables.hosts.filter(({ ipaddress }) => ipaddress === node.node_ip),
    storedAddresses: async (fixture: WalkNode): Promise<number> => {
      const owner = { owner_kind: 'node', owner_id: (await rowOf(fixture)).id }
      return (await addresses.store.addresses(owner, { page: 1, page_size: 50 })).count
    },
    namesOf: addresses.namesOf,
    reservationsOf: addresses.reservationsOf,
    dropReservation: ({ node }: WalkNode) =>
      addresses.dhcp_server.changeReservations(SCOPE, { remove: [node.nics[0]?.macAddress ?? ''] }),
    /** What is left of a node, by the word of each system, and of our own record. */
    async leftOf(fixture: WalkNode) {
      const { node_id, id, benchmark_enabled } = await rowOf(fixture)
      const hosts = platform.platform.state.tables.hosts.filter(({ ipaddress }) => ipaddress === fixture.node.node_ip)
      const { rows } = await addresses.store.addresses({ owner_kind: 'node', owner_id: id }, { page: 1, page_size: 50 })
      return {
        hosts: hosts.map(({ name }) => name),
        areas: [...fixture.node.areas.keys()],
        names: addresses.namesOf(fixture),
        reservations: addresses.reservationsOf(fixture),
        stored: rows.map(({ address }) => address),
        keys: await keysOf(fixture),
        held: (await heldAddresses(database.db, node_id)).map(({ address }) => address),
        benchmark_enabled,
      }
    },
    heldBy: async (fixture: WalkNode) => heldAddresses(database.db, (await rowOf(fixture)).node_id),
    close: () => all.disposeAsync(),
  }
}

async function noBmc(): Promise<never> {
  throw new ApiError('BMC_CREDENTIALS_NOT_FOUND', 'This machine has no BMC.')
}

export const NOTHING = {
  hosts: [],
  areas: [],
  names: [],
  reservations: [],
  stored: [],
  keys: [],
  held: [],
  benchmark_enabled: false,
}

/** The rollback that follows a failed setup. */
export function rollbackOf(site: WalkSite, fixture: WalkNode): BoundJob {
  return bindJob(rollbackStartJob, site.leaveDeps(fixture))
}

async function startAddresses(database: ReturnType<typeof openDatabase>) {
  const lab = await startTechnitium()
  const config = { url: lab.url, token: lab.token, timeout_ms: 30_000 }
  const options = {
    name_servers: [`ns1.${ZONE}`],
    hostmaster: `hostmaster.${ZONE}`,
    transfer_networks: [],
    log: SILENT,
  }
  const changes = (method: string) => (method.startsWith('change') ? method : undefined)
  const dhcp = createTechnitiumDhcp(config, { log: SILENT })
  const dns = createTechnitiumDns(config, options)
  const [dhcp_server, dns_server] = [withSentPoints(dhcp, changes), withSentPoints(dns, changes)]
  const store = builtInStore(database)
  const role = await store.createRole({ slug: 'storage', name: 'Storage' })
  assert.ok(role !== 'exists')
  await store.createPrefix({ ...PREFIX, cidr: '10.30.0.0/20', role_id: role.id })
  await store.createPrefix({ ...PREFIX, cidr: '10.50.0.0/16', role_id: null })
  for (const name of [ZONE, REVERSE]) await dns.createZone({ name, type: 'Primary' })
  await dhcp.createScope({
    name: SCOPE, network: '10.50.0.0/16', range: { first: '10.50.0.1', last: '10.50.3.254' }, excluded: [], gateway: '', dns_servers: [], lease_seconds: 3600, enabled: true,
  }) // biome-ignore format: one scope
  const dns_lock = createServerLock(database, 'DNS')
  const contents = createZoneContents(dns_server)
  return {
    store,
    dhcp_server,
    dns_server,
    dns_lock,
    dhcp_lock: createServerLock(database, 'DHCP'),
    names: createAddressNames({ database, replica_id: 'test', server: dns_server, lock: dns_lock, contents }),
    /** Records of the node's name and of its address, as the server itself has them. */
    namesOf: ({ node: { fqdn, node_ip } }: WalkNode): string[] => {
      const reverse = `${node_ip.split('.').toReversed().join('.')}.in-addr.arpa`
      const records = lab.state.now.zones.flatMap((zone) => zone.records)
      return records.filter(({ name }) => name === fqdn || name === reverse).map(({ type }) => type)
    },
    reservationsOf: ({ node: { node_ip } }: WalkNode): string[] =>
      lab.state.now.scopes.flatMap(({ reservations }) =>
        reservations.filter(({ address }) => address === node_ip).map(({ mac }) => mac),
      ),
    async close() {
      await dhcp.close()
      await dns.close()
      await lab.close()
    },
  }
}
