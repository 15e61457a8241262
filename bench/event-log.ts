// (e) A page of a filtered list out of a million application events.
import pg from 'pg'
import { runLoad } from './load.ts'
import type { BenchResult } from './result.ts'
import { percentile } from './result.ts'
import { startTestBed } from './test-bed.ts'

const ROWS = 1_000_000
const REQUESTS = 200

const FILTERS: Record<string, object> = {
  'failed operations on machines': { resource_type: 'VM', status: 'FAILED', page_size: 50 },
  'one machine': { resource_uuid: 'vm-4711', page_size: 50 },
  'one user, one hour': {
    username: 'user7',
    created_at_from: '2026-06-01T00:00:00Z',
    created_at_to: '2026-06-01T01:00:00Z',
  },
  'a word': { keyword: 'machine 77777', page_size: 50 },
  'everything, newest first': { page_size: 50 },
}

export async function run(): Promise<BenchResult[]> {
  const bed = await startTestBed(40)
  try {
    await fill(bed.connection)
    const results: BenchResult[] = []
    for (const [name, filter] of Object.entries(FILTERS)) {
      const load = {
        url: `${bed.url}/events/app-events`,
        method: 'POST',
        headers: { ...bed.headers, 'content-type': 'application/json' },
        body: JSON.stringify(filter),
        connections: 1,
      }
      await runLoad({ ...load, requests: 10 })
      const { latencies } = await runLoad({ ...load, requests: REQUESTS })
      results.push({
        name: `a page of events, ${name}, p95`,
        value: percentile(latencies, 95),
        unit: 'ms',
        limit: 25,
        against: `a million rows; median ${percentile(latencies, 50).toFixed(1)} ms`,
      })
    }
    return results
  } finally {
    await bed.stop()
  }
}

async function fill(connection: pg.ClientConfig): Promise<void> {
  const database = new pg.Client(connection)
  await database.connect()
  await database.query(`
    insert into app_event (id, action, level, status, description, error_message, resource_type, resource_uuid, username, user_id, created_at, completed_at, correlation_id)
    select gen_random_uuid(), (array['vmStart','vmStop','vmProvision','tenantCreate','tokenCreate'])[1 + n % 5],
      case when n % 20 = 0 then 'ERROR' else 'INFO' end, case when n % 20 = 0 then 'FAILED' else 'SUCCESS' end,
      'Start virtual machine ' || n, case when n % 20 = 0 then 'no capacity for ' || n else '' end,
      (array['VM','VM','VM','TENANT','TOKEN'])[1 + n % 5], 'vm-' || n % 10000, 'user' || n % 50, n % 50,
      timestamptz '2026-01-01' + n * interval '25 seconds', timestamptz '2026-01-01' + n * interval '25 seconds', 'bench-' || n
    from generate_series(1, ${ROWS}) n`)
  await database.query('vacuum analyze app_event')
  await database.end()
}
