// The network dashboard over a thousand agents, some of them dead and some too slow, against the answer of the slowest healthy
// one: nobody waits for anything else.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
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
const SLOWEST_HEALTHY_MS = 500
const TOO_SLOW_MS = 60_000
const ROUNDS = 6
/** Answers are shared for two seconds: a round that begins later asks every agent anew. */
const STALE_MS = 2200

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
  const fresh: Look[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    await pause(STALE_MS)
    fresh.push(await dashboard(stand))
  }
  const paged: number[] = []
  for (let page = 0; page < 20; page += 1) paged.push((await dashboard(stand)).took_ms)
  const wronged = NODES - DEAD - SLOW - Math.min(...fresh.map(({ online }) => online))
  const p95 = percentile(
    fresh.map(({ took_ms }) => took_ms),
    95,
  )
  const grown = (stand.control.peak_memory_bytes() - idle) / 2 ** 20
  const agent = `${SLOWEST_HEALTHY_MS} ms of the slowest healthy agent`
  return [
    { name: 'dashboard of 1,000 agents, p95', value: p95 / SLOWEST_HEALTHY_MS, unit: 'x', limit: 3, against: `${p95.toFixed(0)} ms against ${agent}` },
    { name: 'first dashboard (TLS to every agent, 10 silent ones)', value: first.took_ms, unit: 'ms', limit: 15_000, against: `${agent}; time limit 4,000 ms a silent node` },
    { name: 'next page of the same look', value: median(paged), unit: 'ms', limit: 250, against: 'answers of all agents shared for 2 s' },
    { name: 'healthy agents taken for silent', value: wronged, unit: 'nodes', limit: 0, against: `${DEAD} dead and ${SLOW} slow among ${NODES}` },
    { name: 'memory at the peak above idle', value: grown, unit: 'MB', limit: 400, against: `${(idle / 2 ** 20).toFixed(0)} MB idle` },
  ] // biome-ignore format: a table
}

/** The last ones of the first process are the slow ones; the first ones of it will be dead. */
function delaysOf(process_at: number): number[] {
  const count = NODES / PROCESSES
  return Array.from({ length: count }, (_none, at) => {
    if (process_at === 0 && at >= count - SLOW) return TOO_SLOW_MS
    if (process_at === 1 && at === 0) return SLOWEST_HEALTHY_MS
    return (at * 37 + process_at * 11) % 200
  })
}

interface Look {
  took_ms: number
  online: number
}

async function dashboard(stand: Stand): Promise<Look> {
  const started = performance.now()
  const { summary } = await call(stand, '/network/monitoring/dashboard', { page_size: 50 })
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
  const client = new pg.Client(stand.connection)
  await client.connect()
  try {
    await client.query('delete from node')
    await client.query(
      `insert into node (id, bmc_ip, node_ip, fqdn, role, agent_address, agent_port, certificate, seen_at, registered_by)
       select gen_random_uuid(), '10.200.' || n / 250 || '.' || n % 250 + 1, '10.201.' || n / 250 || '.' || n % 250 + 1,
              'n' || n || '.example.internal', 'compute', '127.0.0.1', port, $2, now() + interval '1 hour', 'bench'
       from unnest($1::int[]) with ordinality as given (port, n)`,
      [ports, certificate],
    )
  } finally {
    await client.end()
  }
}
