// Images of ours on the mass storage of a remote KVM: brought there, verified, connected, and taken away. Everything begins with
// what the device has now, because a person may have changed it by hand; images of others are never touched.
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { KvmClient } from './client.ts'
import { type MsdState, readMsd } from './device.ts'
import { PikvmError } from './pikvm-error.ts'

/** Folder of our images on the device. */
export const OWN_PREFIX = 'plat/'
/** Left free on the device. */
const SPARE_BYTES = 64 * 1024 * 1024

export interface LocalImage {
  path: string
  bytes: number
  sha256: string
}

export interface MediaCall {
  signal?: AbortSignal | undefined
}

/** Throws unless images can be brought and connected; `name`: one of ours that may be connected already. */
export function requireUsable(msd: MsdState, name: string | null): void {
  const operation = 'GET /msd'
  const refuse = (problem: 'rejected' | 'busy', sentence: string): never => {
    throw new PikvmError({ operation, failure: 'error', problem, sentence })
  }
  if (!msd.enabled)
    refuse('rejected', 'The mass storage of the KVM is disabled; enable it in the configuration of the device.')
  if (!msd.online)
    refuse('rejected', 'The mass storage of the KVM is offline: check its cable to the server and its memory card.')
  if (msd.uploading !== null && msd.uploading !== name)
    refuse('busy', `Somebody uploads ${msd.uploading} to the KVM; wait for its end.`)
  const { image, connected } = msd.drive
  // One of ours is of a job that has ended: no two run on one KVM.
  const is_other = connected && image !== name && image?.startsWith(OWN_PREFIX) !== true
  if (is_other)
    refuse(
      'busy',
      `The image ${image ?? 'of somebody'} is connected to the server; disconnect it in the KVM, or send force.`,
    )
}

/** Brings the image there unless it is; what is left of an interrupted upload is removed first. */
export async function bringImage(
  kvm: KvmClient,
  name: string,
  image: LocalImage,
  { signal, onProgress }: MediaCall & { onProgress?: (sent: number) => void } = {},
): Promise<void> {
  const msd = await readMsd(kvm, { signal })
  const there = msd.images.find((one) => one.name === name)
  if (there?.complete === true && there.bytes === image.bytes) return
  if (there !== undefined) await removeImage(kvm, name, { signal })
  await requireRoom(kvm, image.bytes, { signal })
  await kvm.upload('/msd/write', {
    query: { image: name, remove_incomplete: 1 },
    bytes: image.bytes,
    body: createReadStream(image.path),
    signal,
    ...(onProgress === undefined ? {} : { onProgress }),
  })
}

async function requireRoom(kvm: KvmClient, bytes: number, { signal }: MediaCall): Promise<void> {
  const { free_bytes } = await readMsd(kvm, { signal })
  const needed = bytes + SPARE_BYTES
  if (free_bytes >= needed) return
  throw new PikvmError({
    operation: 'POST /msd/write',
    failure: 'error',
    problem: 'rejected',
    sentence: `The KVM has ${mebibytes(free_bytes)} MiB free, and ${mebibytes(needed)} MiB are needed; remove images there.`,
  })
}

const mebibytes = (bytes: number): number => Math.round(bytes / (1024 * 1024))

/** Reads the image back: devices with a failing card say that they have written and serve rubbish. */
export async function verifyImage(kvm: KvmClient, name: string, image: LocalImage, { signal }: MediaCall = {}) {
  const hash = createHash('sha256')
  for await (const part of await kvm.download('/msd/read', { image: name }, signal)) hash.update(part)
  if (hash.digest('hex') === image.sha256) return
  throw new PikvmError({
    operation: 'GET /msd/read',
    failure: 'error',
    sentence: `The KVM reads ${name} back with other bytes than it was sent: its memory card fails. Replace the card and try again.`,
  })
}

/** Connects the image as a drive of the server. A repeat changes nothing. */
export async function connectImage(
  kvm: KvmClient,
  name: string,
  { signal, cdrom }: MediaCall & { cdrom: boolean },
): Promise<void> {
  const msd = await readMsd(kvm, { signal })
  requireUsable(msd, name)
  const { drive } = msd
  if (drive.connected && drive.image === name && drive.cdrom === cdrom) return
  if (drive.connected) await kvm.post('/msd/set_connected', { connected: 0 }, { signal })
  await kvm.post('/msd/set_params', { image: name, cdrom: cdrom ? 1 : 0, rw: 0 }, { signal })
  await kvm.post('/msd/set_connected', { connected: 1 }, { signal })
}

export async function isConnected(kvm: KvmClient, name: string, { signal }: MediaCall = {}): Promise<boolean> {
  const { drive } = await readMsd(kvm, { signal })
  return drive.connected && drive.image === name
}

/** Takes the image out of the drive and off the device. Nothing is left to do for one that is not there. */
export async function removeImage(kvm: KvmClient, name: string, { signal }: MediaCall = {}): Promise<void> {
  const msd = await readMsd(kvm, { signal })
  if (msd.drive.image === name) {
    if (msd.drive.connected) await kvm.post('/msd/set_connected', { connected: 0 }, { signal })
    await kvm.post('/msd/set_params', { image: '', cdrom: 0, rw: 0 }, { signal })
  }
  if (msd.images.some((one) => one.name === name)) await kvm.post('/msd/remove', { image: name }, { signal })
}

/** Disconnects what is in the way, and removes images of ours of jobs that have ended. Answers their names. */
export async function clearOthers(kvm: KvmClient, keep: string, { signal }: MediaCall = {}): Promise<string[]> {
  const { images, drive } = await readMsd(kvm, { signal })
  if (drive.connected && drive.image !== keep) await kvm.post('/msd/set_connected', { connected: 0 }, { signal })
  const old = images.filter(({ name }) => name.startsWith(OWN_PREFIX) && name !== keep)
  for (const { name } of old) await removeImage(kvm, name, { signal })
  return old.map(({ name }) => name)
}
