/** What one simulated remote KVM is and knows at one moment, the machine behind it included. */
import { createHash } from 'node:crypto'

/** How long things take, in milliseconds. */
export interface Speed {
  /** A short press of a button. */
  press_ms: number
  /** From the press to the light. */
  power_ms: number
  /** An operating system that is asked to shut down. */
  shutdown_ms: number
  boot_ms: number
  install_ms: number
  /** Between two questions of the installer. */
  poll_ms: number
}

export const LAB_SPEED: Speed = {
  press_ms: 100, power_ms: 300, shutdown_ms: 1500, boot_ms: 1500, install_ms: 3000, poll_ms: 500,
} // biome-ignore format: one record

/** How the installation goes, until told otherwise. */
export type Outcome = 'ok' | 'wrong-disk' | 'hang' | 'loop' | 'other-mac' | 'no-ssh'

/** Ways in which the device misbehaves until told otherwise. */
export interface Habits {
  outcome: Outcome
  /** The LED is not wired: always off. */
  led_broken: boolean
  /** The operating system ignores the power button. */
  ignore_off: boolean
  /** Presses are answered and do nothing. */
  dead_buttons: boolean
  /** Images read back with other bytes. */
  bit_rot: boolean
  /** The connection breaks in the middle of an upload. */
  cut_upload: boolean
  /** The card takes half of an image and says that it has it. */
  bad_card: boolean
  msd_offline: boolean
  atx_disabled: boolean
  auth_disabled: boolean
}

export interface Image {
  bytes: Buffer
  complete: boolean
}

export interface Disk {
  name: string
  serial: string
  wwn: string
  bytes: number
}

export interface Nic {
  name: string
  mac: string
  link: boolean
}

export interface Machine {
  power: boolean
  /** Counts starts. */
  boots: number
  serial: string
  disks: Disk[]
  nics: Nic[]
  /** Answer file of what was installed; null: the disks are empty. */
  installed: Record<string, unknown> | null
  /** What it last started from. */
  booted_from: 'nothing' | 'disk' | 'media'
  /** What the service answered its reports. */
  answers: string[]
}

export interface KvmState {
  name: string
  speed: Speed
  habits: Habits
  username: string
  password: string
  busy: { atx: boolean; msd: boolean }
  images: Map<string, Image>
  storage_bytes: number
  uploading: string | null
  drive: { image: string | null; connected: boolean; cdrom: boolean; rw: boolean }
  keys: string[]
  presses: string[]
  machine: Machine
}

export interface Identity {
  name: string
  username?: string | undefined
  password?: string | undefined
}

const GIB = 1024 ** 3
const DISKS = 3

export function freshState({ name, username = 'admin', password = 'pikvm-lab' }: Identity, speed: Speed): KvmState {
  const hash = createHash('sha1').update(name).digest('hex')
  const mac = (last: number): string => `02:00:${hash.slice(0, 2)}:${hash.slice(2, 4)}:${hash.slice(4, 6)}:0${last}`
  const disk = (index: number): Disk => ({
    name: `sd${String.fromCodePoint(97 + index)}`,
    serial: `KD${hash.slice(0, 6).toUpperCase()}${index}`,
    wwn: `0x5000${hash.slice(0, 11)}${index}`,
    bytes: 480 * GIB,
  })
  return {
    name,
    speed,
    habits: {
      outcome: 'ok', led_broken: false, ignore_off: false, dead_buttons: false, bit_rot: false, cut_upload: false,
      bad_card: false, msd_offline: false, atx_disabled: false, auth_disabled: false,
    }, // biome-ignore format: flags
    username,
    password,
    busy: { atx: false, msd: false },
    images: new Map(),
    storage_bytes: 16 * GIB,
    uploading: null,
    drive: { image: null, connected: false, cdrom: false, rw: false },
    keys: [],
    presses: [],
    machine: {
      power: true,
      boots: 0,
      serial: hash.slice(0, 7).toUpperCase(),
      disks: Array.from({ length: DISKS }, (_one, index) => disk(index)),
      nics: [
        { name: 'eno1', mac: mac(1), link: true },
        { name: 'eno2', mac: mac(2), link: false },
      ],
      installed: null,
      booted_from: 'nothing',
      answers: [],
    },
  }
}
