// What there is, seen from three sides: the API, the servers' own words, and the answers of dig.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { addressOf, numberOf, rangeOf, subnetOf } from '#src/kernel/ipv4.ts'
import type { Scope } from '#src/contract/ddi/dhcp-records.ts'
import { LEASES, ok, RECORDS, RESERVATIONS, SCOPES, ZONES } from './address-steps.ts'
import type { RealAddresses } from './real-addresses.ts'

const run = promisify(execFile)

interface KeaSubnet {
  id: number
  subnet: string
  pools: { pool: string }[]
  reservations: { 'hw-address': string; 'ip-address': string; hostname: string }[]
  'valid-lifetime': number
  'client-class'?: string
  'option-data': { name: string; data: string }[]
  'user-context': { name: string }
}
interface KeaLease {
  'ip-address': string
  'hw-address': string
  'subnet-id': number
  state: number
}

const SECONDS: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 }

function addressesOf(ranges: readonly string[]): string[] {
  return ranges.flatMap((text) => {
    // Kea writes a pool that is a whole subnet as one.
    const subnet = subnetOf(text)
    const whole = subnet && { first: addressOf(subnet.network), last: addressOf(subnet.broadcast) }
    const range = whole ?? rangeOf(text.replaceAll(' ', ''))
    assert.ok(range, text)
    const first = numberOf(range.first)
    return Array.from({ length: numberOf(range.last) - first + 1 }, (_, at) => addressOf(first + at))
  })
}

/** Scopes, reservations and leases over HTTP are those in Kea's configuration and lease file. */
export async function dhcpAgrees({ call, servers }: RealAddresses): Promise<void> {
  const { Dhcp4 } = (await servers.ask('config-get')) as { Dhcp4: { subnet4: KeaSubnet[] } }
  const { scopes } = ok(await call('GET', `${SCOPES}?page_size=500`)).data
  const shown = (scopes as Scope[]).map((scope) => ({
    name: scope.name,
    subnet: scope.network,
    enabled: scope.enabled,
    seconds: Number(scope.lease_time.slice(0, -1)) * (SECONDS[scope.lease_time.at(-1) ?? ''] ?? 0),
    gateway: scope.gateway,
    dns_servers: scope.dns_servers,
    free: without(addressesOf([`${scope.start_address}-${scope.end_address}`]), [
      ...addressesOf(scope.excluded_ranges ?? []),
      scope.gateway ?? '',
    ]),
  }))
  const option = (subnet: KeaSubnet, name: string): string =>
    subnet['option-data'].find((one) => one.name === name)?.data ?? ''
  const held = Dhcp4.subnet4.map((subnet) => ({
    name: subnet['user-context'].name,
    subnet: subnet.subnet,
    enabled: subnet['client-class'] === undefined,
    seconds: subnet['valid-lifetime'],
    gateway: option(subnet, 'routers'),
    dns_servers: option(subnet, 'domain-name-servers').split(', ').filter((one) => one !== ''),
    free: addressesOf(subnet.pools.map(({ pool }) => pool)),
  })) // biome-ignore format: one member a line
  assert.deepEqual(byName(shown), byName(held), 'scopes')

  const { reservations } = ok(await call('GET', `${RESERVATIONS}?page_size=500`)).data
  const on_kea = Dhcp4.subnet4.flatMap((subnet) =>
    subnet.reservations.map(
      (row) => `${subnet['user-context'].name} ${row['hw-address']} ${row['ip-address']} ${row.hostname}`,
    ),
  )
  const enabled = reservations.filter((row: { enabled: boolean }) => row.enabled)
  assert.deepEqual(
    enabled.map((row: Record<string, string>) => `${row.scope} ${row.mac} ${row.ip} ${row.hostname}`).toSorted(),
    on_kea.toSorted(),
    'reservations',
  )
  await leasesAgree({ call, servers }, Dhcp4.subnet4)
}

