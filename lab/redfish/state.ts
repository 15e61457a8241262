/** What one simulated BMC is and knows at one moment. */
import { createHash } from 'node:crypto'
import { type Profile, type ProfileName, PROFILES } from './profiles.ts'

export type Value = string | number | boolean

/** How long things take, in milliseconds. */
export interface Speed {
  power_ms: number
  shutdown_ms: number
  boot_ms: number
  job_ms: number
  update_ms: number
  /** How long it is gone when it restarts in the middle of an update. */
  dead_ms: number
  /** How long it is half-ready after a forced clear. */
  not_ready_ms: number
}

export const LAB_SPEED: Speed = {
  power_ms: 800, shutdown_ms: 2000, boot_ms: 3000, job_ms: 1500, update_ms: 4000, dead_ms: 3000, not_ready_ms: 3000,
} // biome-ignore format: one record

/** Ways in which it misbehaves until told otherwise. */
export interface Habits {
  /** The BIOS resource shows pending values as if they were in force. */
  pending_as_current: boolean
  /** A graceful shutdown never ends. */
  hang_shutdown: boolean
  /** It restarts in the middle of an update. */
  restart_in_update: boolean
  /** An update ends without a new version. */
  update_without_effect: boolean
  /** An update ends at 100 % and asks for a restart. */
  update_needs_reset: boolean
  /** Jobs fail when they are applied. */
  fail_jobs: boolean
  /** Tasks are forgotten as soon as they have ended. */
  forget_tasks: boolean
  /** The plain clear leaves the queue as it is. */
  resist_clear: boolean
  /** Boot overrides are shown as Continuous. */
  continuous_boot: boolean
  /** Images are said to be in without being fetched. */
  skip_fetch: boolean
  /** Updates do not end. */
  hold_updates: boolean
  /** An accepted reset does nothing. */
  ignore_reset: boolean
}

export interface RemoteJob {
  id: string
  name: string
  state: string
  percent: number
  message: string
  made_at: string
  /** Values that it applies at the next restart. */
  bios?: Record<string, Value>
}

export interface Media {
  id: string
  types: string[]
  image: string | null
  write_protected: boolean
}

export interface Boot {
  target: string
  enabled: string
  mode: string
}

export interface BmcState {
  name: string
  profile: Profile
  speed: Speed
  habits: Habits
  username: string
  password: string
  serial: string
  uuid: string
  power: 'On' | 'Off' | 'PoweringOn' | 'PoweringOff'
  last_reset_at: string
  boot: Boot
  bios: Record<string, Value>
  bios_pending: Record<string, Value>
  bios_version: string
  manager_firmware: string
  media: Media[]
  jobs: RemoteJob[]
  next_job: number
  sessions: Map<string, { id: string; token: string }>
  failed_logins: number
  locked: boolean
  ready: boolean
  /** It is restarting: nothing answers. */
  dead: boolean
  /** Raised with every change of a resource; part of its ETag. */
  version: number
  /** What the machine last started from. */
  booted_from: string
}

export interface Identity {
  name: string
  profile: ProfileName
  username?: string | undefined
  password?: string | undefined
}

export function freshState(
  { name, profile, username = 'root', password = 'calvin-lab' }: Identity,
  speed: Speed,
): BmcState {
  const hash = createHash('sha1').update(name).digest('hex')
  const kind = PROFILES[profile]
  return {
    name,
    profile: kind,
    speed,
    habits: {
      pending_as_current: false, hang_shutdown: false, restart_in_update: false, update_without_effect: false,
      update_needs_reset: false, fail_jobs: false, forget_tasks: false, resist_clear: false, continuous_boot: false,
      skip_fetch: false, hold_updates: false, ignore_reset: false,
    }, // biome-ignore format: flags
    username,
    password,
    serial: hash.slice(0, 7).toUpperCase(),
    uuid: `${hash.slice(0, 8)}-${hash.slice(8, 12)}-4${hash.slice(13, 16)}-a${hash.slice(17, 20)}-${hash.slice(20, 32)}`,
    power: 'On',
    last_reset_at: '2026-01-01T00:00:00Z',
    boot: { target: 'None', enabled: 'Disabled', mode: 'UEFI' },
    bios: { BootMode: 'Uefi', ProcVirtualization: 'Disabled', ProcCores: 16, SriovGlobalEnable: false, AssetTag: '', SetupPassword: '', SerialNumber: hash.slice(0, 7), UefiVars: 'Standard' }, // biome-ignore format: one record
    bios_pending: {},
    bios_version: '2.1.0',
    manager_firmware: kind.manager_firmware,
    media: (kind.media?.slots ?? []).map(({ id, types }) => ({ id, types, image: null, write_protected: true })),
    jobs: [],
    next_job: 732_000_000_001,
    sessions: new Map(),
    failed_logins: 0,
    locked: false,
    ready: true,
    dead: false,
    version: 1,
    booted_from: 'Hdd',
  }
}
