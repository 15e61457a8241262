// Reduces a recording of the compute platform (folder of NDJSON exchanges: name, command, params, http_status, body) to
// what the error mapping needs: `node tools/reduce-cloudstack-errors.ts FOLDER` writes test/fixtures/cloudstack/errors.json.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

interface Exchange {
  name: string
  command: string
  params: Record<string, string>
  http_status: number
  body: unknown
}

/** Parameters whose values a message may quote. */
const QUOTED = new Set([
  'disksize', 'domainid', 'endip', 'gateway', 'guestvmcidr', 'host', 'hostname', 'hypervisor', 'id', 'ipaddress',
  'iptonetworklist[0].ip', 'keypairs', 'name', 'netmask', 'networkid', 'networkids', 'nicid', 'pagesize', 'payloadurl',
  'provisioningtype', 'resourceid', 'resourcetype', 'scope', 'sortby', 'startip', 'state', 'templateid',
  'virtualmachineid',
]) // biome-ignore format: one list
const MAX_VALUE = 80
const TARGET = 'test/fixtures/cloudstack/errors.json'

const [folder] = process.argv.slice(2)
if (folder === undefined) throw new Error('usage: node tools/reduce-cloudstack-errors.ts FOLDER')
const exchanges = readdirSync(folder)
  .filter((file) => file.endsWith('.ndjson'))
  .toSorted()
  .flatMap((file) => readFileSync(join(folder, file), 'utf8').trim().split('\n'))
  .map((line) => JSON.parse(line) as Exchange)
const sentBy = new Map(exchanges.map(({ name, params }) => [name, quoted(params)]))
const errors = exchanges.flatMap((exchange) => {
  const { name, command, params, http_status: status, body } = exchange
  // What CloudStack's own webhooks were answered is no rejection of the platform.
  if (command.startsWith('(')) return []
  if (status !== 200) return [{ name, command, status, answer: reduced(body), sent: quoted(params) }]
  const job = contentOf(body)
  if (job?.['jobstatus'] !== 2) return []
  const answer = { jobstatus: 2, cmd: job['cmd'], jobresultcode: job['jobresultcode'], jobresult: job['jobresult'] }
  return [{ name, command, status, answer, sent: sentBy.get(name.replace(/\.job-failed$/, '')) ?? {} }]
})
const head = {
  from: 'Rejections and failed jobs of a real Apache CloudStack management server, 4.22.0.0-SNAPSHOT (source commit 3d6cafe1) with the simulator hypervisor, recorded on 2026-11-21 and reduced by tools/reduce-cloudstack-errors.ts: the command, the HTTP status, the content of the answer (for a job the end of it), and of the parameters those that a message may quote. What the platform’s webhooks were answered by their receivers is left out.',
}
const lines = errors.map((error) => `  ${JSON.stringify(error)}`).join(',\n')
writeFileSync(TARGET, `{\n"from": ${JSON.stringify(head.from)},\n"errors": [\n${lines}\n]\n}\n`)

function quoted(params: Record<string, string>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(params).filter(([name, value]) => QUOTED.has(name) && String(value).length <= MAX_VALUE),
  )
}

function contentOf(body: unknown): Record<string, unknown> | undefined {
  if (typeof body !== 'object' || body === null) return undefined
  const [content] = Object.values(body) as unknown[]
  return typeof content === 'object' && content !== null ? (content as Record<string, unknown>) : undefined
}

/** Text stays as it came: an answer that is no JSON is an error, too. */
function reduced(body: unknown): unknown {
  const content = contentOf(body)
  return content === undefined ? String(body) : { errortext: content['errortext'], cserrorcode: content['cserrorcode'] }
}
