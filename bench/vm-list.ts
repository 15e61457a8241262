// (b) A list of 500 virtual machines through us against the same list straight from the platform as it answers by default,
// read and parsed by the client in both cases, turn by turn in one run. Consoles ask every few seconds, and most often nothing
// has changed since: that is the first figure. For the second one machine is renamed before every call. The platform does not
// compress, so in these two neither do we; what compression costs where both ends share a processor is the third.
import { platformUrl } from './platform-call.ts'
import type { BenchResult } from './result.ts'
import { median } from './result.ts'
import { type TestBed, startTestBed } from './test-bed.ts'

const ROUNDS = 60
const WARM_UP = 15

export async function run(): Promise<BenchResult[]> {
  const bed = await startTestBed(500)
  try {
    return [
      resultOf('list of 500 virtual machines, median latency', 1.35, await measure(bed, async () => {})),
      resultOf('the same when something changed before every call', 1.8, await measure(bed, renaming(bed))),
      resultOf('the same when nothing changed, compressed', 1.7, await measure(bed, async () => {}, 'br')),
    ]
  } finally {
    await bed.stop()
  }
}

interface Latencies {
  direct: number[]
  narrow: number[]
  ours: number[]
}

async function measure(bed: TestBed, beforeEachCall: () => Promise<void>, encoding = 'identity'): Promise<Latencies> {
  const all: Latencies = { direct: [], narrow: [], ours: [] }
  const call = { command: 'listVirtualMachines', listall: 'true', projectid: '-1', page: '1', pagesize: '500' }
  const plain_url = platformUrl(bed.platform, call)
  const narrow_url = platformUrl(bed.platform, { ...call, details: 'min,nics,servoff,tmpl' })
  const headers = { ...bed.headers, 'content-type': 'application/json', 'accept-encoding': encoding }
  for (let round = 0; round < WARM_UP + ROUNDS; round += 1) {
    await beforeEachCall()
    const direct = await timed(() => fetch(plain_url), rowsOf)
    const narrow = await timed(() => fetch(narrow_url), rowsOf)
    const ours = await timed(
      () => fetch(`${bed.url}/compute/vms/list`, { method: 'POST', headers, body: '{"page_size":500}' }),
      (body) => (body as { virtual_machines: unknown[] }).virtual_machines,
    )
    if (round < WARM_UP) continue
    all.direct.push(direct)
    all.narrow.push(narrow)
    all.ours.push(ours)
  }
  return all
}

function renaming(bed: TestBed): () => Promise<void> {
  let times = 0
  return async () => {
    const list = { command: 'listVirtualMachines', listall: 'true', projectid: '-1', page: '1', pagesize: '1' }
    const [first] = rowsOf(await (await fetch(platformUrl(bed.platform, list))).json()) as { id: string }[]
    times += 1
    const change = { command: 'updateVirtualMachine', id: first?.id ?? '', displayname: `renamed-${times}` }
    const answer = await fetch(platformUrl(bed.platform, change))
    if (!answer.ok) throw new Error(`the platform refused a new name: ${await answer.text()}`)
  }
}

function resultOf(name: string, limit: number, { direct, narrow, ours }: Latencies): BenchResult {
  return {
    name,
    value: median(ours) / median(direct),
    unit: '× the direct call',
    limit,
    against: `direct ${median(direct).toFixed(1)} ms (${median(narrow).toFixed(1)} ms when only the details that we show are asked for), ours ${median(ours).toFixed(1)} ms`,
  }
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
