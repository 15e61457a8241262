// (b) A list of 500 virtual machines through us against the same list straight from the platform as it answers by default,
// read and parsed by the client in both cases, turn by turn in one run.
import { platformUrl } from './platform-call.ts'
import type { BenchResult } from './result.ts'
import { median } from './result.ts'
import { startStand } from './stand.ts'

const ROUNDS = 60
const WARM_UP = 15

export async function run(): Promise<BenchResult[]> {
  const stand = await startStand(500)
  const direct: number[] = []
  const narrow: number[] = []
  const ours: number[] = []
  try {
    const call = { command: 'listVirtualMachines', listall: 'true', projectid: '-1', page: '1', pagesize: '500' }
    const plain_url = platformUrl(stand.platform, call)
    const narrow_url = platformUrl(stand.platform, { ...call, details: 'min,nics,servoff,tmpl' })
    const headers = { ...stand.headers, 'content-type': 'application/json' }
    for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
      const straight = await timed(() => fetch(plain_url), rowsOf)
      const narrowed = await timed(() => fetch(narrow_url), rowsOf)
      const through = await timed(
        () => fetch(`${stand.url}/compute/vms/list`, { method: 'POST', headers, body: '{"page_size":500}' }),
        (body) => (body as { virtual_machines: unknown[] }).virtual_machines,
      )
      if (round < WARM_UP) continue
      direct.push(straight)
      narrow.push(narrowed)
      ours.push(through)
    }
  } finally {
    await stand.stop()
  }
  return [
    {
      name: 'list of 500 virtual machines, median latency',
      value: median(ours) / median(direct),
      unit: '× the direct call',
      limit: 1.35,
      against: `direct ${median(direct).toFixed(1)} ms (${median(narrow).toFixed(1)} ms when only the details that we show are asked for), ours ${median(ours).toFixed(1)} ms`,
    },
  ]
}

async function timed(call: () => Promise<Response>, rows: (body: unknown) => unknown[]): Promise<number> {
  const started = performance.now()
  const answer = await call()
  const body: unknown = await answer.json()
  const milliseconds = performance.now() - started
  if (rows(body).length !== 500) throw new Error(`expected 500 rows: ${JSON.stringify(body).slice(0, 300)}`)
  return milliseconds
}

function rowsOf(body: unknown): unknown[] {
  return (body as { listvirtualmachinesresponse: { virtualmachine: unknown[] } }).listvirtualmachinesresponse
    .virtualmachine
}
