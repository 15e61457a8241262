// Job: what a failed setup left is rolled back. It asks the world what is there and
// never what the setup believes to have done. It ends with a free node, or holds the node for a retry.
import { defineJob } from '#src/jobs/define.ts'
import type { AdmissionOf } from '#src/jobs/define.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { Db } from '#src/store/database.ts'
import { enrolConfigured, heldAddresses, knownDisks, moveNode } from '#src/store/node-lifecycle.ts'
import { findNode, forgetSystem, type NodeRow } from '#src/store/nodes.ts'
import { addressRelease, dhcpRelease, dnsRemove } from '../leave/addresses.ts'
import { serversNow } from '../cluster/database.ts'
import { holdsAddress } from '../cluster/failover.ts'
import { MANAGEMENT_CHANGES, memberOf } from '../cluster/ports.ts'
import { leaveCluster, moveAway } from '../leave/cluster.ts'
import { fabricRemove, nodeTeardown, powerOff, revoke } from '../leave/node.ts'
import { cordon, hostDelete, maintenance } from '../leave/platform.ts'
import {
  hasHost,
  type LeaveDeps,
  LeaveInput,
  type LeaveRun,
  LeaveState,
  type LeaveStep,
  platformOf,
  withSkips,
} from '../leave/run.ts'
import { storageDrain, storageRemove } from '../leave/storage.ts'
import { mediaCleanup, wipeBoot, wipeWait } from '../leave/wipe.ts'

/** States that a node is rolled back from. */
export const ROLLED_BACK_FROM = ['configuring', 'configure_failed'] as const

const admit: LeaveStep = {
  name: 'admit',
  title: 'Mark the node as being rolled back',
  run: async (run) => {
    await run.fenced((trx) => moveNode(trx, run.input.bmc_ip, ROLLED_BACK_FROM, 'rolling_back', run.job_id))
    await run.note('INFO', `Asked for by ${run.caller.username}.`, { wipe: run.input.wipe })
  },
}

/** Machines on the host mean that the node went into service: then it leaves by a decommission alone. */
const vmGuard: LeaveStep = {
  name: 'vm-guard',
  title: 'Check that no machine runs on the node',
  applies: hasHost,
  run: async (run) => {
    const vms = (await platformOf(run)).vms.filter(({ kind }) => kind === 'user')
    if (vms.length === 0) return
    throw new ApiError(
      'NODE_IN_SERVICE',
      `${vms.map(({ name }) => name).join(', ')} run on the node: it is in service. Decommission it; nothing was touched.`,
    )
  },
}

/** A node that never finished its setup holds neither of what the cluster has once. */
const clusterGuard: LeaveStep = {
  name: 'cluster-guard',
  title: 'Check that the cluster does not depend on the node',
  applies: async (run) =>
    (await memberOf(run)) === undefined ? 'The node is no member of the management cluster.' : true,
  run: async (run) => {
    const { servers, virtual_addresses } = run.deps.cluster
    const address = (await memberOf(run))?.address
    const is_primary =
      servers !== undefined && (await serversNow(run)).some((one) => one.is_primary && one.address === address)
    const is_holder = virtual_addresses.length > 0 && (await holdsAddress(run, run.input.bmc_ip))
    if (!is_primary && !is_holder) return
    const what = is_primary ? 'has the primary database' : 'holds the virtual addresses'
    throw new ApiError('NODE_IN_SERVICE', `Node ${run.input.bmc_ip} ${what}: it is in service. Nothing was touched.`)
  },
  retries: 0,
}

/** A node that was never in service holds neither an address nor the primary database (clusterGuard), so nothing is passed on. */
const leaving = moveAway.filter(({ name }) => name !== 'vip-move')

const STAYS = 'The installed system stays, so that setup can be repeated at once.'

/** Only where the system itself goes. */
const onlyWhenWiped = (step: LeaveStep): LeaveStep => ({
  ...step,
  applies: async (run) => (run.input.wipe === 'full' ? ((await step.applies?.(run)) ?? true) : STAYS),
})

