// The jobs of management nodes as tests run them: nothing but a cluster and agents is configured.
import { randomUUIDv7 } from 'node:crypto'
import assert from 'node:assert/strict'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { bindJob } from '#src/jobs/define.ts'
import { checkConfig } from '#src/kernel/config.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { builtInStore } from '#src/modules/ddi/ipam/built-in.ts'
import type { ClusterPorts } from '#src/modules/lifecycle/cluster/ports.ts'
import { decommissionStartJob } from '#src/modules/lifecycle/decommission/decommission.job.ts'
import type { LeaveDeps, LeaveInput } from '#src/modules/lifecycle/leave/run.ts'
import { rollbackStartJob } from '#src/modules/lifecycle/rollback/rollback.job.ts'
import type { SetupDeps, SetupInput } from '#src/modules/lifecycle/setup/input.ts'
import { nodeSetupStartJob } from '#src/modules/lifecycle/setup/setup.job.ts'
import type { NodeAgents } from '#src/modules/node-agents.ts'
import type { Database } from '#src/store/database.ts'
import { findNode, insertNode, type NodeRow } from '#src/store/nodes.ts'

/** Registered, with an agent that has a certificate. Whichever had the address before has none any more. */
export async function addManagementNode(database: Database, bmc_ip: string, node_ip: string): Promise<NodeRow> {
  const row = { id: randomUUIDv7(), bmc_ip, node_ip, fqdn: null, hostname: null, role: 'management', zone: null, registered_by: 'test' } as const // biome-ignore format: one row
  await database.db.transaction().execute(async (trx) => {
    await trx.updateTable('node').set({ node_ip: null }).where('node_ip', '=', node_ip).execute()
    await insertNode(trx, row)
    await trx.updateTable('node').set({ certificate: 'simulated' }).where('bmc_ip', '=', bmc_ip).execute()
  })
  return (await findNode(database.db, bmc_ip)) ?? assert.fail()
}

interface Site {
  database: Database
  cloudstack: CloudStack
  agents: NodeAgents
  cluster: ClusterPorts
}

type Node = Pick<NodeRow, 'bmc_ip' | 'node_id'>

const config = checkConfig({})

const NO_BMC = {
  find: async () => undefined,
  open: () => Promise.reject(new ApiError('BMC_NOT_CONFIGURED', 'No credentials are stored.')),
}

export function joiningJob(site: Site, { bmc_ip, node_id }: Node) {
  const input: SetupInput = {
    bmc_ip, node_id, role: 'management', site_id: null, nics: [], bond: null, guest_bridges: [], benchmark_enabled: false,
    hold_on_failure: false,
  } // biome-ignore format: one record
  const deps: SetupDeps = {
    ...site, bmcs: NO_BMC, store: builtInStore(site.database), ceph: undefined,
    names: undefined, setup: config.setup, platform_hosts: [],
    offline_after_ms: 30_000,
  } // biome-ignore format: one record
  // The job that follows one that failed.
  return { bound: bindJob(nodeSetupStartJob, deps), input, children: [bindJob(rollbackStartJob, leaveDeps(site))] }
}

export function leavingJob(site: Site, { bmc_ip, node_id, address }: Node & { address: string }) {
  const input: LeaveInput = {
    bmc_ip, node_id, state: 'configured', by: 'admin', addresses: [address], names: [], destroy: [], disks: [],
    store_served: false, wipe: 'none', power_off: false, findings: [], role: 'management',
  } // biome-ignore format: one record
  return { bound: bindJob(decommissionStartJob, leaveDeps(site)), input }
}

function leaveDeps(site: Site): LeaveDeps {
  return {
    ...site, bmcs: NO_BMC, ceph: undefined, dhcp_server: undefined, dns_server: undefined, ipam_store: undefined, dhcp_lock: (work) => work(),
    dns_lock: (work) => work(), config, image_port: () => 0, now: () => Date.now(), answers: async () => false, wipe_wait_ms: 1,
    wipe_poll_ms: 1,
  } // biome-ignore format: one record
}
