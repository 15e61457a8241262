/** The scopes and zones that the simulated address server starts with. */
import type { AddressState, DnsRecord, ScopeRecord, ZoneKind, ZoneRecord } from './state.ts'

const TTL_S = 3600
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

export const SERVER_NAME = 'ns1.lab.example'

export function seed(now_ms: number): AddressState {
  return {
    hits: {},
    scopes: [management(now_ms), acme(now_ms)],
    zones: [
      zone('localhost', 'Primary', now_ms, { internal: true }),
      zone('127.in-addr.arpa', 'Primary', now_ms, { internal: true }),
      zone('lab.example', 'Primary', now_ms, {
        transfer: 'AllowOnlyZoneNameServers',
        records: [
          a('ns1.lab.example', '10.20.0.2', now_ms),
          a('gateway.lab.example', '10.20.0.1', now_ms),
          a('kvm-01.lab.example', '10.20.0.11', now_ms),
          a('kvm-02.lab.example', '10.20.0.12', now_ms),
          row('kvm-01.lab.example', 'AAAA', { ipAddress: '2001:db8:20::11' }, now_ms),
          row('console.lab.example', 'CNAME', { cname: 'kvm-01.lab.example' }, now_ms),
          row('lab.example', 'MX', { preference: 10, exchange: 'mail.lab.example' }, now_ms),
          a('mail.lab.example', '10.20.0.25', now_ms),
          row('lab.example', 'TXT', { text: 'v=spf1 mx -all', splitText: false }, now_ms),
          row(
            '_ldap._tcp.lab.example',
            'SRV',
            { priority: 0, weight: 5, port: 389, target: 'kvm-02.lab.example' },
            now_ms,
          ),
        ],
      }),
      zone('0.20.10.in-addr.arpa', 'Primary', now_ms, {
        records: [
          ptr('1.0.20.10.in-addr.arpa', 'gateway.lab.example', now_ms),
          ptr('2.0.20.10.in-addr.arpa', 'ns1.lab.example', now_ms),
          ptr('11.0.20.10.in-addr.arpa', 'kvm-01.lab.example', now_ms),
          ptr('12.0.20.10.in-addr.arpa', 'kvm-02.lab.example', now_ms),
        ],
      }),
      zone('acme.example', 'Primary', now_ms, {
        records: [
          a('www.acme.example', '203.0.113.20', now_ms),
          row('shop.acme.example', 'CNAME', { cname: 'www.acme.example' }, now_ms),
          a('printer.acme.example', '10.30.0.50', now_ms),
        ],
      }),
      zone('0.30.10.in-addr.arpa', 'Primary', now_ms, {
        records: [ptr('50.0.30.10.in-addr.arpa', 'printer.acme.example', now_ms)],
      }),
      zone('113.0.203.in-addr.arpa', 'Primary', now_ms, {
        records: [ptr('20.113.0.203.in-addr.arpa', 'www.acme.example', now_ms)],
      }),
      zone('members.catalog', 'Catalog', now_ms, {}),
    ],
  }
}

function management(now_ms: number): ScopeRecord {
  return {
    ...scope('management', '10.20.0', { first: 10, last: 199 }),
    exclusions: [{ first: '10.20.0.20', last: '10.20.0.29' }],
    reservations: [
      { mac: '52:54:00:20:00:11', address: '10.20.0.11', hostname: 'kvm-01', comments: 'rack 1' },
      { mac: '52:54:00:20:00:12', address: '10.20.0.12', hostname: 'kvm-02', comments: 'rack 1' },
    ],
    leases: [
      lease('52:54:00:20:00:11', '10.20.0.11', 'kvm-01', 'Reserved', now_ms),
      lease('52:54:00:20:00:40', '10.20.0.40', 'laptop-mira', 'Dynamic', now_ms),
      lease('52:54:00:20:00:41', '10.20.0.41', null, 'Dynamic', now_ms),
    ],
  }
}

function acme(now_ms: number): ScopeRecord {
  return {
    ...scope('acme-office', '10.30.0', { first: 20, last: 120 }),
    lease_hours: 8,
    lease_days: 0,
    reservations: [{ mac: '52:54:00:30:00:50', address: '10.30.0.50', hostname: 'printer', comments: 'second floor' }],
    leases: [lease('52:54:00:30:00:60', '10.30.0.60', 'desk-4', 'Dynamic', now_ms)],
  }
}

function scope(name: string, net: string, { first, last }: { first: number; last: number }): ScopeRecord {
  return {
    name, enabled: true, first: `${net}.${first}`, last: `${net}.${last}`, mask: '255.255.255.0', router: `${net}.1`,
    dns_servers: ['10.20.0.2'], use_this_dns_server: false, lease_days: 1, lease_hours: 0, lease_minutes: 0, dns_updates: false,
    exclusions: [], reservations: [], leases: [],
  } // biome-ignore format: one record
}

function lease(mac: string, address: string, hostname: string | null, type: 'Reserved' | 'Dynamic', now_ms: number) {
  return { mac, address, hostname, type, obtained_ms: now_ms - HOUR_MS, expires_ms: now_ms + 7 * DAY_MS }
}

export function zone(name: string, kind: ZoneKind, now_ms: number, more: Partial<ZoneRecord>): ZoneRecord {
  const data = {
    primaryNameServer: SERVER_NAME, responsiblePerson: `hostmaster@${name}`, serial: 1, refresh: 900, retry: 300, expire: 604_800,
    minimum: 900, useSerialDateScheme: false,
  } // biome-ignore format: one record
  const apex =
    kind === 'Primary' || kind === 'Catalog'
      ? [row(name, 'SOA', data, now_ms), row(name, 'NS', { nameServer: SERVER_NAME, glue: '' }, now_ms)]
      : []
  return {
    name, kind, internal: false, disabled: false, modified_ms: now_ms, masters: [], notify: 'ZoneNameServers', notify_servers: [],
    transfer: 'AllowOnlyZoneNameServers', transfer_networks: [], ...more, records: [...apex, ...(more.records ?? [])],
  } // biome-ignore format: one record
}

export function row(name: string, type: string, data: DnsRecord['data'], now_ms: number): DnsRecord {
  return { name, type, ttl: TTL_S, comments: '', disabled: false, expiry_ttl: 0, modified_ms: now_ms, data }
}

function a(name: string, address: string, now_ms: number): DnsRecord {
  return row(name, 'A', { ipAddress: address }, now_ms)
}

function ptr(name: string, target: string, now_ms: number): DnsRecord {
  return row(name, 'PTR', { ptrName: target }, now_ms)
}
