// What a remote KVM says of itself: whether it accepts our credentials, the lights of the server, and its mass storage.
import { isRecord, type KvmClient, type ReadOptions, type Result } from './client.ts'
import { PikvmError } from './pikvm-error.ts'

export interface AtxState {
  enabled: boolean
  /** A button is being pressed. */
  busy: boolean
  /** The power LED: all that is known of the server's power. */
  power_on: boolean
  hdd_active: boolean
}

export interface MsdImage {
  name: string
  bytes: number
  complete: boolean
}

export interface MsdState {
  enabled: boolean
  /** False while the storage is not there. */
  online: boolean
  busy: boolean
  images: MsdImage[]
  free_bytes: number
  /** Name of what is being uploaded now. */
  uploading: string | null
  drive: { image: string | null; connected: boolean; cdrom: boolean }
}

/** Throws unless the device accepts the credentials. */
export async function checkLogin(kvm: KvmClient, options: ReadOptions = {}): Promise<void> {
  await kvm.get('/auth/check', {}, options)
}

export async function readAtx(kvm: KvmClient, options: ReadOptions = {}): Promise<AtxState> {
  const result = await kvm.get('/atx', {}, options)
  const leds = recordAt(result, 'leds', 'GET /atx')
  return {
    enabled: flagAt(result, 'enabled', 'GET /atx'),
    busy: flagAt(result, 'busy', 'GET /atx'),
    power_on: flagAt(leds, 'power', 'GET /atx'),
    hdd_active: leds.hdd === true,
  }
}

export async function readMsd(kvm: KvmClient, options: ReadOptions = {}): Promise<MsdState> {
  const what = 'GET /msd'
  const result = await kvm.get('/msd', {}, options)
  const enabled = flagAt(result, 'enabled', what)
  const online = result.online === true
  // Without storage the device says null.
  const storage = isRecord(result.storage) ? result.storage : {}
  const drive = isRecord(result.drive) ? result.drive : {}
  const image = isRecord(drive.image) ? drive.image.name : drive.image
  return {
    enabled,
    online,
    busy: result.busy === true,
    images: imagesOf(storage),
    free_bytes: freeBytes(storage),
    uploading:
      isRecord(storage.uploading) && typeof storage.uploading.name === 'string' ? storage.uploading.name : null,
    drive: {
      image: typeof image === 'string' && image !== '' ? image : null,
      connected: drive.connected === true,
      cdrom: drive.cdrom === true,
    },
  }
}

function imagesOf({ images }: Result): MsdImage[] {
  if (!isRecord(images)) return []
  return Object.entries(images).map(([name, image]) => ({
    name,
    bytes: isRecord(image) && typeof image.size === 'number' ? image.size : 0,
    complete: isRecord(image) && image.complete === true,
  }))
}

/** Of the root part, where our images go. */
function freeBytes({ parts }: Result): number {
  const root = isRecord(parts) ? parts[''] : undefined
  return isRecord(root) && typeof root.free === 'number' ? root.free : 0
}

function recordAt(result: Result, name: string, operation: string): Result {
  const value = result[name]
  if (isRecord(value)) return value
  throw new PikvmError({ operation, failure: 'error', detail: `the answer has no ${name}` })
}

function flagAt(result: Result, name: string, operation: string): boolean {
  const value = result[name]
  if (typeof value === 'boolean') return value
  throw new PikvmError({ operation, failure: 'error', detail: `the answer has no ${name}` })
}
