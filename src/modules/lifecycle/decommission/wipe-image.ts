// The image that wipes the disks of a node: a file of bmc.iso_dir.
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { Config } from '#src/kernel/config.ts'
import { ApiError } from '#src/kernel/errors.ts'

/** Its name; null where none is configured. Throws when it is not there, or another one than configured. */
export async function wipeImage({ iso_dir, wipe_image, wipe_image_sha256 }: Config['bmc']): Promise<string | null> {
  if (wipe_image === undefined) return null
  if (iso_dir === undefined) throw new ApiError('BMC_NOT_CONFIGURED', 'bmc.wipe_image needs bmc.iso_dir.')
  const path = join(iso_dir, wipe_image)
  const found = await stat(path).catch(() => undefined)
  if (found?.isFile() !== true) throw new ApiError('BMC_NOT_CONFIGURED', `${wipe_image} is not in bmc.iso_dir.`)
  if (wipe_image_sha256 === undefined) return wipe_image
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  if (hash.digest('hex') !== wipe_image_sha256.toLowerCase())
    throw new ApiError('BMC_NOT_CONFIGURED', `${wipe_image} has not the checksum of bmc.wipe_image_sha256.`)
  return wipe_image
}
