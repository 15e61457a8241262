/** What the simulated address server knows, and how that survives a restart: one JSON file, written beside and moved over. */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'

export interface LeaseRecord {
  mac: string
  address: string
  type: 'Reserved' | 'Dynamic'
  hostname: string | null
  obtained_ms: number
  expires_ms: number
}

export interface ReservationRecord {
  mac: string
  address: string
  hostname: string | null
  comments: string | null
}

export interface ScopeRecord {
  name: string
  enabled: boolean
  first: string
  last: string
  mask: string
  router: string | null
  dns_servers: string[]
  use_this_dns_server: boolean
  lease_days: number
  lease_hours: number
  lease_minutes: number
  dns_updates: boolean
  exclusions: { first: string; last: string }[]
  reservations: ReservationRecord[]
  leases: LeaseRecord[]
}

export interface DnsRecord {
  /** Full name, lower case. */
  name: string
  type: string
  ttl: number
  comments: string
  disabled: boolean
  expiry_ttl: number
  modified_ms: number
  /** As in the answers of the API. */
  data: Record<string, string | number | boolean>
}

export type ZoneKind = 'Primary' | 'Secondary' | 'Stub' | 'Forwarder' | 'SecondaryForwarder' | 'Catalog'

export interface ZoneRecord {
  name: string
  kind: ZoneKind
  internal: boolean
  disabled: boolean
  modified_ms: number
  masters: string[]
  notify: string
  notify_servers: string[]
  transfer: string
  transfer_networks: string[]
  records: DnsRecord[]
}

export interface AddressState {
  scopes: ScopeRecord[]
  zones: ZoneRecord[]
  /** Queries answered by name. */
  hits: Record<string, number>
}

export interface StoredState {
  readonly now: AddressState
  /** To be called after each change. */
  changed(): void
  replace(state: AddressState): void
}

export function keepState(file: string | undefined, seed: () => AddressState): StoredState {
  let now = file !== undefined && existsSync(file) ? parse(readFileSync(file, 'utf8')) : seed()
  const changed = (): void => {
    if (file === undefined) return
    writeFileSync(`${file}.new`, JSON.stringify(now), { mode: 0o600 })
    renameSync(`${file}.new`, file)
  }
  changed()
  return {
    get now() {
      return now
    },
    changed,
    replace: (state) => {
      now = state
      changed()
    },
  }
}

function parse(text: string): AddressState {
  const value = JSON.parse(text) as AddressState // written by this program
  if (!Array.isArray(value.scopes) || !Array.isArray(value.zones)) throw new Error('the state file is damaged')
  return value
}
