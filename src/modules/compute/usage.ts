// Usage samples of virtual machines over a window (cloudstack.md 4).
import type { VmSample, VmUsage, vmMetrics } from '#src/contract/compute/metrics.ts'
import { pageOf } from '#src/contract/common.ts'
import type { Input } from '#src/contract/route.ts'
import { type Args, platformTime } from '#src/drivers/cloudstack/args.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { numberOf, type Raw, rowsOf, textOf, timeOf } from '#src/drivers/cloudstack/fields.ts'
import { scopeOf } from '#src/drivers/cloudstack/tenant-scope.ts'
import { invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { rawVm } from './vm-lookup.ts'

type In<Op extends keyof typeof vmMetrics.routes> = Input<(typeof vmMetrics.routes)[Op]>

const COMMAND = 'listVirtualMachinesUsageHistory'
const HOUR_MS = 3_600_000

/**
 * The machines are paged by their own list, because the history's count is the length of its page, and because that list
 * keeps to the caller's tenant.
 */
export function vmUsageList(cloudstack: CloudStack) {
  return async ({ query }: In<'vmUsageList'>, ctx: RequestContext) => {
    const window = sampleWindow(query, 'query')
    const page = pageOf(query)
    const args = { details: 'min', keyword: query.keyword, ...scopeOf(ctx.caller.tenant_id) }
    const machines = await cloudstack.listPage(
      'listVirtualMachines',
      args,
      { key: 'virtualmachine', read: (row) => row },
      page,
      ctx,
    )
    const samples = await samplesOf(cloudstack, machines.rows, window, ctx)
    const virtual_machines = machines.rows.map((row) => usageOf(row, samples))
    return { virtual_machines, count: machines.count, ...page }
  }
}

export function vmUsageGet(cloudstack: CloudStack) {
  return async ({ body }: In<'vmUsageGet'>, ctx: RequestContext): Promise<VmUsage> => {
    const window = sampleWindow(body, 'body')
    const vm = await rawVm(cloudstack, body.virtual_machine_id, ctx, 'min')
    return usageOf(vm, await samplesOf(cloudstack, [vm], window, ctx))
  }
}

/** Without a window the platform would send every sample it has. */
function sampleWindow(given: { start_date?: string; end_date?: string }, where: 'query' | 'body'): Args {
  const end_ms = timeIn(given.end_date) ?? Date.now()
  const start_ms = timeIn(given.start_date) ?? end_ms - HOUR_MS
  if (start_ms > end_ms) throw invalidField(`${where}.start_date`, 'is after end_date')
  return { startdate: platformTime(start_ms), enddate: platformTime(end_ms) }
}

function timeIn(text: string | undefined): number | null {
  return text === undefined ? null : Date.parse(text)
}

async function samplesOf(
  cloudstack: CloudStack,
  machines: readonly Raw[],
  window: Args,
  ctx: RequestContext,
): Promise<Map<string, VmSample[]>> {
  const samples = new Map<string, VmSample[]>()
  if (machines.length === 0) return samples
  const ids = machines.map((row) => textOf(row, 'id') ?? '')
  const content = await cloudstack.call(COMMAND, { ids, ...window, page: 1, pagesize: ids.length }, ctx)
  for (const row of rowsOf(content, 'virtualmachine')) {
    const own = rowsOf(row, 'stats').map(sampleOf)
    samples.set(
      textOf(row, 'id') ?? '',
      own.toSorted((a, b) => (a.at ?? '').localeCompare(b.at ?? '')),
    )
  }
  return samples
}

function usageOf(row: Raw, samples: ReadonlyMap<string, VmSample[]>): VmUsage {
  const id = textOf(row, 'id') ?? ''
  return {
    id,
    name: textOf(row, 'name') ?? '',
    display_name: textOf(row, 'displayname'),
    samples: samples.get(id) ?? [],
  }
}

function sampleOf(row: Raw): VmSample {
  const disk_io_read = numberOf(row, 'diskioread')
  const disk_io_write = numberOf(row, 'diskiowrite')
  const both = disk_io_read === null || disk_io_write === null ? null : disk_io_read + disk_io_write
  const free = numberOf(row, 'memoryintfreekbs')
  return {
    at: timeOf(row, 'timestamp'),
    cpu_used_percent: numberOf(row, 'cpuused'),
    disk_io_read,
    disk_io_write,
    disk_iops_total: numberOf(row, 'diskiopstotal') ?? both,
    disk_kbs_read: numberOf(row, 'diskkbsread'),
    disk_kbs_write: numberOf(row, 'diskkbswrite'),
    memory_kbs: numberOf(row, 'memorykbs'),
    // -1 is the platform's "not known".
    memory_internal_free_kbs: free === null || free < 0 ? null : free,
    memory_target_kbs: numberOf(row, 'memorytargetkbs'),
    network_kbs_read: numberOf(row, 'networkkbsread'),
    network_kbs_write: numberOf(row, 'networkkbswrite'),
  }
}
