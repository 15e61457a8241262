// What happened to a thing: everything once, in order, with who and how long, and to nobody who may not see it.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { wellKnown } from '../../lab/site.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'
import { NOBODY } from '../support/vm-api.ts'

const DB = wellKnown.vms['db-01']
let lab: Lab
let mira: string
let of_acme: string

interface Entry {
  at: string
  ended_at: string | null
  duration_s: number | null
  source: string
  what: string
  status: string
  username: string
  correlation_id: string | null
  resource_id: string
}
interface Page {
  status: number
  text: string
  body: { entries: Entry[]; count: number; code?: string }
}

before(async () => {
  lab = await startLab()
  mira = (await lab.call('POST', '/auth/tokens', { name: 'mira', role: 'operator' })).body.token
  const acme = { name: 'acme', role: 'viewer', tenant_id: wellKnown.domains.acme }
  of_acme = (await lab.call('POST', '/auth/tokens', acme)).body.token
})
after(() => lab.close())

const read = (path: string, token?: string): Promise<Page> =>
  lab.call('GET', path, undefined, token === undefined ? {} : { token })
const history = (query = '', token?: string) => read(`/compute/vms/${DB}/history?page_size=200${query}`, token)

async function does(path: string, body: object): Promise<void> {
  const reply = await lab.call('POST', path, body, { token: mira, headers: { prefer: 'wait=60' } })
  assert.equal(reply.status, 200, reply.text)
}

test('the history of a machine has fifteen operations on it and its disks, each once, in order, with who and how long', async () => {
  const machine = { virtual_machine_id: DB }
  const disks = await lab.call('POST', '/compute/volumes/list', { ...machine, type: 'DATADISK' })
  const volume = { volume_id: disks.body.volumes[0].id }
  const rename = (name: string) => ['vmUpdate', '/compute/vms/update', { ...machine, display_name: name }] as const
  const power = (word: 'start' | 'stop' | 'reboot') =>
    [`vm${word[0]?.toUpperCase()}${word.slice(1)}`, `/compute/vms/${word}`, machine] as const
  const detach = ['vmDiskDetach', '/compute/vms/detach-disk', volume] as const
  const attach = ['vmDiskAttach', '/compute/vms/attach-disk', { ...volume, ...machine }] as const
  const ordered = [
    rename('one'), power('stop'), rename('two'), power('start'), power('reboot'), detach, rename('three'), attach,
    power('stop'), power('start'), rename('four'), detach, attach, power('reboot'), rename('five'),
  ] // biome-ignore format: the order
  for (const [, path, body] of ordered) await does(path, body)

  const { body } = await history('&sort_order=asc')
  assert.deepEqual(
    body.entries.map(({ what }) => what),
    ordered.map(([operation]) => operation),
  )
  assert.equal(body.count, 15)
  assert.equal(new Set(body.entries.map(({ correlation_id }) => correlation_id)).size, 15)
  for (const { username, status, duration_s, source, at, ended_at } of body.entries) {
    assert.deepEqual([username, status, source], ['mira', 'SUCCESS', 'operation'])
    assert.ok(ended_at !== null && duration_s !== null && duration_s >= 0 && at <= ended_at)
  }
  const newest = (await history()).body.entries
  assert.deepEqual(newest, [...body.entries].reverse())
  const second = await read(`/compute/vms/${DB}/history?sort_order=asc&page_size=4&page=2`)
  assert.deepEqual(second.body.entries, body.entries.slice(4, 8))
  const between = `&sort_order=asc&from=${body.entries[3]?.at}&to=${body.entries[5]?.at}`
  assert.deepEqual((await history(between)).body.entries, body.entries.slice(3, 6))
  const beyond = await read(`/compute/vms/${DB}/history?page_size=4&page=9`)
  assert.deepEqual([beyond.body.entries, beyond.body.count], [[], 15])
})

