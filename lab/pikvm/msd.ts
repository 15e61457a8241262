/** Mass storage of a simulated KVM: images, what is in the drive, and every reason why the device refuses. */
import type { IncomingMessage } from 'node:http'
import { flagOf, invalid, ok, Refused, type Reply, textOf } from './answer.ts'
import type { Simulation } from './simulation.ts'
import type { KvmState } from './state.ts'

export function readMsd({ state }: Simulation): Reply {
  const { habits, images, drive } = state
  if (habits.msd_offline) return ok({ enabled: true, online: false, busy: false, storage: null, drive: null })
  const listed = [...images].map(([name, { bytes, complete }]) => [
    name,
    { size: bytes.length, complete, removable: true, writable: !name.endsWith('.iso'), mod_ts: 1_790_000_000 },
  ])
  const uploading = state.uploading === null ? null : { name: state.uploading, size: 0, written: 0 }
  return ok({
    enabled: true,
    online: true,
    busy: state.busy.msd,
    storage: {
      images: Object.fromEntries(listed),
      parts: { '': { size: state.storage_bytes, free: freeBytes(state), writable: true } },
      uploading,
      downloading: null,
    },
    drive: {
      image: drive.image === null ? null : { name: drive.image },
      connected: drive.connected,
      cdrom: drive.cdrom,
      rw: drive.rw,
    },
  })
}

function freeBytes({ storage_bytes, images }: KvmState): number {
  return storage_bytes - [...images.values()].reduce((sum, { bytes }) => sum + bytes.length, 0)
}

/** What every change needs. */
function requireIdle({ habits, busy, drive }: KvmState, connected: boolean | null): void {
  if (habits.msd_offline) throw new Refused(400, 'MsdOfflineError', 'MSD is not found')
  if (busy.msd) throw new Refused(409, 'MsdIsBusyError', 'Performing another MSD operation, please try again later')
  if (connected === false && drive.connected)
    throw new Refused(400, 'MsdConnectedError', 'MSD is connected to Server, but should not for this operation')
}

function requireImage({ images }: KvmState, name: string) {
  const image = images.get(name)
  if (image === undefined) throw new Refused(400, 'MsdUnknownImageError', 'The image is not found in the storage')
  return image
}

export async function write({ state }: Simulation, query: URLSearchParams, request: IncomingMessage): Promise<Reply> {
  const name = `${query.get('prefix') ?? ''}${textOf(query, 'image')}`
  const length = Number(request.headers['content-length'])
  const drop_incomplete = flagOf(query, 'remove_incomplete', false)
  if (name.startsWith('.') || name.split('/').some((part) => part === '' || part === '..'))
    throw invalid('The argument image is not a valid MSD image name')
  if (!Number.isSafeInteger(length) || request.headers['transfer-encoding'] !== undefined)
    throw invalid('The argument is not a valid content length')
  requireIdle(state, false)
  if (state.images.has(name)) throw new Refused(400, 'MsdImageExistsError', 'This image is already exists')
  if (length > freeBytes(state)) throw new Refused(400, 'MsdError', 'No space left on device')
  state.busy.msd = true
  state.uploading = name
  const parts: Buffer[] = []
  let written = 0
  try {
    for await (const part of request as AsyncIterable<Buffer>) {
      parts.push(part)
      written += part.length
      if (state.habits.cut_upload && written > length / 2) {
        request.socket.destroy()
        break
      }
    }
  } catch {
    // The client went away; what came until then counts.
  } finally {
    state.busy.msd = false
    state.uploading = null
    const complete = written === length
    const bytes = Buffer.concat(parts).subarray(0, state.habits.bad_card ? length / 2 : length)
    if (complete || !drop_incomplete) state.images.set(name, { bytes, complete })
  }
  return ok({ image: { name, size: length, written } })
}

export function setParams({ state }: Simulation, query: URLSearchParams): Reply {
  requireIdle(state, false)
  const image = query.get('image')
  const rw = flagOf(query, 'rw', state.drive.rw)
  if (image !== null && image !== '') requireImage(state, image)
  if (rw && (image ?? state.drive.image ?? '').endsWith('.iso')) throw invalid('An ISO image can never be writable')
  if (image !== null) state.drive.image = image === '' ? null : image
  state.drive.cdrom = flagOf(query, 'cdrom', state.drive.cdrom)
  state.drive.rw = rw
  return ok()
}

export function setConnected({ state }: Simulation, query: URLSearchParams): Reply {
  const connected = flagOf(query, 'connected', false)
  requireIdle(state, connected ? false : null)
  if (!connected && !state.drive.connected)
    throw new Refused(400, 'MsdDisconnectedError', 'MSD is disconnected from Server, but should be for this operation')
  if (connected && state.drive.image === null)
    throw new Refused(400, 'MsdImageNotSelected', 'The image is not selected')
  if (connected && !requireImage(state, state.drive.image ?? '').complete)
    throw new Refused(400, 'MsdError', 'The image is incomplete')
  state.drive.connected = connected
  return ok()
}

export function remove({ state }: Simulation, query: URLSearchParams): Reply {
  const name = textOf(query, 'image')
  requireIdle(state, false)
  requireImage(state, name)
  state.images.delete(name)
  if (state.drive.image === name) state.drive.image = null
  return ok()
}

export function read({ state }: Simulation, query: URLSearchParams): Reply {
  const { bytes } = requireImage(state, textOf(query, 'image'))
  if (!state.habits.bit_rot) return { status: 200, result: {}, bytes }
  const rotten = Buffer.from(bytes)
  rotten.writeUInt8(rotten.readUInt8(100) ^ 1, 100)
  return { status: 200, result: {}, bytes: rotten }
}