async function leasesAgree(
  { call, servers }: Pick<RealAddresses, 'call' | 'servers'>,
  subnets: readonly KeaSubnet[],
): Promise<void> {
  const answer = (await servers.ask('lease4-get-all')) as { leases?: KeaLease[] } | undefined
  const names = new Map(subnets.map((subnet) => [subnet.id, subnet]))
  const on_kea = (answer?.leases ?? [])
    .filter((lease) => lease.state === 0)
    .map((lease) => {
      const subnet = names.get(lease['subnet-id'])
      assert.ok(subnet, 'no lease outlives its scope')
      const reserved = subnet.reservations.some(
        (row) => row['hw-address'] === lease['hw-address'] && row['ip-address'] === lease['ip-address'],
      )
      return `${subnet['user-context'].name} ${lease['hw-address']} ${lease['ip-address']} ${reserved ? 'reserved' : 'dynamic'}`
    })
  const { leases } = ok(await call('GET', `${LEASES}?state=active&page_size=500`)).data
  assert.deepEqual(
    leases.map((row: Record<string, string>) => `${row.scope} ${row.mac} ${row.ip} ${row.lease_type}`).toSorted(),
    on_kea.toSorted(),
    'leases',
  )
}

function without(all: readonly string[], gone: readonly string[]): string[] {
  const set = new Set(gone)
  return all.filter((one) => !set.has(one))
}

function byName<T extends { name: string }>(rows: readonly T[]): T[] {
  return rows.toSorted((a, b) => a.name.localeCompare(b.name))
}

interface ShownRecord {
  id: string
  fqdn: string
  type: string
  ttl: number
  value: string
  comment: string
  priority: number | null
  weight: number | null
  port: number | null
}

/** Records over HTTP are those that the server keeps, and those that it answers; answers all of them by id. */
export async function dnsAgrees({ call, servers }: RealAddresses): Promise<Map<string, ShownRecord>> {
  const by_id = new Map<string, ShownRecord>()
  for (const { name } of ok(await call('GET', `${ZONES}?page_size=500`)).data.zones) {
    const { records, total_count } = ok(await call('GET', `${RECORDS}?zone_name=${name}&page_size=500`)).data
    assert.equal(records.length, total_count)
    const stored = await servers.dns.raw(`/zones/${name}.`)
    const lines = (stored as { rrsets: { records: unknown[] }[] }).rrsets.reduce(
      (sum, set) => sum + set.records.length,
      0,
    )
    assert.equal(total_count, lines, `records of ${name}`)
    const shown = records.filter((row: ShownRecord) => row.type !== 'SOA') as ShownRecord[]
    for (const row of shown) by_id.set(row.id, row)
    const questions = [...new Set(shown.map((row) => `${row.fqdn} ${row.type}`))]
    const args = ['@127.0.0.1', '-p', String(servers.dns.dns_port), '+noall', '+answer', '+tcp', '+nosplit']
    const { stdout } = await run('dig', [...args, ...questions.flatMap((question) => question.split(' '))], {
      maxBuffer: 16 * 1024 * 1024,
    })
    const answered = stdout.split('\n').filter((line) => line !== '').map(lineOf) // biome-ignore format: one chain
    assert.deepEqual(answered.toSorted(), shown.map(wordsOf).toSorted(), `answers of ${name}`)
  }
  return by_id
}

/** `name ttl IN type data` without the dots at the ends of names, and texts as one. */
function lineOf(line: string): string {
  const [name = '', ttl, , type = '', ...data] = line.split(/\s+/)
  const text = line.slice(line.indexOf('"'))
  if (type === 'TXT') return `${bare(name)} ${ttl} TXT ${joined(text)}`
  return `${bare(name)} ${ttl} ${type} ${data.map(bare).join(' ')}`
}

function wordsOf({ fqdn, ttl, type, value, priority, weight, port }: ShownRecord): string {
  const data = [priority, weight, port, value].filter((part) => part !== null).join(' ')
  return `${fqdn} ${ttl} ${type} ${data}`
}

function joined(text: string): string {
  const parts = [...text.matchAll(/"((?:[^"\\]|\\.)*)"/gs)].map((match) => match[1] ?? '').join('')
  const bytes = parts.replace(/\\(\d{3}|.)/gs, (_all, code: string) =>
    code.length === 3 ? String.fromCharCode(Number(code)) : code,
  )
  return Buffer.from(bytes, 'latin1').toString('utf8')
}

function bare(name: string): string {
  return name.length > 1 ? name.replace(/\.$/, '') : name
}
