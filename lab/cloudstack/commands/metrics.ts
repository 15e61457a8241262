/** The two readings of machine metrics: the newest sample of a list, and the samples of a time span. */
import { invalid } from '../api-fault.ts'
import type { Call, Commands } from '../call.ts'
import type { Vm } from '../records.ts'
import type { Json } from '../row.ts'
import { INTERVAL_MS, RETENTION_MS, statsRow } from '../sampler.ts'
import { idTest, keywordTest, pagedByLength } from '../scope.ts'
import { listMachines } from '../vm-list.ts'
import { vmMetricsView } from '../vm-view.ts'

export const metrics: Commands = {
  listVirtualMachinesMetrics: (call) =>
    listMachines(call, (vm, details) => vmMetricsView(call.state, vm, details, call.sample())),
  listVirtualMachinesUsageHistory: (call) => {
    const { params, state } = call
    const from = params.date('startdate')
    const to = params.date('enddate')
    if (from !== null && to !== null && from > to) throw invalid('startDate cannot be after endDate.')
    const byId = idTest(call)
    const name = params.text('name')?.toLowerCase() ?? null
    const keyword = keywordTest(call)
    const id = params.text('id')
    const one = id === null ? null : state.tables.vms.get(id)
    const found =
      id === null
        ? state.tables.vms.filter(
            (vm) =>
              byId(vm.id) &&
              (name === null || vm.name.toLowerCase().includes(name)) &&
              keyword(vm.name, vm.displayname),
          )
        : one === null
          ? []
          : [one]
    return pagedByLength(call, found, (vm) => ({
      id: vm.id,
      name: vm.name,
      displayname: vm.displayname,
      stats: rows(call, vm, from, to),
    }))
  },
}

/** Samples stand at whole intervals of the clock; the newest belongs to the running interval. */
function rows(call: Call, vm: Vm, from: number | null, to: number | null): Json[] {
  if (vm.state !== 'Running') return []
  const newest = call.sample()
  const newest_ms = Math.floor(Date.now() / INTERVAL_MS) * INTERVAL_MS
  const first_ms = Math.max(from ?? 0, newest_ms - RETENTION_MS, vm.created)
  const last_ms = Math.min(to ?? newest_ms, newest_ms)
  const stats: Json[] = []
  for (let time = Math.ceil(first_ms / INTERVAL_MS) * INTERVAL_MS; time <= last_ms; time += INTERVAL_MS)
    stats.push(statsRow(vm, newest - (newest_ms - time) / INTERVAL_MS, time))
  return stats
}
