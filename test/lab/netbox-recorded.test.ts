/** The simulated NetBox against a recorded real one: the same requests, compared in status and fields. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { KINDS, type KindName } from '../../lab/netbox/kinds.ts'
import { type NetBoxLab, startNetBox } from '../../lab/netbox/server.ts'
import { CALLERS, OTHER_ANSWERS, recordedState } from './netbox-site.ts'

/** One recorded request, reduced to what must be alike; see the README beside the fixture. */
interface Recorded {
  name: string
  method: string
  path: string
  query?: string
  body?: unknown
  /** The body is no JSON but this text. */
  raw?: boolean
  accept?: string
  type?: string
  status: number
  /** Place in shapes.json. */
  shape: number
  /** Of what was made, or of the first of several. */
  id?: number
}

const FIXTURES = new URL('../fixtures/netbox/', import.meta.url)
const requests = readFileSync(new URL('requests.ndjson', FIXTURES), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Recorded) // our own file, made by the reduction
const shapes = JSON.parse(readFileSync(new URL('shapes.json', FIXTURES), 'utf8')) as string[] // as above

let lab: NetBoxLab
before(async () => {
  const tokens = Object.values(CALLERS).flatMap(({ token }) => token ?? [])
  lab = await startNetBox({ state: recordedState(), tokens })
})
after(() => lab.close())

test('every recorded request is answered with the recorded status and fields, apart from the list of reasons', async () => {
  const different = new Map<string, string>()
  for (const recorded of requests) {
    // What was made has the recorded id, so that later requests find it.
    const made = recorded.id === undefined ? undefined : kindOf(recorded.path)
    if (made !== undefined && recorded.id !== undefined) lab.state.next[made] = recorded.id
    const answer = await send(recorded)
    const expected = `${recorded.status} ${shapes[recorded.shape] ?? ''}`
    if (answer !== expected) different.set(recorded.name, `expected ${expected}\n     got ${answer}`)
  }
  const unexplained = [...different].filter(([name]) => OTHER_ANSWERS[name] === undefined)
  assert.deepEqual(
    unexplained.map(([name, difference]) => `${name}: ${difference}`),
    [],
  )
  assert.deepEqual(
    Object.keys(OTHER_ANSWERS).filter((name) => !different.has(name)),
    [],
    'no longer different',
  )
})

function kindOf(path: string): KindName | undefined {
  if (path.endsWith('/available-prefixes/')) return 'prefix'
  if (path.endsWith('/available-ips/')) return 'ip_address'
  const found = Object.entries(KINDS).find(([, kind]) => path === `/api/${kind.path}/`)
  return found?.[0] as KindName | undefined
}

async function send({ name, method, path, query, body, raw, accept, type }: Recorded): Promise<string> {
  const authorization = CALLERS[name]?.header ?? `Bearer ${lab.token}`
  const response = await fetch(`${lab.url}${path}${query === undefined ? '' : `?${query}`}`, {
    method,
    redirect: 'manual',
    headers: {
      accept: accept ?? 'application/json',
      ...(authorization === '' ? {} : { authorization }),
      ...(body === undefined ? {} : { 'content-type': type ?? 'application/json' }),
    },
    ...(body === undefined ? {} : { body: raw === true ? String(body) : JSON.stringify(body) }),
  })
  return `${response.status} ${shapeOf(await response.text())}`
}

function shapeOf(text: string): string {
  if (text === '') return ''
  if (text.startsWith('<')) return 'html'
  const body: unknown = JSON.parse(text)
  if (Array.isArray(body)) return listShape(body)
  if (typeof body !== 'object' || body === null) return 'text'
  if ('results' in body && Array.isArray(body.results) && 'count' in body)
    return `${body.count === null ? 'cursor' : 'page'} ${listShape(body.results)}`
  return `{${keysOf(body)}}`
}

function listShape(rows: readonly unknown[]): string {
  const [first] = rows
  if (first === undefined) return '[]'
  return `[${typeof first === 'object' && first !== null ? keysOf(first) : 'text'}]`
}

function keysOf(value: object): string {
  return Object.keys(value).sort().join(' ')
}
