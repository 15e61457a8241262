// Checks what a disk benchmark is pointed at, opens it, and hands on the descriptor: nothing is looked up by name twice.
import { constants } from 'node:fs'
import { type FileHandle, lstat, mkdir, open, realpath, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { Host } from '#src/kernel/host.ts'
import { objections, readBlockDevice, readSignatures } from './block-device.ts'
import type { DiskProfile } from './profiles.ts'
import { openTestFile } from './test-file.ts'

export interface DiskTarget {
  path: string
  kind: 'directory' | 'device'
  file: FileHandle
}

export interface DiskTargetOptions {
  host: Host
  /** Where the absolute paths of targets stand. */
  root: string
  /** Used when the request names none; made when missing. */
  default_folder: string
}

export interface DiskTargetRequest {
  target: string | undefined
  confirm_serial: string | undefined
  profile: DiskProfile
}

/** Folders whose files are not stored on a disk, or on which the node's start depends. */
const REFUSED_FOLDERS = ['/dev', '/proc', '/sys', '/boot']
/** A file system is never filled to the brim: this much stays free. */
const RESERVE_PART = 0.05
const RESERVE_MAX_BYTES = 10 * 2 ** 30

export async function openDiskTarget(options: DiskTargetOptions, request: DiskTargetRequest): Promise<DiskTarget> {
  const { host, root, default_folder } = options
  const { target = '' } = request
  if (target === '') await mkdir(default_folder, { recursive: true, mode: 0o700 })
  const path = target === '' ? default_folder : checkedPath(target)
  const at = target === '' ? path : join(await realpath(root), path)
  const stat = await lstat(at).catch(() => null)
  if (stat === null) throw refused(`there is nothing at this path, ${path}`)
  if (stat.isSymbolicLink() || (await realpath(at)) !== at) throw refused(`the path ${path} leads over a symbolic link`)
  if (stat.isBlockDevice()) return { path, kind: 'device', file: await openDevice(host, { path, at }, request) }
  if (!stat.isDirectory()) throw refused(`${path} is neither a block device nor a directory`)
  if (REFUSED_FOLDERS.some((folder) => path === folder || path.startsWith(`${folder}/`))) {
    throw refused(`test files are not made in this folder, ${path}`)
  }
  await requireSpace(at, request.profile.test_bytes)
  return { path, kind: 'directory', file: await openTestFile(at).catch(notWritable) }
}

function checkedPath(text: string): string {
  const path = text.length > 1 ? text.replace(/\/+$/, '') : text
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (!path.startsWith('/') || /[\u0000-\u001f]/.test(path)) throw refused('an absolute path is needed')
  if (path.split('/').some((part, at) => part === '.' || part === '..' || (part === '' && at > 0 && path !== '/'))) {
    throw refused('a path without `.`, `..` and empty parts is needed')
  }
  return path
}

async function requireSpace(path: string, bytes: number): Promise<void> {
  const { bavail, blocks, bsize } = await statfs(path)
  const reserve = Math.min(blocks * bsize * RESERVE_PART, RESERVE_MAX_BYTES)
  const usable = bavail * bsize - reserve
  if (bytes <= usable) return
  const mb = (value: number): number => Math.max(0, Math.floor(value / 2 ** 20))
  throw refused(`the test file needs ${mb(bytes)} MiB and ${mb(usable)} MiB may be used`)
}

async function openDevice(
  host: Host,
  { path, at }: { path: string; at: string },
  { profile, confirm_serial }: DiskTargetRequest,
): Promise<FileHandle> {
  // Before it is opened for the reason, after it for the certainty.
  await checkDevice(host, path, { profile, confirm_serial })
  // O_EXCL on a block device fails while it is mounted or held, and keeps others from doing either during the run.
  const flags = profile.writes ? constants.O_RDWR | constants.O_EXCL : constants.O_RDONLY
  const file = await open(at, flags | constants.O_NOFOLLOW).catch((cause: unknown) => {
    throw refused('the device is in use or cannot be opened', cause)
  })
  try {
    if (!(await file.stat()).isBlockDevice()) throw refused('it is not a block device any more')
    await checkDevice(host, path, { profile, confirm_serial })
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}

async function checkDevice(
  host: Host,
  path: string,
  { profile, confirm_serial }: Pick<DiskTargetRequest, 'profile' | 'confirm_serial'>,
): Promise<void> {
  const device = await readBlockDevice(host, path)
  if (device === null) throw refused('nothing could be learned about the device')
  if (profile.test_bytes > device.size_bytes) throw invalidField('custom_profile.test_size', 'more than the device has')
  if (!profile.writes) return
  const holders = (await host.list(`/sys/class/block/${device.name}/holders`)) ?? []
  const against = objections(device, holders, await readSignatures(host, path))
  if (against.length > 0) throw refused(`a writing profile needs a blank device: ${against.join('; ')}`)
  if (device.serial === null) throw refused('the device has no serial number by which it could be confirmed')
  if (confirm_serial !== device.serial) {
    throw invalidField('confirm_serial', 'the serial number of the device, because everything on it is overwritten')
  }
}

function refused(reason: string, cause?: unknown): ApiError {
  return new ApiError('BENCHMARK_TARGET_REFUSED', `target: ${reason}`, {
    errors: [{ path: 'target', message: reason }],
    cause,
  })
}

function notWritable(cause: unknown): never {
  throw refused('no file can be made in this folder', cause)
}
