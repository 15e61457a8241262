// 100 decommission preflights at the same time: every node has 60 machines and a BMC, and each answer must be that of its own node.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { isDeepStrictEqual } from 'node:util'
import { type BenchResult, percentile } from './result.ts'
import { startTestBed, type TestBed } from './test-bed.ts'

const NODES = 100
const VMS = 60 * NODES
/** What each source of a preflight may take: beyond it the answer says that it is not known. */
const LIMIT_MS = 15_000

interface Node {
  bmc_ip: string
  vms: number
}

type Found = Record<string, unknown> & { unavailable: unknown[]; vm_count: number | null; checks: Check[] }

interface Check {
  name: string
  status: string
}

export async function run(): Promise<BenchResult[]> {
  const bmcs = fork(new URL('bmc-fleet.ts', import.meta.url).pathname)
  try {
    const [{ port }] = (await once(bmcs, 'message')) as [{ port: number }]
    return await measured(port)
  } finally {
    bmcs.kill()
  }
}

async function measured(port: number): Promise<BenchResult[]> {
  const bed = await startTestBed(VMS, { GROUNDPLANE_BMC_ALLOWED_NETWORKS: '127.0.0.0/8' })
  try {
    const nodes = await registered(bed, port)
    const alone: Answer[] = []
    for (const node of nodes) alone.push(await preflight(bed, node))
    const together = await Promise.all(nodes.map((node) => preflight(bed, node)))
    const wrong = nodes.filter((node, at) => !isRight(node, alone[at]?.found, together[at]?.found))
    const [one, all] = [alone, together].map((answers) => answers.map(({ taken_ms }) => taken_ms))
    const against = `${VMS} virtual machines, ${NODES} hosts and BMCs; alone ${percentile(one ?? [], 50).toFixed(0)} ms`
    return [
      { name: 'answers that are not those of their node', value: wrong.length, unit: `of ${NODES}`, limit: 0, against },
      {
        name: `the slowest of ${NODES} preflights at once`,
        value: percentile(all ?? [], 100),
        unit: 'ms',
        limit: LIMIT_MS,
        against,
      },
    ]
  } finally {
    await bed.stop()
  }
}

async function ask<T>({ url, headers }: TestBed, method: string, path: string, body?: object): Promise<T> {
  const init = body === undefined ? {} : { body: JSON.stringify(body) }
  const reply = await fetch(`${url}${path}`, {
    method,
    headers: { ...headers, 'content-type': 'application/json' },
    ...init,
  })
  const text = await reply.text()
  if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${text.slice(0, 300)}`)
  return JSON.parse(text) as T
}

/** One for each host, with the number of machines on it by the word of the platform's own list. */
async function registered(bed: TestBed, port: number): Promise<Node[]> {
  const { hosts } = await ask<{ hosts: { id: string; name: string }[] }>(
    bed,
    'GET',
    `/infrastructure/hosts?page_size=${NODES}`,
  )
  if (hosts.length !== NODES) throw new Error(`the site has ${hosts.length} hosts`)
  const counts = await machinesByHost(bed)
  const nodes: Node[] = []
  for (const [at, { id, name }] of hosts.entries()) {
    const bmc_ip = `127.0.90.${at + 1}`
    await ask(bed, 'POST', '/configure/nodes', { bmc_ip, fqdn: name, role: 'compute' })
    await ask(bed, 'PUT', `/vendora-inventory/bmcs/${bmc_ip}`, { username: 'bench', password: 'bench', port })
    nodes.push({ bmc_ip, vms: counts.get(id) ?? 0 })
  }
  return nodes
}

async function machinesByHost(bed: TestBed): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (let page = 1; ; page += 1) {
    const body = { page, page_size: 500 }
    const { virtual_machines: some } = await ask<{ virtual_machines: { host_id: string | null }[] }>(
      bed,
      'POST',
      '/compute/vms/list',
      body,
    )
    for (const { host_id } of some) if (host_id !== null) counts.set(host_id, (counts.get(host_id) ?? 0) + 1)
    if (some.length < 500) return counts
  }
}

interface Answer {
  found: Found
  taken_ms: number
}

async function preflight(bed: TestBed, { bmc_ip }: Node): Promise<Answer> {
  const started = performance.now()
  const found = await ask<Found>(bed, 'POST', `/configure/nodes/${bmc_ip}/decommission/preflight`)
  return { found, taken_ms: performance.now() - started }
}

/** Nothing is unknown, the machines are counted, and the findings are those of the same node asked alone. */
function isRight({ vms }: Node, alone: Found | undefined, found: Found | undefined): boolean {
  if (alone === undefined || found === undefined) return false
  const findings = ({ expires_at: _when, ...rest }: Found): object => rest
  return found.unavailable.length === 0 && found.vm_count === vms && isDeepStrictEqual(findings(found), findings(alone))
}
