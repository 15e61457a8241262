// Every route against requests that cannot be right: what its own schema forbids is 400 with the field that is wrong, in
// the area's form of errors, and nothing is asked of the platform.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { TSchema } from 'typebox'
import { areas } from '#src/contract/index.ts'
import type { Area, RouteSpec } from '#src/contract/route.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import type { Reply } from '../support/http.ts'

interface Attempt {
  what: string
  params?: Record<string, unknown>
  query?: Record<string, unknown>
  body?: unknown
  /** The field that the answer names; left out where there is none. */
  field?: string
}

type Fields = Record<string, { type?: string; format?: string; pattern?: string }>

const AT_ONCE = 8
const CLUSTER_SECRET = 'planted-cluster-secret'
const WRONG_TEXT = '~wrong~'
const NESTED = { wrong: ['type'] }

let lab: Lab
before(async () => {
  lab = await startLab({ time: 'step', config: { auth: { cluster_secret: CLUSTER_SECRET } } })
})
after(() => lab?.close())

for (const area of areas) {
  test(`${area.name}: what the schemas forbid is 400 and names the field`, { timeout: 300_000 }, async () => {
    const before_calls = await changes()
    const wrong: string[] = []
    const tried = Object.entries(area.routes).flatMap(([operation, route]) =>
      attempts(route).map((attempt) => ({ operation, route, attempt })),
    )
    for (let first = 0; first < tried.length; first += AT_ONCE) {
      const part = tried.slice(first, first + AT_ONCE)
      const replies = await Promise.all(part.map(({ route, attempt }) => send(route, attempt)))
      for (const [index, reply] of replies.entries()) {
        const { operation, attempt } = part[index] ?? assert.fail()
        const complaint = complaintAbout(reply, attempt, area)
        if (complaint !== undefined) wrong.push(`${operation}, ${attempt.what}: ${complaint}`)
      }
    }
    assert.deepEqual(wrong, [])
    assert.ok(tried.length >= Object.keys(area.routes).length)
    assert.deepEqual(await changes(), before_calls)
  })
}

test('what does not exist is named with its kind and its id', async () => {
  const id = '00000000-0000-4000-8000-000000000000'
  for (const [path, body, detail] of [
    ['/compute/vms/byID', { virtual_machine_id: id }, `Virtual machine ${id} not found.`],
    ['/compute/vms/migrate/candidates', { virtual_machine_id: id }, `Virtual machine ${id} not found.`],
    ['/compute/vms/snapshots/delete', { snapshot_id: id }, `Snapshot ${id} of a virtual machine not found.`],
    ['/discovery/asyncjobs/result', { job_id: id }, `Job ${id} of the compute platform not found.`],
  ] as const) {
    const reply = await lab.call('POST', path, body)
    assert.deepEqual([reply.status, reply.body.detail], [400, detail], reply.text)
  }
})

test('a value outside of what a field takes is named with what would do, and a text that may be secret is not', async () => {
  for (const [method, path, body, message] of [
    ['POST', '/compute/vms/list', { page_size: 9999 }, 'must be at most 500, not 9999'],
    ['POST', '/compute/vms/list', { page: 0 }, 'must be at least 1, not 0'],
    ['GET', '/jobs?job_status=odd', undefined, 'must be one of running, completed, failed, not odd'],
    ['GET', '/search?q=x', undefined, 'must have at least 2 characters'],
    ['POST', '/auth/tokens', { name: '', role: 'viewer' }, 'must have at least 1 character'],
    ['POST', '/auth/sessions', { username: 'a', password: 'hunter2'.repeat(1000) }, undefined],
  ] as const) {
    const reply = await lab.call(method, path, body)
    assert.equal(reply.status, 400, reply.text)
    if (message !== undefined) assert.equal(reply.body.errors[0].message, message)
    assert.doesNotMatch(reply.text, /hunter2/)
  }
})

test('a filter by state names the states there are', async () => {
  for (const [path, states] of [
    ['/compute/vms/list', /Running.*Stopped.*Present/],
    ['/compute/volumes/list', /Allocated.*Ready/],
    ['/compute/vms/snapshots/list', /Allocated.*Ready/],
  ] as const) {
    const reply = await lab.call('POST', path, { state: 'running' })
    assert.deepEqual([reply.status, reply.body.errors[0]?.path], [400, 'body.state'], reply.text)
    assert.match(reply.body.detail, states)
  }
})

