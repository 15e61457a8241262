// What a setup says when it fails: the step, the thing and the value; and the rollback that follows leaves nothing of the node.
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { startRedfish } from '../../lab/redfish/server.ts'
import { createRedfish } from '#src/drivers/redfish/connections.ts'
import { bindJob } from '#src/jobs/define.ts'
import type { JobRow } from '#src/jobs/job-row.ts'
import { readJobFacts } from '#src/jobs/view.ts'
import { createLog } from '#src/kernel/log.ts'
import type { SetupDeps, SetupInput } from '#src/modules/lifecycle/setup/input.ts'
import { nodeSetupStartJob } from '#src/modules/lifecycle/setup/setup.job.ts'
import { addInventory, putBmc } from '#src/store/bmcs.ts'
import { haMembers } from '#src/store/ha-members.ts'
import { FAST } from '../support/bmc-site.ts'
import { ended } from '../support/job-harness.ts'
import { admit, startJobProcess, testKeyring } from '../support/job-process.ts'
import { agentsOf } from '../support/setup-node.ts'
import { NO_CLUSTER } from '../support/simulated-cluster.ts'
import { NOTHING, rollbackOf, startWalkSite, type WalkNode, type WalkSite } from '../support/walk-site.ts'

/** What is wrong with one setup. */
interface Wrong {
  input?: Partial<SetupInput>
  deps?: Partial<SetupDeps>
  /** What the agent answers otherwise. */
  agent?: object
  /** Of the record of the node. */
  row?: { node_ip?: null; fqdn?: string; certificate?: null }
}

const GPU = { agentGpuList: async () => ({ gpus: [{ console: false }] }) }

