// The network dashboard over a thousand agents, some of them dead and some too slow, against the answer of the slowest healthy
// one: nobody waits for anything else. Agents and service share the processors of this machine.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { createCertificateRequest } from '#src/kernel/certificates.ts'
import type { FleetAgents } from './fleet-agents.ts'
import { type Program, startProgram } from './processes.ts'
import { type BenchResult, median, percentile } from './result.ts'
import { type TestBed, startTestBed } from './test-bed.ts'

const NODES = 1000
const DEAD = 5
const SLOW = 5
const PROCESSES = 4
const PAGE_SIZE = 50
const SLOWEST_HEALTHY_MS = 500
const TOO_SLOW_MS = 60_000
const CALLS = 20
/** As a console refreshes: longer than the two seconds for which answers count as fresh. */
const CONSOLE_MS = 2500

export async function run(): Promise<BenchResult[]> {
  const bed = await startTestBed(0)
  const folder = mkdtempSync(join(tmpdir(), 'gp-bench-fleet-'))
  const programs: Program[] = []
  try {
    const identity = await enrolOne(bed)
    const ports: number[] = []
    for (let at = 0; at < PROCESSES; at += 1) {
      const file = join(folder, `${at}.json`)
      const config: FleetAgents = { ...identity, delays_ms: delaysOf(at) }
      writeFileSync(file, JSON.stringify(config), { mode: 0o600 })
      const program = await startProgram(join(import.meta.dirname, 'fleet-agents.ts'), [file])
      programs.push(program)
      ports.push(...(program.ready['ports'] ?? '').split(',').map(Number))
    }
    // Nobody listens at port 1.
    await registerAll(
      bed,
      identity.certificate,
      ports.map((port, at) => (at < DEAD ? 1 : port)),
    )
    return await measure(bed)
  } finally {
    for (const program of programs) await program.stop()
    await bed.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function measure(bed: TestBed): Promise<BenchResult[]> {
  const idle = bed.control.memory_bytes()
  const first = await dashboard(bed)
  const polled = await dashboards(bed, () => pause(CONSOLE_MS))
  const polled_bytes = bed.control.peak_memory_bytes() - idle
  const pages: number[] = []
  for (let at = 0; at < NODES / PAGE_SIZE; at += 1) pages.push((await dashboard(bed, at * PAGE_SIZE)).took_ms)
  const busy_us = bed.control.cpu_us()
  const uncached = await dashboards(bed, () => forgetAll(bed))
  const cpu_ms = (bed.control.cpu_us() - busy_us) / 1000 / CALLS
  const healthy = NODES - DEAD - SLOW
  const wronged = healthy - Math.min(...[first, ...polled, ...uncached].map(({ online }) => online))
  const grown = (bed.control.peak_memory_bytes() - idle) / 2 ** 20
  const agent = `${SLOWEST_HEALTHY_MS} ms of the slowest healthy agent`
  const p95 = (name: string, them: readonly DashboardCall[], more: string): BenchResult => {
    const took = them.map(({ took_ms }) => took_ms)
    const ms = percentile(took, 95)
    const against = `${ms.toFixed(0)} ms (median ${median(took).toFixed(0)}) against ${agent}, ${CALLS} calls${more}`
    return { name, value: ms / SLOWEST_HEALTHY_MS, unit: 'x', limit: 1.3, against }
  }
  return [
    p95('dashboard of 1,000 agents, asked for every 2.5 s, p95', polled, ''),
    p95('dashboard of 1,000 agents that are all asked again, p95', uncached, `; ${cpu_ms.toFixed(0)} ms of processor time a call, the agents on the same ${cpus().length} processors not counted`),
    { name: 'first dashboard (TLS to every agent, 10 silent ones)', value: first.took_ms, unit: 'ms', limit: 10_000, against: `${agent}; time limit 4,000 ms a silent node` },
    { name: 'each page of one call, median', value: median(pages), unit: 'ms', limit: 150, against: 'answers of all agents shared' },
    { name: 'healthy agents taken for silent', value: wronged, unit: 'nodes', limit: 0, against: `${DEAD} dead and ${SLOW} slow among ${NODES}` },
    { name: 'memory at the peak above idle', value: grown, unit: 'MB', limit: 300, against: `${(idle / 2 ** 20).toFixed(0)} MB idle; ${(polled_bytes / 2 ** 20).toFixed(0)} MB after the first half of the calls; 90 of them are open TLS connections, 32 whole answers at most, the rest garbage that the engine has not collected` },
  ] // biome-ignore format: a table
}

async function dashboards(bed: TestBed, before: () => Promise<unknown>): Promise<DashboardCall[]> {
  const all: DashboardCall[] = []
  for (let round = 0; round < CALLS; round += 1) {
    await before()
    all.push(await dashboard(bed))
  }
  return all
}

/** The last ones of the first process are the slow ones; the first ones of it will be dead. */
function delaysOf(process_at: number): number[] {
  const count = NODES / PROCESSES
  return Array.from({ length: count }, (_none, at) => {
    if (process_at === 0 && at >= count - SLOW) return TOO_SLOW_MS
    if (process_at === 1 && at === 0) return SLOWEST_HEALTHY_MS
    return (at * 37 + process_at * 11) % SLOWEST_HEALTHY_MS
  })
}

interface DashboardCall {
  took_ms: number
  online: number
}

async function dashboard(bed: TestBed, after_id = 0): Promise<DashboardCall> {
  const started = performance.now()
  const { summary } = await call(bed, '/network/monitoring/dashboard', { page_size: PAGE_SIZE, after_id })
  const took_ms = performance.now() - started
  const { online_nodes } = summary as Record<string, number>
  return { took_ms, online: online_nodes ?? 0 }
}

async function call(bed: TestBed, path: string, body: object): Promise<Record<string, unknown>> {
  const response = await fetch(new URL(path, bed.url), {
    method: 'POST',
    headers: { ...bed.headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(60_000),
  })
  const answer = (await response.json()) as Record<string, unknown>
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${String(answer['detail'])}`)
  return answer
}

/** One real enrolment; all simulated agents show its certificate. */
async function enrolOne(bed: TestBed): Promise<Omit<FleetAgents, 'delays_ms'>> {
  const bmc_ip = '10.200.255.1'
  await call(bed, '/configure/nodes', { bmc_ip })
  const { token } = await call(bed, '/configure/nodes/enrolment-tokens', { bmc_ip })
  const { key, request } = await createCertificateRequest('bench')
  const facts = { hostname: null, fqdn: null, node_ip: null, addresses: null, boot_id: 'b1', agent_version: 'bench' }
  const made = await call(bed, '/configure/nodes/enrol', { token, certificate_request: request, facts })
  return { key, certificate: String(made['certificate']), authority: String(made['authority']) }
}

async function registerAll(bed: TestBed, certificate: string, ports: readonly number[]): Promise<void> {
  await query(bed, 'delete from node')
  await query(
    bed,
    `insert into node (node_id, id, bmc_ip, node_ip, fqdn, role, agent_address, agent_port, certificate, seen_at, registered_by)
     overriding system value
     select n, gen_random_uuid(), '10.200.' || n / 250 || '.' || n % 250 + 1, '10.201.' || n / 250 || '.' || n % 250 + 1,
            'n' || n || '.example.internal', 'compute', '127.0.0.1', port, $2, now() + interval '1 hour', 'bench'
     from unnest($1::int[]) with ordinality as given (port, n)`,
    [ports, certificate],
  )
}

/** Nodes that tell another boot are others to the service: nothing is remembered of them but how to reach them. */
function forgetAll(bed: TestBed): Promise<void> {
  const healthy = `agent_port > 1 and node_id not between ${NODES / PROCESSES - SLOW + 1} and ${NODES / PROCESSES}`
  return query(bed, `update node set boot_id = gen_random_uuid()::text where ${healthy}`)
}

async function query(bed: TestBed, text: string, values: unknown[] = []): Promise<void> {
  const client = new pg.Client(bed.connection)
  await client.connect()
  try {
    await client.query(text, values)
  } finally {
    await client.end()
  }
}