function complaintAbout(reply: Reply, { field }: Attempt, area: Area): string | undefined {
  const { status, body } = reply
  if (status !== 400 || body?.code !== (area.invalid_request ?? 'INVALID_REQUEST')) return `${status} ${reply.text}`
  const form = area.errors === 'envelope' ? body.success === false && body.message : body.status === 400 && body.detail
  if (!form) return `is not the area's form of errors: ${reply.text}`
  const named: string[] = (body.errors ?? []).map((error: { path: string }) => error.path)
  return field === undefined || named.some((path) => path.startsWith(field))
    ? undefined
    : `${field} is not in ${named.join()}`
}

function attempts(route: RouteSpec): Attempt[] {
  return [
    { what: 'a NUL in the query', query: { impossible: '\0' } },
    ...textAttempts(route.params, 'path').map((attempt) => ({ ...attempt, query: route.example.query ?? {} })),
    ...textAttempts(route.query, 'query'),
    ...bodyAttempts(route),
  ]
}

/** Members of a path or a query, which arrive as text. */
function textAttempts(schema: TSchema | undefined, part: 'path' | 'query'): Attempt[] {
  return Object.entries(fieldsOf(schema)).flatMap(([name, field]) => {
    const typed = ['integer', 'number', 'boolean'].includes(field.type ?? '') || field.format !== undefined
    if (!typed && (field.pattern === undefined || new RegExp(field.pattern, 'u').test(WRONG_TEXT))) return []
    const value = { [name]: WRONG_TEXT }
    const attempt: Attempt = { what: `${part} ${name} of a wrong form`, field: `${part}.${name}` }
    return [{ ...attempt, ...(part === 'path' ? { params: value } : { query: value }) }]
  })
}

function bodyAttempts(route: RouteSpec): Attempt[] {
  // A signed body is read only after its signature was checked: hostile-requests.test.ts. A form: uploads.test.ts.
  if (route.body === undefined || route.signed === true || route.kind === 'multipart') return []
  const { body = {} } = route.example
  assert.ok(typeof body === 'object' && body !== null)
  const required = new Set((route.body as { required?: string[] }).required ?? [])
  const fields = Object.entries(fieldsOf(route.body))
  const half = { what: 'half a body', body: '{"half":' }
  return [
    half,
    { what: 'a list as body', body: [] },
    { what: 'a text as body', body: '"text"' },
    { what: 'a member that is not known', body: { ...body, impossible_member: true } },
    ...fields
      .filter(([, { type }]) => ['string', 'integer', 'number', 'boolean'].includes(type ?? ''))
      .map(([name]) => ({
        what: `${name} of a wrong type`,
        body: { ...body, [name]: NESTED },
        field: `body.${name}`,
      })),
    ...fields
      .filter(([name]) => required.has(name))
      .map(([name]) => ({
        what: `without ${name}`,
        body: Object.fromEntries(Object.entries(body).filter(([other]) => other !== name)),
        field: `body.${name}`,
      })),
  ]
}

function fieldsOf(schema: TSchema | undefined): Fields {
  return ((schema as { properties?: Fields } | undefined)?.properties ?? {}) as Fields
}

function send(route: RouteSpec, { params = {}, query = {}, body }: Attempt): Promise<Reply> {
  const named: Record<string, unknown> = { ...route.example.params, ...params }
  const path = route.path.replace(/\{(\w+)\*?\}/g, (_all, name: string) => encodeURIComponent(String(named[name])))
  const asked = queryText(query)
  const sent = route.body === undefined ? undefined : (body ?? route.example.body ?? {})
  const as = route.access === 'cluster' ? { token: CLUSTER_SECRET } : {}
  return lab.call(route.method, asked === '' ? path : `${path}?${asked}`, sent, as)
}

function queryText(query: object): string {
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) search.set(name, String(value))
  return search.toString()
}

/** Calls to the platform that are no reads. */
async function changes(): Promise<string[]> {
  const { calls } = (await (await fetch(`${lab.platform.control_url}/calls`)).json()) as {
    calls: { command: string }[]
  }
  return calls.map((call) => call.command).filter((command) => !/^(list|query|get|find)/.test(command))
}
