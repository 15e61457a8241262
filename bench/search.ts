// Search and order over 20,000 virtual machines, 5,000 reserved addresses and 500 nodes: what a person waits for while typing, or
// after a click on the head of a column, through HTTP.
import { createLog } from '#src/kernel/log.ts'
import { openDatabase } from '#src/store/database.ts'
import { sql } from 'kysely'
import { type BenchResult, percentile } from './result.ts'
import { startTestBed, type TestBed } from './test-bed.ts'

const VMS = 20_000
const ADDRESSES = 5000
const NODES = 500
const ROUNDS = 20
const LIMIT_MS = 150
/** The platform cannot order: its list is read in forty pages. */
const FIRST_PAGE_LIMIT_MS = 1500
const ORDER_ROUNDS = 5

export async function run(): Promise<BenchResult[]> {
  const bed = await startTestBed(VMS)
  const database = openDatabase({ connection: bed.connection, pool_size: 2, log: createLog({ level: 'error' }) })
  try {
    const { db } = database
    await sql`insert into dhcp_reservation (scope, mac, ip, hostname)
      select 'large', ('52:54:00:' || regexp_replace(lpad(to_hex(n), 6, '0'), '(..)(..)(..)', '\\1:\\2:\\3'))::macaddr,
             '10.64.0.0'::inet + n, 'host-' || n from generate_series(1, ${ADDRESSES}) n`.execute(db)
    await sql`insert into node (id, bmc_ip, node_ip, fqdn, registered_by)
      select gen_random_uuid(), host('10.1.0.0'::inet + n), host('10.0.0.0'::inet + n), 'kvm-' || n || '.example.internal', 'bench'
        from generate_series(1, ${NODES}) n`.execute(db)
    await machinesKnown(db)
    const results = []
    for (const words of ['web-', '52:54', '10.64.1', 'kvm-499', 'nothing-has-this'])
      results.push(await measure(bed, words))
    for (const list of ORDERED) results.push(...(await measureOrder(bed, list)))
    return results
  } finally {
    await database.close()
    await bed.stop()
  }
}

/** The service reads the platform every few seconds. */
async function machinesKnown(db: ReturnType<typeof openDatabase>['db']): Promise<void> {
  for (;;) {
    const { rows } = await sql<{ known: number }>`select count(*)::int as known from vm_state`.execute(db)
    if ((rows[0]?.known ?? 0) >= VMS) return
    await new Promise((resolve) => setTimeout(resolve, 500))
  }
}

async function measure({ url, headers }: TestBed, words: string): Promise<BenchResult> {
  const taken: number[] = []
  let shown = 0
  for (let round = -2; round < ROUNDS; round += 1) {
    const started = performance.now()
    const answer = await fetch(`${url}/search?q=${encodeURIComponent(words)}`, { headers })
    const body = (await answer.json()) as { results: unknown[]; unavailable: unknown[] }
    if (answer.status !== 200 || body.unavailable.length > 0) throw new Error(JSON.stringify(body).slice(0, 300))
    shown = body.results.length
    if (round >= 0) taken.push(performance.now() - started)
  }
  return {
    name: `search for ${words} over ${VMS} virtual machines, ${ADDRESSES} reservations, ${NODES} nodes, 95th percentile`,
    value: percentile(taken, 95),
    unit: 'ms',
    limit: LIMIT_MS,
    against: `median ${percentile(taken, 50).toFixed(0)} ms, ${shown} results`,
  }
}

interface Ordered {
  what: string
  /** Of a page that finds the order. */
  limit_ms: number
  ask: (page: number) => { method: string; path: string; body?: object }
}

const ORDERED: readonly Ordered[] = [
  {
    what: `${VMS} virtual machines by memory`,
    limit_ms: FIRST_PAGE_LIMIT_MS,
    ask: (page) => ({ method: 'POST', path: '/compute/vms/list', body: { sort_by: 'memory_mb', page, page_size: 50 } }),
  },
  {
    what: `${NODES} nodes by name`,
    limit_ms: LIMIT_MS,
    ask: (page) => ({ method: 'GET', path: `/configure/nodes?sort_by=fqdn&page=${page}&page_size=50` }),
  },
]

async function measureOrder({ url, headers }: TestBed, { what, limit_ms, ask }: Ordered): Promise<BenchResult[]> {
  const taken: Record<'first' | 'later', number[]> = { first: [], later: [] }
  for (let round = 0; round < ORDER_ROUNDS; round += 1) {
    for (const [at, page] of [1, 2, 7].entries()) {
      const { method, path, body } = ask(page)
      const started = performance.now()
      const answer = await fetch(`${url}${path}`, {
        method,
        headers: { ...headers, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await answer.text()
      if (answer.status !== 200) throw new Error(text.slice(0, 300))
      taken[at === 0 ? 'first' : 'later'].push(performance.now() - started)
    }
  }
  const result = (name: string, times: number[], limit: number): BenchResult => ({
    name: `${name} of ${what}, slowest of ${times.length}`,
    value: Math.max(...times),
    unit: 'ms',
    limit,
    against: `median ${percentile(times, 50).toFixed(0)} ms`,
  })
  return [result('first page', taken.first, limit_ms), result('later pages', taken.later, LIMIT_MS)]
}