test('the timeline of one operation has its request, its event, the steps of its job and what the platform said', async () => {
  const [restart] = (await history()).body.entries.filter(({ what }) => what === 'vmReboot')
  const body = await until('the platform’s own log was read', async () => {
    const page = await read(`/timeline?correlation_id=${restart?.correlation_id}&sort_order=asc`)
    return page.body.entries.some(({ source }) => source === 'platform') ? page.body : undefined
  })
  const sources = body.entries.map(({ source }) => source)
  assert.deepEqual([...new Set(sources)].sort(), ['audit', 'job', 'operation', 'platform'])
  assert.deepEqual(body.entries.filter(({ source }) => source === 'operation').map(({ what }) => what), ['vmReboot'])
  const platform = body.entries.filter(({ source }) => source === 'platform')
  assert.ok(platform.every(({ what, resource_id }) => what.startsWith('VM.') && resource_id === DB))
  assert.deepEqual([...body.entries].sort((a, b) => a.at.localeCompare(b.at)).map(({ at }) => at), body.entries.map(({ at }) => at))
  const audit = await read(`/timeline?correlation_id=${restart?.correlation_id}&source=audit`)
  assert.deepEqual(audit.body.entries.map(({ what, username, status }) => [what, username, status]), [['vmReboot', 'mira', '200']])
}) // biome-ignore format: rows

test('events, jobs and requests are found by the same operation, thing and time as their timeline', async () => {
  const [entry] = (await history('&sort_order=asc')).body.entries.filter(({ what }) => what === 'vmDiskDetach')
  assert.ok(entry !== undefined)
  const { correlation_id, at, resource_id: disk } = entry
  const events = (filter: object, token?: string) =>
    lab.call('POST', '/events/app-events', { page_size: 200, ...filter }, token === undefined ? {} : { token })
  const [event, ...others] = (await events({ correlation_id })).body.app_events
  assert.deepEqual([event.action, event.resource_uuid, others.length], ['vmDiskDetach', disk, 0])
  assert.ok(disk !== DB && event.related.includes(DB), 'the machine of a disk is related')
  assert.equal((await events({ related_to: DB })).body.count, 15)
  assert.equal((await events({ related_to: DB, created_at_from: at, created_at_to: at })).body.count, 1)
  assert.equal((await events({ related_to: DB }, of_acme)).body.count, 0)
  assert.equal((await events({ status: 'RUNNING' })).status, 400)
  for (const [path, key] of [['/jobs', 'jobs'], ['/auth/audit', 'records']] as const) {
    const found = await lab.call('GET', `${path}?correlation_id=${correlation_id}`)
    assert.deepEqual([found.body.count, found.body[key][0].correlation_id ?? found.body[key][0].id], [1, correlation_id])
  }
  const until_then = await lab.call('GET', `/jobs?to=${at}&page_size=200`)
  const since_then = await lab.call('GET', `/jobs?from=${at}&page_size=200`)
  const of = (page: typeof since_then) => page.body.jobs.filter(({ id }: { id: string }) => id === correlation_id).length
  assert.deepEqual([of(until_then), of(since_then)], [1, 1])
  const requests = await lab.call('GET', `/auth/audit?resource_id=${DB}&page_size=200`)
  assert.deepEqual([requests.body.count, requests.body.records.at(-1).operation], [15, 'vmUpdate'])
}) // biome-ignore format: rows

test('requests are shown to admins alone, and nothing of another tenant to anybody of a tenant', async () => {
  const as_operator = await read(`/timeline?resource_id=${DB}&page_size=200`, mira)
  assert.ok(as_operator.body.count > 15)
  assert.ok(as_operator.body.entries.every(({ source }) => source !== 'audit'))
  assert.equal((await read(`/timeline?resource_id=${DB}&source=audit`, mira)).body.count, 0)
  assert.deepEqual((await read(`/timeline?resource_id=${DB}`, of_acme)).body.entries, [])
  const hidden = await history('', of_acme)
  assert.deepEqual([hidden.status, hidden.body.code], [404, 'VM_NOT_FOUND'])
})

test('a timeline of nothing, and the history of a machine that never was, are refused', async () => {
  const nothing = await read('/timeline')
  assert.deepEqual([nothing.status, nothing.body.code], [400, 'INVALID_REQUEST'])
  assert.match(nothing.text, /resource_id.*is required unless correlation_id is given/)
  assert.equal((await read(`/compute/vms/${NOBODY}/history`)).status, 404)
  assert.deepEqual((await read(`/compute/vms/${wellKnown.vms['web-01']}/history`)).body.entries, [])
})
