// What each read of the compute platform costs with the latencies of a real one: how many calls it makes there, and how long it
// takes beyond the slowest of them. Calls that could be made at once and are made one after the other add up.
import { readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { areas } from '#src/contract/index.ts'
import { routeEffect, type RouteSpec } from '#src/contract/route.ts'
import type { BenchResult } from './result.ts'
import { median } from './result.ts'
import { type TestBed, startTestBed } from './test-bed.ts'

const VMS = 500
const ROUNDS = 3
const HOUR_MS = '3600000'
/** Room for a second call that needs the first, and for the share of simulator and service on one machine. */
const LIMIT_MS = 500

/** Watchers read once at the start and are silent then, so that every call is one of the request. */
const SILENT = {
  GROUNDPLANE_COMPUTE_EVENTS_POLL_MS: HOUR_MS,
  GROUNDPLANE_COMPUTE_STATES_POLL_MS: HOUR_MS,
  GROUNDPLANE_COMPUTE_TENANTS_POLL_MS: HOUR_MS,
  GROUNDPLANE_NODES_HEALTH_POLL_MS: HOUR_MS,
}

interface Call {
  command: string
}

export async function run(): Promise<BenchResult[]> {
  const bed = await startTestBed(VMS, SILENT)
  try {
    await delay(3000)
    const control = bed.platform.ready.control_url ?? ''
    const medians = await recordedTimes()
    await fetch(`${control}/latencies`, {
      method: 'POST',
      body: '{"on":true}',
      headers: { 'content-type': 'application/json' },
    })
    const things = await thingsOf(bed)
    const results: BenchResult[] = []
    for (const route of reads()) {
      const request = requestOf(route, things)
      if (request === undefined) continue
      const cost = await costOf(bed, control, request)
      if (cost === undefined) continue
      const slowest = Math.max(...cost.calls.map((command) => medians.get(command) ?? 20))
      results.push({
        name: `${route.method} ${route.path}`,
        value: Math.max(0, cost.milliseconds - slowest),
        unit: 'ms beyond its slowest call',
        limit: LIMIT_MS,
        against: `${Math.round(cost.milliseconds)} ms, ${cost.calls.length} calls: ${counted(cost.calls)}`,
      })
    }
    return results
  } finally {
    await bed.stop()
  }
}

/** Reads that answer JSON from here; those of nodes, of other subsystems and of our own tables make no call to the platform. */
function reads(): RouteSpec[] {
  const all = areas.flatMap((area) => Object.values(area.routes) as RouteSpec[])
  return all.filter((route) => routeEffect(route) === 'read' && (route.kind ?? 'json') === 'json')
}

type Things = ReadonlyMap<string, string>

/** What the examples of the contract name, as it is called in this site. */
async function thingsOf(bed: TestBed): Promise<Things> {
  const read = async (path: string, body?: object) => {
    const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
    const headers = { ...bed.headers, 'content-type': 'application/json' }
    return (await (await fetch(`${bed.url}${path}`, { headers, ...init })).json()) as Record<string, Row[]>
  }
  const vms = await read('/compute/vms/list', { page_size: 50, state: 'Running' })
  const [vm] = vms['virtual_machines'] ?? []
  const [network] = (await read('/network/guest-networks/list', {}))['guest_networks'] ?? []
  const [volume] = (await read('/compute/volumes/list', {}))['volumes'] ?? []
  const found = { vm, network, volume }
  return new Map(
    Object.entries({
      virtual_machine_id: found.vm?.['id'], zone_id: found.vm?.['zone_id'], host_id: found.vm?.['host_id'],
      name: found.vm?.['name'], network_id: found.network?.['id'], volume_id: found.volume?.['id'],
    }).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value] as const] : [])),
  ) // biome-ignore format: a table
}

type Row = Record<string, unknown>

interface Asked {
  path: string
  init: { method: string; body?: string }
}

/** Undefined where a path names a thing of which this site has none. */
function requestOf(route: RouteSpec, things: Things): Asked | undefined {
  const { params = {}, body } = (route.example ?? {}) as {
    params?: Record<string, string>
    body?: Record<string, unknown>
  }
  if (Object.keys(params).some((name) => !things.has(name))) return undefined
  const path = route.path.replace(/\{(\w+)\}/g, (_all, name: string) => things.get(name) ?? '')
  if (route.method === 'GET') return { path, init: { method: 'GET' } }
  // Of a list the first page, unfiltered; of anything else the thing that its example names.
  const wanted = /list/i.test(path)
    ? {}
    : Object.fromEntries(Object.keys(body ?? {}).map((name) => [name, things.get(name)]))
  return { path, init: { method: route.method, body: JSON.stringify(wanted) } }
}

/** Undefined for a route that asks the platform nothing, or that refuses the request. */
async function costOf(
  bed: TestBed,
  control: string,
  { path, init }: Asked,
): Promise<{ milliseconds: number; calls: string[] } | undefined> {
  const headers = { ...bed.headers, ...(init.body === undefined ? {} : { 'content-type': 'application/json' }) }
  const all = async () => ((await (await fetch(`${control}/calls`)).json()) as { calls: Call[] }).calls
  const times: number[] = []
  let calls: string[] = []
  for (let round = 0; round <= ROUNDS; round += 1) {
    const before = (await all()).length
    const started = performance.now()
    const answer = await fetch(`${bed.url}${path}`, { ...init, headers })
    await answer.arrayBuffer()
    if (!answer.ok) return undefined
    const milliseconds = performance.now() - started
    calls = (await all()).slice(before).map(({ command }) => command)
    if (calls.length === 0) return undefined
    // The first fills what is cached for a minute.
    if (round > 0) times.push(milliseconds)
  }
  return { milliseconds: median(times), calls }
}

function counted(calls: readonly string[]): string {
  const groups = Map.groupBy(calls, (command) => command)
  return [...groups].map(([command, some]) => (some.length === 1 ? command : `${command} × ${some.length}`)).join(', ')
}

async function recordedTimes(): Promise<ReadonlyMap<string, number>> {
  const file = new URL('../lab/cloudstack/latencies.json', import.meta.url)
  return new Map(Object.entries(JSON.parse(await readFile(file, 'utf8')) as Record<string, number>))
}
