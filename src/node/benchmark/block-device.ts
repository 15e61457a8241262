// Decides from lsblk, holders and wipefs whether a block device is blank enough to be overwritten. Pure but for the reading.
import type { Host } from '#src/kernel/host.ts'
import { at, listOf, parseJson, textOf } from '../untrusted-json.ts'

export interface BlockDevice {
  name: string
  type: string
  size_bytes: number
  serial: string | null
  read_only: boolean
  fstype: string | null
  mounts: string[]
  children: BlockDevice[]
}

const COLUMNS = 'NAME,KNAME,PATH,TYPE,SIZE,SERIAL,RO,FSTYPE,MOUNTPOINTS'

export async function readBlockDevice(host: Host, path: string): Promise<BlockDevice | null> {
  const run = await host.run('lsblk', ['-J', '-b', '-o', COLUMNS, path], { timeout_ms: 10_000 })
  const device = run.exit_code === 0 ? parseLsblk(run.stdout) : null
  if (device === null || device.serial !== null) return device
  // Without a udev database lsblk knows no serial; the kernel may.
  for (const attribute of ['serial', 'device/serial']) {
    const serial = (await host.read(`/sys/class/block/${device.name}/${attribute}`))?.trim() ?? ''
    if (serial !== '') return { ...device, serial }
  }
  return device
}

export function parseLsblk(text: string): BlockDevice | null {
  const devices = listOf(at(parseJson(text), 'blockdevices')).map(parseDevice)
  return devices[0] ?? null
}

/** Signature types that `wipefs -J` names; null when its answer cannot be trusted. */
export async function readSignatures(host: Host, path: string): Promise<string[] | null> {
  const run = await host.run('wipefs', ['-J', path], { timeout_ms: 20_000 })
  if (run.exit_code !== 0) return null
  return run.stdout.trim() === '' ? [] : parseWipefs(run.stdout)
}

export function parseWipefs(text: string): string[] | null {
  const signatures = at(parseJson(text), 'signatures')
  return Array.isArray(signatures) ? signatures.map((row) => textOf(at(row, 'type')) ?? 'unknown') : null
}

/** Everything that speaks against overwriting the device; empty means blank. */
export function objections(
  device: BlockDevice,
  holders: readonly string[],
  signatures: readonly string[] | null,
): string[] {
  const found: string[] = []
  if (device.type !== 'disk') found.push(`it is a ${device.type}, not a whole disk`)
  if (device.read_only) found.push('it is read-only')
  const mounts = [device, ...device.children].flatMap(({ mounts: at }) => at)
  if (mounts.length > 0) found.push(`it is in use at ${mounts.join(', ')}`)
  if (device.children.length > 0) found.push(`it carries ${device.children.map(({ name }) => name).join(', ')}`)
  if (holders.length > 0) found.push(`it is held by ${holders.join(', ')}`)
  if (device.fstype !== null) found.push(`it holds ${device.fstype}`)
  if (signatures === null) found.push('its signatures could not be read')
  else if (signatures.length > 0) found.push(`it carries the signature of ${[...new Set(signatures)].join(', ')}`)
  return found
}

function parseDevice(raw: unknown): BlockDevice {
  return {
    name: textOf(at(raw, 'kname')) ?? textOf(at(raw, 'name')) ?? '',
    type: textOf(at(raw, 'type')) ?? 'unknown',
    size_bytes: Number(at(raw, 'size') ?? 0),
    serial: textOf(at(raw, 'serial')),
    read_only: [true, 1, '1'].some((yes) => at(raw, 'ro') === yes),
    fstype: textOf(at(raw, 'fstype')),
    mounts: listOf(at(raw, 'mountpoints')).flatMap((mount) => textOf(mount) ?? []),
    children: listOf(at(raw, 'children')).map(parseDevice),
  }
}
