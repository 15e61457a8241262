/** The calls below /api/dhcp/ of the simulated address server. */
import { addressOf, type Call, flag, type Handler, macOf, numberOf, Rejection, required, whole } from './call.ts'
import { clearExpired, networkOf } from './dhcp-leases.ts'
import type { LeaseRecord, ScopeRecord } from './state.ts'

export const DHCP_CALLS: Readonly<Record<string, Handler>> = {
  'dhcp/scopes/list': ({ state, now_ms }) => ({ scopes: sorted(state.now.scopes, now_ms).map(listed) }),
  'dhcp/scopes/get': (call) => settingsOf(scopeOf(call)),
  'dhcp/scopes/set': setScope,
  // Of an unknown scope these say ok and do nothing.
  'dhcp/scopes/enable': (call) => turn(call, true),
  'dhcp/scopes/disable': (call) => turn(call, false),
  'dhcp/scopes/delete': (call) => {
    const { now } = call.state
    now.scopes = now.scopes.filter((scope) => scope.name !== required(call, 'name'))
  },
  'dhcp/scopes/addReservedLease': (call) => {
    const scope = scopeOf(call)
    const mac = macOf(required(call, 'hardwareAddress'))
    const address = addressOf(numberOf(required(call, 'ipAddress')))
    if (scope.reservations.some((one) => one.mac === mac))
      throw new Rejection(`Reserved lease already exists for hardware address: ${mac}`)
    // Neither the range nor a second reservation of the address is checked.
    const hostname = call.params.get('hostName') ?? ''
    const comments = call.params.get('comments') ?? ''
    scope.reservations.push({ mac, address, hostname: hostname || null, comments: comments || null })
  },
  'dhcp/scopes/removeReservedLease': (call) => {
    const scope = scopeOf(call)
    const mac = macOf(required(call, 'hardwareAddress'))
    if (!scope.reservations.some((one) => one.mac === mac))
      throw new Rejection(`Failed to remove reserved lease: no reserved lease of ${mac}.`)
    scope.reservations = scope.reservations.filter((one) => one.mac !== mac)
  },
  'dhcp/leases/list': ({ state, now_ms }) => ({
    leases: sorted(state.now.scopes, now_ms).flatMap((scope) =>
      scope.leases.toSorted((a, b) => numberOf(a.address) - numberOf(b.address)).map((lease) => leaseRow(scope, lease)),
    ),
  }),
  'dhcp/leases/remove': (call) => {
    const scope = scopeOf(call)
    const lease = leaseOf(call, scope)
    scope.leases = scope.leases.filter((one) => one !== lease)
    if (lease.type === 'Reserved')
      scope.reservations = scope.reservations.filter((one) => one.mac !== lease.mac || one.address !== lease.address)
  },
  'dhcp/leases/convertToReserved': (call) => {
    const scope = scopeOf(call)
    const lease = leaseOf(call, scope)
    if (lease.type === 'Reserved') throw new Rejection('The lease is already reserved.')
    if (scope.reservations.some((one) => one.mac === lease.mac))
      throw new Rejection(`Reserved lease already exists for hardware address: ${lease.mac}`)
    lease.type = 'Reserved'
    scope.reservations.push({ mac: lease.mac, address: lease.address, hostname: null, comments: null })
  },
  'dhcp/leases/convertToDynamic': (call) => {
    const scope = scopeOf(call)
    const lease = leaseOf(call, scope)
    if (lease.type === 'Dynamic') throw new Rejection('The lease is already dynamic.')
    lease.type = 'Dynamic'
    scope.reservations = scope.reservations.filter((one) => one.mac !== lease.mac)
    scope.exclusions = scope.exclusions.filter((one) => one.first !== lease.address || one.last !== lease.address)
  },
}

function sorted(scopes: readonly ScopeRecord[], now_ms: number): ScopeRecord[] {
  for (const scope of scopes) clearExpired(scope, now_ms)
  return scopes.toSorted((a, b) => a.name.localeCompare(b.name))
}

function scopeOf(call: Call): ScopeRecord {
  const name = required(call, 'name')
  const scope = call.state.now.scopes.find((one) => one.name === name)
  if (scope === undefined) throw new Rejection(`DHCP scope was not found: ${name}`)
  clearExpired(scope, call.now_ms)
  return scope
}

function leaseOf(call: Call, scope: ScopeRecord): LeaseRecord {
  const mac = macOf(required(call, 'hardwareAddress'))
  const lease = scope.leases.find((one) => one.mac === mac)
  if (lease === undefined) throw new Rejection(`No lease was found for hardware address: ${mac}`)
  return lease
}

function turn(call: Call, enabled: boolean): void {
  const name = required(call, 'name')
  const scope = call.state.now.scopes.find((one) => one.name === name)
  if (scope !== undefined) scope.enabled = enabled
}

