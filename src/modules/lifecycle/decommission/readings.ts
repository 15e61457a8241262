// What a decommission preflight is judged by: one reading a source, each read or missing with its reason.
import type { FabricReading } from './fabric-reading.ts'
import type { PlatformReading } from './platform-reading.ts'

export type Reading<T> = { read: T } | { missing: string }

export interface BmcReading {
  serial: string | null
  uuid: string | null
  /** It has a virtual drive that a machine starts from. */
  boots_images: boolean
}

export interface StorageReading {
  /** Of this node, of any kind; none: it is not a member. */
  daemons: number
  daemons_up: number
  pools: number
  health: 'HEALTH_OK' | 'HEALTH_WARN' | 'HEALTH_ERR'
  /** What the store says of going on without this node; null: it cannot be asked. */
  without: {
    /** Null: every copy finds a place. */
    rejection: string | null
    /** What is wrong with the store now, a sentence each. */
    findings: readonly string[]
    /** Its disks in the store by their ids, what is on them, and what fits on the others that would take it. */
    osds: readonly number[]
    used_bytes: number
    free_bytes: number
    disks_left: number
    /** Of the fullest disk that is left, 0 to 1. */
    used_share: number
    near_full_share: number
    full_share: number
    monitors: number
    /** Those of them that agree with each other. */
    monitors_left: number
    managers: number
    managers_left: number
  } | null
}

export interface ClusterReading {
  /** Other management nodes whose agents answer. */
  others_healthy: number
  database: 'primary' | 'standby' | 'unknown'
  /** A standby elsewhere that has caught up. */
  has_caught_up_standby: boolean
  /** Slot of this node; active_for: address that uses it. */
  slot: { name: string; active_for: string | null } | null
  /** Who has the virtual addresses; `none`: there are none, or the node is no member. */
  vip: 'this' | 'other' | 'none' | 'unknown'
  /** Another member answers. */
  can_take_vip: boolean
  /** Servers for names and DHCP on this node, as the configuration names them. */
  served_here: string[]
}

export interface AddressReading {
  /** Every address bound to the node, as "address (kind)". */
  held: readonly string[]
  /** On the node, and unknown to the address store. */
  unknown: readonly string[]
}

export interface DiskReading {
  /** Serial numbers of those that are recorded. */
  known: readonly string[]
  /** Of these, those that the distributed store has, or had. */
  data: readonly string[]
  unknown: readonly string[]
  /** Recorded for another node as well. */
  shared: readonly string[]
}

export interface Readings {
  node: {
    bmc_ip: string
    node_ip: string | null
    role: string | null
    addresses: readonly string[]
  }
  running_job: string | undefined
  /** What the BMC told when it was last collected. */
  recorded: { serial: string | null; uuid: string | null } | null
  bmc: Reading<BmcReading>
  agent: Reading<true>
  platform: Reading<PlatformReading>
  storage: Reading<StorageReading>
  fabric: Reading<FabricReading>
  cluster: Reading<ClusterReading>
  addresses: Reading<AddressReading>
  disks: Reading<DiskReading>
  /** Name of the wipe image; null: none is configured. */
  wipe_image: Reading<string | null>
}

export interface PreflightWish {
  force: boolean
  /** Checks whose failure the caller takes upon them. */
  accept: readonly string[]
  wipe: 'full' | 'data' | 'none'
}
