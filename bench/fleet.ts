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
import { type Stand, startStand } from './stand.ts'

const NODES = 1000
const DEAD = 5
const SLOW = 5
const PROCESSES = 4
const PAGE_SIZE = 50
const SLOWEST_HEALTHY_MS = 500
const TOO_SLOW_MS = 60_000
const LOOKS = 20
/** As a console refreshes: longer than the two seconds for which answers count as fresh. */
const CONSOLE_MS = 2500

export async function run(): Promise<BenchResult[]> {
  const stand = await startStand(0)
  const folder = mkdtempSync(join(tmpdir(), 'gp-bench-fleet-'))
  const programs: Program[] = []
  try {
    const identity = await enrolOne(stand)
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
      stand,
      identity.certificate,
      ports.map((port, at) => (at < DEAD ? 1 : port)),
    )
    return await measure(stand)
  } finally {
    for (const program of programs) await program.stop()
    await stand.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function measure(stand: Stand): Promise<BenchResult[]> {
  const idle = stand.control.memory_bytes()
  const first = await dashboard(stand)
  const polled = await looks(stand, () => pause(CONSOLE_MS))
  const polled_bytes = stand.control.peak_memory_bytes() - idle
  const pages: number[] = []
  for (let at = 0; at < NODES / PAGE_SIZE; at += 1) pages.push((await dashboard(stand, at * PAGE_SIZE)).took_ms)
  const busy_us = stand.control.cpu_us()
  const anew = await looks(stand, () => forgetAll(stand))
  const cpu_ms = (stand.control.cpu_us() - busy_us) / 1000 / LOOKS
  const healthy = NODES - DEAD - SLOW
  const wronged = healthy - Math.min(...[first, ...polled, ...anew].map(({ online }) => online))
  const grown = (stand.control.peak_memory_bytes() - idle) / 2 ** 20
  const agent = `${SLOWEST_HEALTHY_MS} ms of the slowest healthy agent`
  const p95 = (name: string, them: readonly Look[], more: string): BenchResult => {
    const took = them.map(({ took_ms }) => took_ms)
    const ms = percentile(took, 95)
    const against = `${ms.toFixed(0)} ms (median ${median(took).toFixed(0)}) against ${agent}, ${LOOKS} looks${more}`
    return { name, value: ms / SLOWEST_HEALTHY_MS, unit: 'x', limit: 1.3, against }
  }
  return [
    p95('dashboard of 1,000 agents, looked at every 2.5 s, p95', polled, ''),
    p95('dashboard of 1,000 agents that are all asked anew, p95', anew, `; ${cpu_ms.toFixed(0)} ms of processor time a look, the agents on the same ${cpus().length} processors not counted`),
    { name: 'first dashboard (TLS to every agent, 10 silent ones)', value: first.took_ms, unit: 'ms', limit: 10_000, against: `${agent}; time limit 4,000 ms a silent node` },
    { name: 'each page of one look, median', value: median(pages), unit: 'ms', limit: 150, against: 'answers of all agents shared' },
    { name: 'healthy agents taken for silent', value: wronged, unit: 'nodes', limit: 0, against: `${DEAD} dead and ${SLOW} slow among ${NODES}` },
    { name: 'memory at the peak above idle', value: grown, unit: 'MB', limit: 300, against: `${(idle / 2 ** 20).toFixed(0)} MB idle; ${(polled_bytes / 2 ** 20).toFixed(0)} MB after the first half of the looks; 90 of them are open TLS connections, 32 whole answers at most, the rest garbage that the engine has not collected` },
  ] // biome-ignore format: a table
}

async function looks(stand: Stand, before: () => Promise<unknown>): Promise<Look[]> {
  const all: Look[] = []
  for (let round = 0; round < LOOKS; round += 1) {
    await before()
    all.push(await dashboard(stand))
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

interface Look {
  took_ms: number
  online: number
}

async function dashboard(stand: Stand, after_id = 0): Promise<Look> {
  const started = performance.now()
  const { summary } = await call(stand, '/network/monitoring/dashboard', { page_size: PAGE_SIZE, after_id })
  const took_ms = performance.now() - started
  const { online_nodes } = summary as Record<string, number>
  return { took_ms, online: online_nodes ?? 0 }
}

async function call(stand: Stand, path: string, body: object): Promise<Record<string, unknown>> {
  const response = await fetch(new URL(path, stand.url), {
    method: 'POST',
    headers: { ...stand.headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(60_000),
  })
  const answer = (await response.json()) as Record<string, unknown>
  if (!response.ok) throw new Error(`${path} answered ${response.status}: ${String(answer['detail'])}`)
  return answer
}

/** One real enrolment; all simulated agents show its certificate. */
async function enrolOne(stand: Stand): Promise<Omit<FleetAgents, 'delays_ms'>> {
  const bmc_ip = '10.200.255.1'
  await call(stand, '/configure/nodes', { bmc_ip })
  const { token } = await call(stand, '/configure/nodes/enrolment-tokens', { bmc_ip })
  const { key, request } = await createCertificateRequest('bench')
  const facts = { hostname: null, fqdn: null, node_ip: null, addresses: null, boot_id: 'b1', agent_version: 'bench' }
  const made = await call(stand, '/configure/nodes/enrol', { token, certificate_request: request, facts })
  return { key, certificate: String(made['certificate']), authority: String(made['authority']) }
}

async function registerAll(stand: Stand, certificate: string, ports: readonly number[]): Promise<void> {
  await query(stand, 'delete from node')
  await query(
    stand,
    `insert into node (node_id, id, bmc_ip, node_ip, fqdn, role, agent_address, agent_port, certificate, seen_at, registered_by)
     overriding system value
     select n, gen_random_uuid(), '10.200.' || n / 250 || '.' || n % 250 + 1, '10.201.' || n / 250 || '.' || n % 250 + 1,
            'n' || n || '.example.internal', 'compute', '127.0.0.1', port, $2, now() + interval '1 hour', 'bench'
     from unnest($1::int[]) with ordinality as given (port, n)`,
    [ports, certificate],
  )
}

/** Nodes that tell another boot are others to the service: nothing is remembered of them but how to reach them. */
function forgetAll(stand: Stand): Promise<void> {
  const healthy = `agent_port > 1 and node_id not between ${NODES / PROCESSES - SLOW + 1} and ${NODES / PROCESSES}`
  return query(stand, `update node set boot_id = gen_random_uuid()::text where ${healthy}`)
}

async function query(stand: Stand, text: string, values: unknown[] = []): Promise<void> {
  const client = new pg.Client(stand.connection)
  await client.connect()
  try {
    await client.query(text, values)
  } finally {
    await client.end()
  }
}