/** Applied field by field on the live scope: what stands before an invalid one stays changed. */
function setScope(call: Call): void {
  const { params, state } = call
  const name = required(call, 'name')
  const known = state.now.scopes.find((one) => one.name === name)
  const scope = known ?? newScope(call, name)
  const given = (field: string, apply: (text: string) => void): void => {
    const text = params.get(field)
    if (text !== undefined) apply(text)
  }
  given('startingAddress', (text) => (scope.first = addressOf(numberOf(text))))
  given('endingAddress', (text) => (scope.last = addressOf(numberOf(text))))
  given('subnetMask', (text) => (scope.mask = addressOf(numberOf(text))))
  checkRange(scope, state.now.scopes)
  given('leaseTimeDays', (text) => (scope.lease_days = atMost(whole(text, 'leaseTimeDays'), 999)))
  given('leaseTimeHours', (text) => (scope.lease_hours = atMost(whole(text, 'leaseTimeHours'), 23)))
  given('leaseTimeMinutes', (text) => (scope.lease_minutes = atMost(whole(text, 'leaseTimeMinutes'), 59)))
  given('routerAddress', (text) => (scope.router = text === '' ? null : addressOf(numberOf(text))))
  given('useThisDnsServer', (text) => (scope.use_this_dns_server = text === 'true'))
  given('dnsServers', (text) => (scope.dns_servers = listOf(text, ',').map((one) => addressOf(numberOf(one)))))
  given('dnsUpdates', () => (scope.dns_updates = flag(call, 'dnsUpdates')))
  given('exclusions', (text) => (scope.exclusions = exclusionsOf(text)))
  given('reservedLeases', (text) => (scope.reservations = reservationsOf(text)))
  if (known === undefined) state.now.scopes.push(scope)
  given('newName', (text) => (scope.name = text))
}

function newScope(call: Call, name: string): ScopeRecord {
  if (/[/\0]/.test(name)) throw new Rejection('The scope name has invalid characters.')
  return {
    name, enabled: true, first: required(call, 'startingAddress'), last: required(call, 'endingAddress'),
    mask: required(call, 'subnetMask'), router: null, dns_servers: [], use_this_dns_server: true, lease_days: 1, lease_hours: 0,
    lease_minutes: 0, dns_updates: true, exclusions: [], reservations: [], leases: [],
  } // biome-ignore format: one record
}

/** A new range that holds an old one as a whole is not noticed. */
function checkRange(scope: ScopeRecord, others: readonly ScopeRecord[]): void {
  const { network, broadcast } = networkOf(scope)
  const [first, last] = [numberOf(scope.first), numberOf(scope.last)]
  if (first >= last) throw new Rejection('Ending address must be greater than the starting address.')
  if (first === network) throw new Rejection('Starting address cannot be same as the network address.')
  if (last === broadcast) throw new Rejection('Ending address cannot be same as the broadcast address.')
  if (last > broadcast) throw new Rejection('Starting and ending address must be in the same network.')
  for (const other of others) {
    if (other === scope || other.name === scope.name) continue
    const [from, to] = [numberOf(other.first), numberOf(other.last)]
    if ((from <= first && first <= to) || (from <= last && last <= to))
      throw new Rejection(`Scope with overlapping range already exists: ${other.first}-${other.last}`)
  }
}

function exclusionsOf(text: string): ScopeRecord['exclusions'] {
  const parts = listOf(text, '|')
  if (parts.length % 2 !== 0) throw new Rejection('Exclusions have no ending address.')
  return parts.flatMap((first, index) => (index % 2 === 0 ? [{ first, last: parts[index + 1] ?? first }] : []))
}

function reservationsOf(text: string): ScopeRecord['reservations'] {
  const parts = text === '' ? [] : text.split('|')
  const rows: ScopeRecord['reservations'] = []
  for (let at = 0; at + 3 < parts.length; at += 4) {
    const [hostname = '', mac = '', address = '', comments = ''] = parts.slice(at, at + 4)
    rows.push({ mac: macOf(mac), address, hostname: hostname || null, comments: comments || null })
  }
  return rows
}

function listOf(text: string, separator: string): string[] {
  return text.split(separator).map((part) => part.trim()).filter((part) => part !== '') // biome-ignore format: one thought
}

function atMost(value: number, limit: number): number {
  if (value > limit) throw new Rejection(`Lease time must be in the range 0-${limit}.`)
  return value
}

function listed(scope: ScopeRecord): unknown {
  const { network, broadcast } = networkOf(scope)
  return {
    name: scope.name,
    enabled: scope.enabled,
    startingAddress: scope.first,
    endingAddress: scope.last,
    subnetMask: scope.mask,
    networkAddress: addressOf(network),
    broadcastAddress: addressOf(broadcast),
  }
}

/** The settings do not say whether it is enabled. */
function settingsOf(scope: ScopeRecord): unknown {
  return {
    name: scope.name,
    startingAddress: scope.first,
    endingAddress: scope.last,
    subnetMask: scope.mask,
    leaseTimeDays: scope.lease_days,
    leaseTimeHours: scope.lease_hours,
    leaseTimeMinutes: scope.lease_minutes,
    offerDelayTime: 0,
    pingCheckEnabled: false,
    dnsUpdates: scope.dns_updates,
    dnsTtl: 900,
    ...(scope.router === null ? {} : { routerAddress: scope.router }),
    useThisDnsServer: scope.use_this_dns_server,
    dnsServers: scope.dns_servers,
    exclusions: scope.exclusions.map(({ first, last }) => ({ startingAddress: first, endingAddress: last })),
    reservedLeases: scope.reservations.map(({ mac, address, hostname, comments }) => ({
      hostName: hostname,
      hardwareAddress: wireMac(mac),
      address,
      comments,
    })),
    allowOnlyReservedLeases: false,
    blockLocallyAdministeredMacAddresses: false,
    ignoreClientIdentifierOption: true,
  }
}

function leaseRow(scope: ScopeRecord, lease: LeaseRecord): unknown {
  return {
    scope: scope.name,
    type: lease.type,
    hardwareAddress: wireMac(lease.mac),
    clientIdentifier: `1-${lease.mac.replaceAll(':', '').toUpperCase()}`,
    address: lease.address,
    hostName: lease.hostname,
    leaseObtained: new Date(lease.obtained_ms).toISOString(),
    leaseExpires: new Date(lease.expires_ms).toISOString(),
  }
}

function wireMac(mac: string): string {
  return mac.replaceAll(':', '-').toUpperCase()
}
