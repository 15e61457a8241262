// Every recorded answer of NetBox to every call of the driver: it is understood, or an error of the store, and never anything else.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { after, before, test } from 'node:test'
import { closeServer, listenOn } from '../../lab/control.ts'
import type { Allocation, IpamStore } from '#src/drivers/ddi/ipam-store.ts'
import { createNetBox, type NetBox } from '#src/drivers/netbox/client.ts'
import { UpstreamError } from '#src/kernel/errors.ts'

interface RecordedAnswer {
  name: string
  status: number
  body: unknown
}

const answers = readFileSync(new URL('../fixtures/netbox/answers.ndjson', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as RecordedAnswer) // our own file, made by the reduction

const page = { page: 1, page_size: 50 }
const wish: Allocation = {
  address: null, status: 'active', dns_name: null, owner_kind: 'node', owner_id: 'n1', description: '', key: 'k',
} // biome-ignore format: one wish
const prefix = {
  cidr: '10.9.0.0/24', site_id: 1, vlan_id: 1, role_id: 1, gateway: '10.9.0.1', dns_servers: [], is_pool: false, description: '',
  excluded: [{ first: '10.9.0.9', last: '10.9.0.10' }],
} // biome-ignore format: one prefix
const CALLS: Readonly<Record<string, (store: IpamStore) => Promise<unknown>>> = {
  check: (store) => store.check(),
  sites: (store) => store.sites(page),
  roles: (store) => store.roles(page),
  vlans: (store) => store.vlans({ site_id: 1, role: 'management', vid: 10 }, page),
  prefixes: (store) => store.prefixes({ contains: '10.0.1.5' }, page),
  prefix: (store) => store.prefix(2),
  addresses: (store) => store.addresses({}, page),
  'addresses of an owner': (store) => store.addresses({ owner_kind: 'node' }, page),
  createSite: (store) => store.createSite({ slug: 's', name: 'S', is_default: false }),
  createRole: (store) => store.createRole({ slug: 'r', name: 'R' }),
  createVlan: (store) => store.createVlan({ vid: 10, name: 'v', site_id: 1, role_id: null }),
  createPrefix: (store) => store.createPrefix(prefix),
  remove: (store) => store.remove('site', 1),
  'remove prefix': (store) => store.remove('prefix', 2),
  allocate: (store) => store.allocate(2, wish),
  'allocate one': (store) => store.allocate(2, { ...wish, address: '10.0.1.9' }),
  release: (store) => store.release(1),
  releaseKey: (store) => store.releaseKey('k'),
}

let answer: RecordedAnswer
let store: NetBox
const server = createServer((request, response) => {
  request.resume()
  const { status, body } = answer
  response.writeHead(status, { 'api-version': '4.6', 'content-type': 'application/json' })
  response.end(body === null ? '' : typeof body === 'string' ? body : JSON.stringify(body))
})
before(async () => {
  const url = await listenOn(server, { host: '127.0.0.1', port: 0 })
  store = createNetBox({ url, token: 'nbt_a.b', timeout_ms: 10_000 })
})
after(async () => {
  await store?.close()
  await closeServer(server)
})

test('each answer is understood or is an error of the store', async () => {
  assert.ok(answers.length > 50)
  const wrong: string[] = []
  for (const recorded of answers) {
    answer = recorded
    for (const [name, call] of Object.entries(CALLS)) {
      const error: unknown = await call(store).then(
        () => undefined,
        (thrown: unknown) => thrown,
      )
      if (error !== undefined && !(error instanceof UpstreamError))
        wrong.push(`${recorded.name} to ${name}: ${String(error)}`)
    }
  }
  assert.deepEqual(wrong, [])
})

test('a token that is refused, and rights that are missing, are said by 403 alone', async () => {
  const forbidden = answers.filter(({ status }) => status === 403)
  assert.ok(forbidden.length > 0)
  for (answer of forbidden) await assert.rejects(store.sites(page), { upstream: 'IPAM', failure: 'error', status: 403 })
})
