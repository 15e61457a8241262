// The aggregate over all virtual machines (Part 3, 4.1; arithmetic of cloudstack.md 4): one pass over pages of the
// platform's metrics, in constant memory.
import type { VmAggregate } from '#src/contract/compute/metrics.ts'
import { platformTime } from '#src/drivers/cloudstack/args.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { numberOf, type Raw, rowsOf, textOf, timeOf } from '#src/drivers/cloudstack/fields.ts'
import { scopeOf } from '#src/drivers/cloudstack/tenant-scope.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'

/** Whole numbers of the I/O fields mean the last interval, whatever the platform's own setting is. */
const ARGS = { details: 'min,servoff,stats', accumulate: false } as const
const SAMPLED_VMS = 20
const SAMPLE_WINDOW_MS = 3 * 60_000

export function vmMetricsAggregate(cloudstack: CloudStack) {
  return async (_input: unknown, ctx: RequestContext): Promise<VmAggregate> => {
    const sum = createSum()
    const args = { ...ARGS, ...scopeOf(ctx.caller.tenant_id) }
    for await (const rows of cloudstack.listPages('listVirtualMachinesMetrics', args, 'virtualmachine', ctx)) {
      for (const row of rows) sum.add(row)
    }
    const latest = (await newestSample(cloudstack, sum.running_ids(), ctx)) ?? sum.last_updated()
    return aggregateOf(sum, latest)
  }
}

type Sum = ReturnType<typeof createSum>

function createSum() {
  const states = { destroyed: 0, expunged: 0, other: 0, running: 0, stopped: 0 }
  const totals = {
    cpu_total_mhz: 0, cpu_used_mhz: 0, cpu_used_percent_sum: 0, disk_io_read: 0, disk_io_write: 0, disk_kbs_read: 0, disk_kbs_write: 0,
    memory_assigned_kbs: 0, memory_internal_free_kbs: 0, memory_target_kbs: 0, memory_used_kbs: 0, network_kbs_read: 0, network_kbs_write: 0,
  } // biome-ignore format: one record
  let count = 0
  let with_samples = 0
  let updated: string | null = null
  const running: string[] = []

  return {
    totals,
    states,
    count: () => count,
    with_samples: () => with_samples,
    running_ids: (): readonly string[] => running,
    last_updated: () => updated,
    add(row: Raw): void {
      count += 1
      const state = stateKey(textOf(row, 'state'))
      states[state] += 1
      const at = timeOf(row, 'lastupdated')
      if (at !== null && (updated === null || at > updated)) updated = at
      if (state !== 'running') return
      if (running.length < SAMPLED_VMS) running.push(textOf(row, 'id') ?? '')
      if (numberOf(row, 'cpuused') !== null) with_samples += 1
      addUse(totals, row)
    },
  }
}

function stateKey(state: string | null): 'destroyed' | 'expunged' | 'other' | 'running' | 'stopped' {
  switch (state) {
    case 'Running':
      return 'running'
    case 'Stopped':
      return 'stopped'
    case 'Destroyed':
      return 'destroyed'
    case 'Expunging':
      return 'expunged'
    default:
      return 'other'
  }
}

function addUse(totals: Sum['totals'], row: Raw): void {
  const amount = (name: string): number => Math.max(0, numberOf(row, name) ?? 0)
  const assigned_mhz = amount('cpunumber') * amount('cpuspeed')
  const percent = amount('cpuused')
  totals.cpu_total_mhz += assigned_mhz
  totals.cpu_used_mhz += (assigned_mhz * percent) / 100
  totals.cpu_used_percent_sum += percent
  totals.disk_io_read += amount('diskioread')
  totals.disk_io_write += amount('diskiowrite')
  totals.disk_kbs_read += amount('diskkbsread')
  totals.disk_kbs_write += amount('diskkbswrite')
  totals.memory_assigned_kbs += amount('memory') * 1024
  totals.memory_target_kbs += amount('memorytargetkbs')
  totals.network_kbs_read += amount('networkkbsread')
  totals.network_kbs_write += amount('networkkbswrite')
  // Without a guest agent the inside is unknown (0 or -1): then all of the machine's memory is in use.
  const free = amount('memoryintfreekbs')
  totals.memory_internal_free_kbs += free
  totals.memory_used_kbs += Math.max(0, amount('memorykbs') - free)
}

function aggregateOf(sum: Sum, latest: string | null): VmAggregate {
  const { totals, states } = sum
  const whole = (value: number): number => Math.round(value)
  const a_machine = (value: number): number => (sum.with_samples() === 0 ? 0 : rounded(value / sum.with_samples()))
  const percent = (part: number, total: number): number => (total === 0 ? 0 : rounded((part / total) * 100))
  const disk_iops_total = whole(totals.disk_io_read + totals.disk_io_write)
  const network_kbs_total = whole(totals.network_kbs_read + totals.network_kbs_write)
  return {
    generated_at: new Date().toISOString(),
    latest_sample_time: latest,
    virtual_machine_count: sum.count(),
    averages: {
      cpu_used_percent: percent(totals.cpu_used_mhz, totals.cpu_total_mhz),
      disk_iops_total: a_machine(disk_iops_total),
      memory_used_percent: percent(totals.memory_used_kbs, totals.memory_assigned_kbs),
      network_kbs_total: a_machine(network_kbs_total),
    },
    state_counts: { ...states },
    totals: {
      cpu_total_mhz: rounded(totals.cpu_total_mhz),
      cpu_used_mhz: rounded(totals.cpu_used_mhz),
      cpu_used_percent_sum: rounded(totals.cpu_used_percent_sum),
      disk_io_read: whole(totals.disk_io_read),
      disk_io_write: whole(totals.disk_io_write),
      disk_iops_total,
      disk_kbs_read: whole(totals.disk_kbs_read),
      disk_kbs_write: whole(totals.disk_kbs_write),
      memory_assigned_kbs: whole(totals.memory_assigned_kbs),
      memory_internal_free_kbs: whole(totals.memory_internal_free_kbs),
      memory_target_kbs: whole(totals.memory_target_kbs),
      memory_used_kbs: whole(totals.memory_used_kbs),
      network_kbs_read: whole(totals.network_kbs_read),
      network_kbs_total,
      network_kbs_write: whole(totals.network_kbs_write),
    },
    ...(latest === null
      ? {
          unavailable: [
            { field: 'latest_sample_time', reason: 'The compute platform has no sample of any virtual machine.' },
          ],
        }
      : {}),
  }
}

function rounded(value: number): number {
  return Math.round(value * 100) / 100
}

/** A few running machines tell when the platform sampled last; all are sampled together. */
async function newestSample(
  cloudstack: CloudStack,
  ids: readonly string[],
  ctx: RequestContext,
): Promise<string | null> {
  if (ids.length === 0) return null
  const args = { ids, startdate: platformTime(Date.now() - SAMPLE_WINDOW_MS), page: 1, pagesize: SAMPLED_VMS }
  const content = await cloudstack.call('listVirtualMachinesUsageHistory', args, ctx)
  let newest: string | null = null
  for (const vm of rowsOf(content, 'virtualmachine')) {
    for (const sample of rowsOf(vm, 'stats')) {
      const at = timeOf(sample, 'timestamp')
      if (at !== null && (newest === null || at > newest)) newest = at
    }
  }
  return newest
}
