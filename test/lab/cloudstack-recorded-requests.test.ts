/** The simulated compute platform against a recorded real one: the same requests, compared in status, code, text and fields. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { fields, startLab } from './cloudstack-client.ts'
import type { Answer, LabClient } from './cloudstack-client.ts'
import { OTHER_ANSWERS, OTHER_FIELDS } from './recorded-differences.ts'
import { applyGiven, fillRecordedSite, idOf } from './recorded-site.ts'

/** One recorded request, reduced to what must be alike; see the README beside the fixture. */
interface Recorded {
  name: string
  command: string
  params: Record<string, string>
  as?: string
  given?: string[]
  status: number
  text?: string
  keys?: string[]
  job?: { status: number; code: number; text?: string }
}

const FIXTURES = new URL('../fixtures/cloudstack/', import.meta.url)
const requests = readFileSync(new URL('requests.ndjson', FIXTURES), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Recorded) // our own file, written by hand and by the reduction
const shapes = JSON.parse(readFileSync(new URL('request-shapes.json', FIXTURES), 'utf8')) as Record<string, string> // as above
const CALLERS: Readonly<Record<string, string>> = { limited: 'rec-limit', tadmin: 'rec-tenant', user: 'rec-user' }

let client: LabClient
const otherAnswers = new Map<string, string>()
const otherFields = new Map<string, string>()
before(async () => {
  client = await startLab({ size: { vms: 40, hosts: 6, clusters: 2, networks: 3, tenants: 1 } })
})
after(() => client.lab.close())

test('every recorded request is answered as recorded, apart from the list of reasons', async () => {
  let fresh = false
  for (const recorded of requests) {
    if (!fresh) {
      client.lab.reset()
      fillRecordedSite(client.lab.state)
    }
    // Reading leaves the site as it was.
    fresh = recorded.given === undefined && /^(list|find|query)/.test(recorded.command)
    for (const given of recorded.given ?? []) applyGiven(client.lab.state, given)
    const difference = await compare(recorded)
    if (difference !== null) otherAnswers.set(recorded.name, difference)
  }
  const unexplained = [...otherAnswers].filter(([name]) => OTHER_ANSWERS[name] === undefined)
  assert.deepEqual(
    unexplained.map(([name, difference]) => `${name}: ${difference}`),
    [],
  )
  assert.deepEqual(
    Object.keys(OTHER_ANSWERS).filter((name) => !otherAnswers.has(name)),
    [],
    'no longer different',
  )
})

test('answers have the fields and types of the recorded ones, apart from the list of reasons', () => {
  const listed = new Set(
    OTHER_FIELDS.flatMap(({ fields: rows }) =>
      Object.entries(rows).flatMap(([command, names]) => names.split(' ').map((name) => `${command} ${name}`)),
    ),
  )
  const unexplained = [...otherFields].filter(([field]) => !listed.has(field))
  assert.deepEqual(
    unexplained.map(([field, example]) => `${field} in ${example}`),
    [],
  )
  assert.deepEqual(
    [...listed].filter((field) => !otherFields.has(field)),
    [],
    'no longer different',
  )
})

async function compare(recorded: Recorded): Promise<string | null> {
  const params = Object.fromEntries(
    Object.entries(recorded.params).map(([name, value]) => [
      name,
      value.replaceAll(/<(\w+)>/g, (_whole, label: string) => idOf(label)),
    ]),
  )
  const caller = CALLERS[recorded.as ?? '']
  const answer = await client.send(
    recorded.command,
    params,
    caller === undefined ? undefined : { api_key: `key-${caller}`, secret_key: `secret-${caller}` },
  )
  if (answer.status !== recorded.status)
    return `${answer.status} ${String(answer.body['errortext'] ?? '')} instead of ${recorded.status} ${recorded.text ?? ''}`
  if (recorded.text !== undefined) return textOf(answer.body, recorded.text)
  if (recorded.job !== undefined) return await compareJob(recorded.job, recorded, answer)
  noteFields(recorded, answer.body)
  const keys = Object.keys(answer.body).sort()
  return recorded.keys === undefined || keys.join() === recorded.keys.join()
    ? null
    : `${keys.join()} instead of ${recorded.keys.join()}`
}

async function compareJob(
  expected: NonNullable<Recorded['job']>,
  recorded: Recorded,
  answer: Answer,
): Promise<string | null> {
  client.lab.step(2)
  const job = await client.ok('queryAsyncJobResult', { jobid: String(answer.body['jobid']) })
  const result = fields(job['jobresult'] ?? {})
  if (job['jobstatus'] !== expected.status || job['jobresultcode'] !== expected.code)
    return `job ${String(job['jobstatus'])} ${String(job['jobresultcode'])} ${String(result['errortext'] ?? '')} instead of ${expected.status} ${expected.code} ${expected.text ?? ''}`
  noteFields({ command: 'queryAsyncJobResult', params: {}, name: recorded.name }, { job })
  if (expected.text !== undefined) return textOf(result, expected.text)
  noteFields({ command: `job ${recorded.command}`, params: {}, name: recorded.name }, result)
  return null
}

function textOf(body: Record<string, unknown>, part: string): string | null {
  const text = String(body['errortext'])
  return text.includes(part) ? null : `"${text}" has no "${part}"`
}

/** Compares the rows of an answer with the shape of the recorded rows of the same command. */
function noteFields(recorded: Pick<Recorded, 'command' | 'params' | 'name'>, body: Record<string, unknown>): void {
  const shape = shapes[recorded.command]
  if (shape === undefined) return
  const allowed = new Map(
    shape.split(' ').map((one): [string, string] => {
      const [name = '', types = ''] = one.split(':')
      return [name, types]
    }),
  )
  for (const value of Object.values(body))
    for (const row of Array.isArray(value) ? value.slice(0, 50) : [value]) {
      if (typeof row !== 'object' || row === null) continue
      const seen = flatten(fields(row), '')
      for (const [name, type] of seen) {
        if (name.endsWith('*')) continue
        const types = allowed.get(name)
        if (types === undefined || !types.includes(type))
          otherFields.set(`${recorded.command} ${types === undefined ? '+' : '~'}${name}`, recorded.name)
      }
      for (const [name, types] of allowed) {
        const parent = name.split('.').slice(0, -1).join('.')
        if (!types.endsWith('?') && !seen.has(name) && (parent === '' || (seen.has(parent) && seen.has(`${parent}.*`))))
          otherFields.set(`${recorded.command} -${name}`, recorded.name)
      }
    }
}

const OPEN = new Set(['details', 'serviceofferingdetails', 'detailoptions', 'jobresult'])

/** Field paths with the first letter of their type; a list or object that has fields of its own is marked with a star. */
function flatten(row: Record<string, unknown>, prefix: string): Map<string, string> {
  const found = new Map<string, string>()
  for (const [name, value] of Object.entries(row)) {
    found.set(
      prefix + name,
      Array.isArray(value)
        ? 'a'
        : typeof value === 'boolean'
          ? 'b'
          : typeof value === 'number'
            ? 'n'
            : typeof value === 'string'
              ? 's'
              : 'o',
    )
    if (OPEN.has(name)) found.set(prefix + name, 'o')
    else
      for (const inner of Array.isArray(value) ? value : [value])
        if (typeof inner === 'object' && inner !== null)
          for (const [path, type] of flatten(fields(inner), `${prefix}${name}.`)) {
            found.set(path, type)
            found.set(`${prefix}${name}.*`, '*')
          }
  }
  return found
}
