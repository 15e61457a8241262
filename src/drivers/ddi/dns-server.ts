// What address management needs of an authoritative name server. PowerDNS and Technitium fulfil it.

export type ZoneType = 'Primary' | 'Secondary' | 'Stub' | 'Forwarder'

/** Names are lower case, punycode, without a dot at their end everywhere above the drivers. */
export interface ZoneState {
  name: string
  type: ZoneType
  /** False: kept and not answered for. */
  enabled: boolean
  masters: readonly string[]
  notify: boolean
  transfer: boolean
  serial: number | null
  modified_at: Date | null
}

/** What tells whether it may be written, and whether it has changed. */
export type ZoneHead = Pick<ZoneState, 'name' | 'type' | 'serial'>

export interface RecordData {
  /** Full name. */
  fqdn: string
  type: string
  ttl: number
  /** Address, target (full name) or text (unquoted). */
  value: string
  /** MX and SRV; SRV; SRV. */
  priority: number | null
  weight: number | null
  port: number | null
  comment: string
}

export type RecordChange =
  | { action: 'add'; record: RecordData }
  | { action: 'update'; old: RecordData; record: RecordData }
  | { action: 'delete'; old: RecordData }
  /** Replaces every record of the name and type by this one. */
  | { action: 'replace'; record: RecordData }

/** A zone as it is right before a change: its type, and every record of the names that change. */
export interface ZoneNames {
  type: ZoneType
  records: readonly RecordData[]
}

export interface ZoneSettings {
  masters?: readonly string[]
  notify?: boolean
  transfer?: boolean
  enabled?: boolean
}

/** What a server cannot do; refused before anything changes. Generates docs/reference/ddi-backends.md. */
export interface DnsLimits {
  /** Record types that can be written; `any`: whatever the server accepts. */
  record_types: readonly string[] | 'any'
  /** Zone types that a zone of a type can become. */
  conversions: Readonly<Record<ZoneType, readonly ZoneType[]>>
  renamable: readonly ZoneType[]
  /** Zone types that can be paused and disabled. */
  pausable: readonly ZoneType[]
  max_comment_bytes: number
}

/**
 * Every call is bounded in time and throws UpstreamError (subsystem DNS). Writers hold the lock of the server
 * (`withServerLock`): records are read, changed and written back.
 */
export interface DnsServer {
  readonly kind: 'powerdns' | 'technitium' | 'none'
  readonly limits: DnsLimits
  /** Cheap; throws when the server does not answer or refuses our credentials. */
  check(signal?: AbortSignal): Promise<void>
  /** Without the zones that the server keeps for itself. */
  zones(signal?: AbortSignal): Promise<ZoneState[]>
  zone(name: string, signal?: AbortSignal): Promise<ZoneState | undefined>
  /** All of them, cheaper than with what they are set to; a serial of null: not known without asking for the zone. */
  zoneHeads(signal?: AbortSignal): Promise<ZoneHead[]>
  /** Cheaper than all of it. */
  zoneHead(name: string, signal?: AbortSignal): Promise<ZoneHead | undefined>
  /** Of exactly this zone, or of one name in it. */
  records(zone: string, of?: { fqdn?: string }, signal?: AbortSignal): Promise<RecordData[]>
  createZone(zone: { name: string; type: 'Primary' | 'Secondary' } & ZoneSettings): Promise<void>
  changeZone(name: string, settings: ZoneSettings): Promise<void>
  convertZone(name: string, type: ZoneType, masters: readonly string[]): Promise<void>
  renameZone(name: string, new_name: string): Promise<void>
  deleteZone(name: string): Promise<void>
  /**
   * In this order, all or nothing where the server can; else up to the first that is refused, which is thrown. `check` sees
   * what is there before anything changes, and throws when that must not be; undefined: there is no such zone.
   */
  changeRecords(
    zone: string,
    changes: readonly RecordChange[],
    check?: (now: ZoneNames | undefined) => void,
  ): Promise<void>
  /** Copies a secondary from its masters now. */
  transferZone(name: string): Promise<void>
  /** Tells the secondaries of a primary now. */
  notifyZone(name: string): Promise<void>
  /** Recent queries for names of the zone; null where the server does not count them. */
  queryCount(zone: string, signal?: AbortSignal): Promise<number | null>
}
