// What a message of the stream does to the cache: rows change in place, and what else is on the screen is asked for again.
import type { VirtualMachine } from '#src/contract/compute/virtual-machine.ts'
import { call } from '../api/call.ts'
import { operations } from '../api/contract.ts'
import { operationOf, queries } from '../api/queries.ts'
import { noteActivity } from './activity.ts'
import { currentStream, onEvents, onStream } from './client.ts'
import type { StreamEvent } from './worker.ts'

/** Messages of this long make one round of requests. */
const WINDOW_MS = 250
/** How many machines one request names at most. */
const MACHINES_A_REQUEST = 500
/** After these the list itself is another one. */
const CHANGES_LIST = /^vm(Provision|Destroy|Expunge|Recover|Import|Unmanage)/

/** Areas that tell of what was changed beside the area of the operation. */
const CHANGES_TOO: Readonly<Record<string, readonly string[]>> = { 'port-forwarding': ['public-ips'] }

/** What is read of the job of a node, and of the node. */
const NODE_JOB_AREAS = ['nodes', 'node-lifecycle', 'decommission', 'rollback']

const changed_machines = new Set<string>()
const changed_areas = new Set<string>()
let list_changed = false
let timer: ReturnType<typeof setTimeout> | undefined

export function followStream(): void {
  onEvents((events) => {
    for (const event of events) take(event)
  })
  let was_live = false
  onStream(() => {
    const live = currentStream().state === 'live'
    // What the stream does not tell may have changed while it was away. A page that waited for it has loaded nothing yet.
    if (live && was_live === false) void queries.invalidateQueries({ type: 'active' })
    was_live = live
  })
}

function take({ event, data }: StreamEvent): void {
  if (event === 'vm-state') patchMachines([{ id: data.id, state: data.new_state, host_id: data.host_id }])
  if (event === 'app-event') {
    noteActivity(data)
    if (data.status !== 'IN_PROGRESS')
      changed(String(data.resource_type), String(data.resource_uuid), String(data.action))
  }
  if (event === 'job') later('jobs', ...(data.node_ip === '' ? [] : NODE_JOB_AREAS))
  if (event === 'ha') later('ha', 'health')
  if (event === 'overflow') void queries.invalidateQueries()
}

function changed(resource_type: string, resource_uuid: string, action: string): void {
  // An event may be about a machine, and its operation one of another area.
  const own = operations[action]?.area ?? ''
  later(...[own, ...(CHANGES_TOO[own] ?? [])].filter((area) => area !== ''))
  if (resource_type === 'VM') {
    if (resource_uuid !== '') changed_machines.add(resource_uuid)
    if (CHANGES_LIST.test(action)) list_changed = true
    later('vm-metrics', 'vm-disks', 'vm-nics', 'vm-snapshots', 'vm-settings', 'timeline', 'events')
    return
  }
  const areas = Object.values(operations).flatMap((row) => (row.resource_type === resource_type ? [row.area] : []))
  later(...areas, 'timeline', 'events', ...(resource_type === 'NODE' ? ['health'] : []))
}

function later(...areas: string[]): void {
  for (const area of areas) changed_areas.add(area)
  timer ??= setTimeout(ask, WINDOW_MS)
}

/** What is not on the screen is asked for when it is shown. */
function ask(): void {
  timer = undefined
  const areas = new Set(changed_areas)
  changed_areas.clear()
  void queries.invalidateQueries({
    predicate: ({ queryKey }) => {
      const operation = operationOf(queryKey)
      return operation !== 'vmList' && operation !== 'vmGet' && areas.has(operations[operation]?.area ?? '')
    },
  })
  const shown = [...changed_machines].filter(isShown)
  const lists = list_changed
  list_changed = false
  changed_machines.clear()
  if (lists) void queries.invalidateQueries({ queryKey: ['vmList'] })
  if (shown.length > 0 && shown.length <= MACHINES_A_REQUEST) void readMachines(shown)
  if (shown.length > MACHINES_A_REQUEST) void queries.invalidateQueries({ queryKey: ['vmList'] })
}

async function readMachines(ids: string[]): Promise<void> {
  try {
    const { virtual_machines } = await call('vmList', { body: { ids, page_size: MACHINES_A_REQUEST } })
    patchMachines(virtual_machines)
  } catch {
    // The rows stay as the stream described them; the next message or the next page asks again.
  }
}

type Patch = Record<string, unknown> & { id?: unknown }

function isShown(id: string): boolean {
  return queries
    .getQueryCache()
    .getAll()
    .some((query) => query.isActive() && machinesOf(query.state.data).some((machine) => machine.id === id))
}

/** Lists and single machines alike. */
function machinesOf(data: unknown): VirtualMachine[] {
  const answer = data as { virtual_machines?: VirtualMachine[]; id?: string; nics?: unknown } | undefined
  if (answer?.virtual_machines !== undefined) return answer.virtual_machines
  return answer?.nics !== undefined ? [answer as VirtualMachine] : []
}

function patchMachines(patches: readonly Patch[]): void {
  const by_id = new Map(patches.map((patch) => [patch.id, patch]))
  for (const operation of ['vmList', 'vmGet']) {
    for (const [key, data] of queries.getQueriesData({ queryKey: [operation] })) {
      if (!machinesOf(data).some(({ id }) => by_id.has(id))) continue
      const merged = (machine: VirtualMachine): VirtualMachine => ({
        ...machine,
        ...by_id.get(machine.id),
        id: machine.id,
      })
      const list = data as { virtual_machines?: VirtualMachine[] }
      const next =
        list.virtual_machines === undefined
          ? merged(data as VirtualMachine)
          : { ...list, virtual_machines: list.virtual_machines.map(merged) }
      queries.setQueryData(key, next)
    }
  }
}