const finish: LeaveStep = {
  name: 'finish',
  title: 'Mark the node as free',
  run: (run) =>
    run.fenced(async (trx) => {
      const { node_id } = await moveNode(trx, run.input.bmc_ip, 'rolling_back', 'discovered', run.job_id)
      await enrolConfigured(trx, run.input.bmc_ip, { benchmark_enabled: false })
      if (run.input.wipe === 'full') await forgetSystem(trx, node_id)
    }),
}

export const rollbackStartJob = defineJob<LeaveDeps>()({
  type: 'node.rollback',
  input: LeaveInput,
  state: LeaveState,
  resource_type: 'NODE',
  limits: [
    { of: ({ bmc_ip }) => `node ${bmc_ip}`, most: 1, refuse: 'NODE_JOB_RUNNING' },
    { of: ({ role }) => (role === 'management' ? MANAGEMENT_CHANGES : undefined), most: 1 },
  ],
  steps: withSkips([
    admit, vmGuard, clusterGuard, cordon, maintenance, ...leaving, ...leaveCluster, storageDrain, storageRemove, hostDelete, fabricRemove, dhcpRelease, dnsRemove, nodeTeardown({ network: true }),
    ...[revoke, wipeBoot, wipeWait, mediaCleanup, powerOff].map(onlyWhenWiped),
    addressRelease({ rolls_back: true }), finish,
  ]), // biome-ignore format: in their order
  on_failure: 'stop',
  failed: async (run: LeaveRun, trx) => {
    const held = ['rolling_back', ...ROLLED_BACK_FROM] as const
    const node = await findNode(trx, run.input.bmc_ip)
    if (held.some((state) => state === node?.provision_status))
      await moveNode(trx, run.input.bmc_ip, held, 'configure_failed', run.job_id)
    return undefined
  },
  done: ({ input }) => `Node ${input.bmc_ip} is as it was before its setup.`,
})

interface RollbackWish {
  by: string
  role?: string
  wipe?: LeaveInput['wipe']
  skip_steps?: LeaveInput['skip_steps']
  /** What the setup took for address and name of a node of which none were recorded: where to look, not what was done. */
  seen?: { node_ip?: string; fqdn?: string | null }
}

/** What a rollback is admitted with, by a person or after a failed setup. */
export async function rollbackAdmission(
  db: Db,
  node: NodeRow,
  { by, role = node.role ?? undefined, wipe = 'data', skip_steps = [], seen = {} }: RollbackWish,
): Promise<AdmissionOf<LeaveInput>> {
  const [disks, held] = await Promise.all([knownDisks(db, node.node_id), heldAddresses(db, node.node_id)])
  const isName = ({ kind }: { kind: string }): boolean => kind === 'dns'
  const addresses = [
    node.node_ip,
    seen.node_ip,
    ...(node.addresses ?? []),
    ...textsOf(held.filter((one) => !isName(one))),
  ]
  const names = [node.fqdn, node.hostname, seen.fqdn, ...textsOf(held.filter(isName))]
  return {
    input: {
      bmc_ip: node.bmc_ip,
      node_id: node.node_id,
      by,
      state: 'configure_failed',
      addresses: known(addresses),
      names: known(names),
      destroy: [],
      disks: disks.flatMap(({ serial, wwn }) => serial ?? wwn ?? []),
      store_served: false,
      wipe,
      power_off: false,
      skip_steps,
      findings: [],
      ...(role === undefined ? {} : { role }),
    },
    description: `Rolling node ${node.bmc_ip} back.`,
    resource_id: node.id,
    resource_name: node.fqdn ?? node.hostname ?? node.bmc_ip,
    node_ip: node.bmc_ip,
    metadata: { wipe, skip_steps, role: role ?? null, asked_by: by },
  }
}

const textsOf = (held: readonly { address: string }[]): string[] => held.map(({ address }) => address)

function known(texts: readonly (string | null | undefined)[]): string[] {
  return [...new Set(texts.filter((text) => typeof text === 'string'))]
}