suite('setups that fail', () => {
  let site: WalkSite
  before(async () => {
    site = await startWalkSite()
  })
  after(() => site?.close())

  async function setUp(wrong: Wrong, fixture: WalkNode): Promise<JobRow> {
    const { node_id } = await site.rowOf(fixture)
    const { bmc_ip } = fixture
    if (wrong.row !== undefined)
      await site.database.db.updateTable('node').set(wrong.row).where('bmc_ip', '=', bmc_ip).execute()
    const input: SetupInput = {
      bmc_ip, node_id, role: 'compute', site_id: null, nics: [], bond: null, guest_bridges: [], benchmark_enabled: false,
      hold_on_failure: false, ...wrong.input,
    } // biome-ignore format: one record
    const agents = agentsOf(fixture.node, () => wrong.agent ?? {})
    const bound = bindJob(nodeSetupStartJob, { ...site.setupDeps(fixture), agents, ...wrong.deps })
    const { connection, database } = site
    const process = await startJobProcess({
      connection,
      database,
      keyring: testKeyring(),
      bound: [bound, rollbackOf(site, fixture)],
    })
    try {
      const job = await ended(process, (await admit(process, bound, input)).id)
      for (const { id } of (await readJobFacts(database.db, job.id)).children) await ended(process, id)
      return job
    } finally {
      await process.stop()
    }
  }

  async function fails(wrong: Wrong, step: string, code: string, message: RegExp, given?: WalkNode): Promise<void> {
    const fixture = given ?? (await site.addNode('configuring'))
    const job = await setUp(wrong, fixture)
    assert.deepEqual([job.failed_step, job.failure_code], [step, code], job.failure_reason ?? job.status)
    assert.match(job.failure_reason ?? '', message)
    assert.equal((await site.rowOf(fixture)).provision_status, 'discovered')
    // Without a certificate nobody can ask the agent to remove anything.
    const areas = wrong.row?.certificate === null ? ['base'] : []
    assert.deepEqual(await site.leftOf(fixture), { ...NOTHING, areas })
  }

  test('a BMC that shows another machine, or one that is off, is refused with both values before anything is done', async () => {
    const lab = await startRedfish({ bmcs: [{ name: 'one', profile: 'idrac9-7', host: '127.0.81.1' }], speed: FAST })
    const log = createLog({ level: 'silent' })
    const redfish = createRedfish({ allowed_networks: ['127.0.81.0/24'], timeout_ms: 30_000, retry_ms: 20, log })
    try {
      const bmc = lab.bmcs['one'] ?? assert.fail()
      const { host, port, username, password } = bmc
      const credentials = { username, password }
      const open = async () =>
        redfish.open({ bmc_ip: host, port, system_id: null, credentials, tls: { mode: 'insecure' } })
      const bmcs = { open, find: async () => ({ username }) as never }
      bmc.state.power = 'Off'
      const off = await site.addNode('configuring')
      await fails({ deps: { bmcs } }, 'bmc-check', 'NODE_STATE', new RegExp(`^The machine behind BMC ${off.bmc_ip} is off \\(Off\\); switch it on\\.$`), off) // biome-ignore format: one call
      bmc.state.power = 'On'
      const other = await site.addNode('configuring')
      const system = { serial: 'SN-ON-RECORD', uuid: null }
      await putBmc(site.database.db, { bmc_ip: other.bmc_ip, username, password: '', port, tls_mode: 'insecure', system_id: null }) // biome-ignore format: one record
      await addInventory(site.database.db, { bmc_ip: other.bmc_ip, system } as never)
      await fails({ deps: { bmcs } }, 'bmc-check', 'NODE_IDENTITY', new RegExp(`^BMC ${other.bmc_ip} shows a machine with the serial number \\S+; the inventory says SN-ON-RECORD\\. Collect`), other) // biome-ignore format: one call
      assert.deepEqual([[...off.node.claims], [...other.node.claims]], [[], []], 'no agent was told anything')
    } finally {
      await redfish.close()
      await lab.close()
    }
  })

  test('a node without a management address is refused by its BMC address, with the field to register', async () => {
    const agentFacts = async () => ({ hostname: 'n', fqdn: null, node_ip: null, addresses: null, boot_id: 'b1', agent_version: '1' }) // biome-ignore format: one record
    await fails({ row: { node_ip: null }, agent: { agentFacts } }, 'agent-connect', 'NODE_STATE', /^Node 10\.9\.\S+ has no management address; register it with node_ip\.$/) // biome-ignore format: one call
  })

  test('an address that another has is refused with the address and its holder, who keeps it', async () => {
    const fixture = await site.addNode('configuring')
    const { node_ip: address } = fixture.node
    const [own] = (await site.store.prefixes({ contains: address }, { page: 1, page_size: 5 })).rows
    const other = {
      status: 'active',
      dns_name: null,
      owner_kind: 'vm',
      owner_id: 'vm-of-acme',
      description: '',
    } as const
    assert.ok(typeof (await site.store.allocate(own?.id ?? 0, { ...other, address, key: 'other' })) === 'object')
    await fails({}, 'addresses', 'IPAM_ADDRESS_TAKEN', new RegExp(`^Address ${address} cannot be recorded for the node: vm vm-of-acme has it\\. Release it, or register`), fixture) // biome-ignore format: one call
    const { rows } = await site.store.addresses({ address }, { page: 1, page_size: 5 })
    assert.deepEqual(rows.map(({ owner_id }) => owner_id), ['vm-of-acme']) // biome-ignore format: one row
  })

  test('a name that no zone holds is refused with the name and the zone to make', async () => {
    await fails({ row: { fqdn: 'n1.elsewhere.test' } }, 'dns', 'DNS_ZONE_NOT_FOUND', /^No zone of the name server holds n1\.elsewhere\.test; make the zone elsewhere\.test\.$/) // biome-ignore format: one call
  })

  test('a network that is not as planned is refused with the bridge, its value and the one planned', async () => {
    const agentMtuRead = async () => ({ bridges: [{ bridge: 'cloudbr-storage', mtu: 1280, addresses: [] }], underlay_mtu: null }) // biome-ignore format: one record
    const fixture = await site.addNode('configuring')
    const { setup } = site.setupDeps(fixture)
    await fails(
      {
        input: { nics: [{ interface: 'eth1', untagged: null, tagged: [{ role: 'storage', vlans: [30] }] }] },
        deps: { setup: { ...setup, storage_bridge: 'cloudbr-storage' } },
        agent: { agentMtuRead },
      },
      'network-verify',
      'NODES_UNREACHABLE',
      /^The network of node 10\.9\.\S+ is not as planned: cloudbr-storage \(storage\) has the MTU 1280, which should be \d+\.$/,
      fixture,
    )
  })

  test('a cluster of the platform that is not there is refused with the setting, the zone and what there is', async () => {
    const fixture = await site.addNode('configuring')
    const setup = { ...site.setupDeps(fixture).setup, cluster: 'cluster-z' }
    await fails({ deps: { setup } }, 'platform-agent', 'NODE_STATE', /^Set setup\.cluster to the cluster that node joins in zone Frankfurt-1; the platform has .*cluster-a/, fixture) // biome-ignore format: one call
  })

  test('a host that vanishes from the platform, and one on which it finds no GPU, are named by their address', async () => {
    const { hosts } = site.simulator.state.tables
    for (const [step, gpus] of [['enable', []], ['gpu', [{ console: false }]]] as const) {
      const fixture = await site.addNode('configuring')
      // Asked between the registration and the next step.
      const agentGpuList = async () => {
        for (const { id } of site.hostsOf(fixture)) hosts.remove(id)
        return { gpus }
      }
      await fails({ agent: { agentGpuList } }, step, 'HOST_NOT_FOUND', new RegExp(`^The platform lists no host ${fixture.node.node_ip}\\.$`), fixture) // biome-ignore format: one call
    } // biome-ignore format: rows
    await fails({ agent: GPU }, 'gpu', 'GPU_CHANGE_FAILED', /^The platform found no GPU on host 10\.50\.\S+, though the node has some\.$/) // biome-ignore format: one call
  })

  test('a management node whose agent has not enrolled is refused by its BMC address, with what to do', async () => {
    const cluster = { ...NO_CLUSTER, own_address: '10.50.250.1' }
    await fails({ input: { role: 'management' }, deps: { cluster }, row: { certificate: null } }, 'trust', 'NODE_STATE', /^The agent of node 10\.9\.\S+ has not enrolled; make a token for it\.$/) // biome-ignore format: one call
  })

  test('a management node of which no interface has its address is refused with that address, and is no member', async () => {
    const peers: typeof NO_CLUSTER.peers = { call: async () => ({}) }
    const cluster = { ...NO_CLUSTER, own_address: '10.50.250.1', peers }
    const fixture = await site.addNode('configuring')
    for (const nic of fixture.node.nics) nic.isManagementNIC = false
    await fails({ input: { role: 'management' }, deps: { cluster } }, 'member-add', 'NODE_STATE', new RegExp(`^No interface of the node has ${fixture.node.node_ip}; give it to one, or register the node with another node_ip\\.$`), fixture) // biome-ignore format: one call
    assert.deepEqual(await haMembers(site.database.db), [])
  })
})
