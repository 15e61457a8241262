// Decommission preflight: reads every source, judges them, and stores the result for ten minutes, so that a decommission can name
// exactly what its caller has seen.
import { createHash } from 'node:crypto'
import type { DecommissionPreflight } from '#src/contract/nodes/decommission-preflight.ts'
import { putPreflight } from '#src/store/decommissions.ts'
import type { NodeRow } from '#src/store/nodes.ts'
import { judge } from './checks.ts'
import type { PreflightWish, Readings, StorageReading } from './readings.ts'
import { readSources, type SourceDeps } from './sources.ts'
import { planVms, type VmPlan } from './vm-plan.ts'

const GOOD_FOR_MINUTES = 10

export interface Preflight {
  answer: DecommissionPreflight
  readings: Readings
  plan: VmPlan | undefined
}

export async function runPreflight(
  deps: SourceDeps,
  node: NodeRow,
  wish: PreflightWish,
  by: string,
  steps: readonly string[],
): Promise<Preflight> {
  const readings = await readSources(deps, node, by)
  const found = judged(readings, wish, steps)
  const fingerprint = fingerprintOf(node, found.result, found.plan)
  const expires_at = await putPreflight(deps.database.db, node.node_id, fingerprint, found.result, GOOD_FOR_MINUTES)
  return { answer: { ...found.result, fingerprint, expires_at: expires_at.toISOString() }, readings, plan: found.plan }
}

type Result = Omit<DecommissionPreflight, 'fingerprint' | 'expires_at'>

/** Everything that follows from what was read. */
export function judged(
  readings: Readings,
  wish: PreflightWish,
  steps: readonly string[],
): { result: Result; plan: VmPlan | undefined } {
  const { node, platform, storage, cluster, addresses, disks } = readings
  const plan = 'missing' in platform ? undefined : planVms(platform.read)
  const checks = judge(readings, plan, wish)
  const store = 'missing' in storage ? undefined : storage.read
  const slot = 'missing' in cluster ? null : cluster.read.slot
  const result: Result = {
    node_ip: node.bmc_ip,
    can_proceed: checks.every(({ status }) => status !== 'fail'),
    requires_force: (plan?.destroyed.length ?? 0) > 0,
    checks,
    steps: [...steps],
    held_addresses: 'missing' in addresses ? [] : [...addresses.read.held],
    replication_slot: node.role === 'management' ? (slot?.name ?? '') : '',
    store_served_at_admission: store !== undefined && store.pools > 0 && store.daemons_up > 0,
    ...numbersOf(plan, 'missing' in platform ? 0 : platform.read.targets.length),
    wiped_disks:
      'missing' in disks || wish.wipe === 'none' ? [] : [...disks.read[wish.wipe === 'data' ? 'data' : 'known']],
    storage: storageNumbers(store),
    unavailable: unavailable(readings),
  }
  return { result, plan }
}

/** Null where the node is no member, and where the store cannot be asked: its checks say which. */
function storageNumbers(store: StorageReading | undefined): Result['storage'] {
  if (store === undefined || store.without === null || store.daemons === 0) return null
  const { osds, used_bytes, free_bytes, disks_left, used_share, monitors_left, managers_left } = store.without
  return {
    osds: [...osds],
    used_bytes,
    free_bytes,
    disks_left,
    fullest_share: used_share,
    monitors_left,
    managers_left,
  }
}

function numbersOf(plan: VmPlan | undefined, targets: number) {
  const stays = plan?.stays.map(({ name }) => name) ?? []
  return {
    vm_count: plan?.user.length ?? null,
    system_vm_count: plan === undefined ? null : plan.system.length + plan.routers.length,
    router_count: plan?.routers.length ?? null,
    cpu_demand_mhz: plan?.cpu_demand_mhz ?? null,
    free_cpu_mhz: plan?.free_cpu_mhz ?? null,
    free_mem_bytes: plan?.free_mem_bytes ?? null,
    mem_demand_bytes: plan?.mem_demand_bytes ?? null,
    migration_targets: plan === undefined ? null : targets,
    migratable_vm_count: plan?.moves.length ?? null,
    non_migratable_vm_count: plan?.stays.length ?? null,
    migration_capacity_ok: plan?.capacity.ok ?? null,
    ...(stays.length === 0 ? {} : { non_migratable_vm_names: stays }),
    destroyed_vm_names: plan?.destroyed.map(({ name }) => name) ?? [],
  }
}

const OF_PLATFORM = [
  'vm_count', 'system_vm_count', 'router_count', 'cpu_demand_mhz', 'free_cpu_mhz', 'free_mem_bytes', 'mem_demand_bytes',
  'migration_targets', 'migratable_vm_count', 'non_migratable_vm_count', 'migration_capacity_ok',
] // biome-ignore format: one list

function unavailable({ platform, addresses }: Readings): Result['unavailable'] {
  return [
    ...('missing' in platform ? OF_PLATFORM.map((field) => ({ field, reason: platform.missing })) : []),
    ...('missing' in addresses ? [{ field: 'held_addresses', reason: addresses.missing }] : []),
  ]
}

/** Over what a caller agrees to: the machines and their fates, the addresses, the slot, the disks of the store, the verdicts. */
function fingerprintOf(node: NodeRow, result: Result, plan: VmPlan | undefined): string {
  const vms = (plan?.user ?? []).map(({ id, stays }) => `${id} ${stays === null}`).toSorted()
  const seen = [
    node.id,
    vms,
    (plan?.destroyed ?? []).map(({ id }) => id).toSorted(),
    result.wiped_disks,
    result.held_addresses,
    result.replication_slot,
    result.store_served_at_admission,
    result.storage?.osds ?? [],
    result.checks.map(({ name, status }) => [name, status]),
  ]
  return createHash('sha256').update(JSON.stringify(seen)).digest('hex').slice(0, 32)
}
