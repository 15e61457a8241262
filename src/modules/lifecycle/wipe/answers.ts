// The answers of a wipe image: a copy of the image whose place holder is replaced by them. The place holder is a file of fixed
// size on the medium, which lies there in one piece, so nothing else of the image changes.
import { open, copyFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { ApiError } from '#src/kernel/errors.ts'

export interface WipeAnswers {
  callback: string
  token: string
  /** Serial numbers of the disks to wipe, and no others. */
  disks: readonly string[]
}

/** First bytes of the place holder (deploy/installer); it is filled up with blanks. */
export const PLACE_HOLDER = '{"groundplane-wipe-answers":1}'
export const PLACE_BYTES = 16_384
const CHUNK = 1024 * 1024

export async function writeAnswers(
  folder: string,
  template: string,
  file: string,
  answers: WipeAnswers,
): Promise<void> {
  const text = JSON.stringify(answers)
  if (Buffer.byteLength(text) > PLACE_BYTES)
    throw new ApiError('BMC_NOT_CONFIGURED', `${answers.disks.length} disks are more than the wipe image has room for; wipe them by hand.`) // biome-ignore format: one sentence
  const partial = join(folder, `${file}.partial`)
  await copyFile(join(folder, template), partial)
  const handle = await open(partial, 'r+')
  try {
    const at = await placeOf(handle)
    if (at === undefined)
      throw new ApiError(
        'BMC_NOT_CONFIGURED',
        `${template} is no wipe image: it has no place for answers; see bmc.wipe_image.`,
      )
    await handle.write(Buffer.from(text.padEnd(PLACE_BYTES, ' ')), 0, PLACE_BYTES, at)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(partial, join(folder, file))
}

async function placeOf(handle: Awaited<ReturnType<typeof open>>): Promise<number | undefined> {
  const wanted = Buffer.from(PLACE_HOLDER)
  const buffer = Buffer.alloc(CHUNK + wanted.length)
  for (let at = 0; ; at += CHUNK) {
    const { bytesRead } = await handle.read(buffer, 0, buffer.length, at)
    const found = buffer.subarray(0, bytesRead).indexOf(wanted)
    if (found !== -1) return at + found
    if (bytesRead < buffer.length) return undefined
  }
}
