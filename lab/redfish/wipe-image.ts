/** A machine that is started from a wipe image: it reads its answers, says that its disks are clean, and switches itself off. */
import type { SimulatedBmc } from './server.ts'

/** First bytes of the file on the image that is replaced by the answers; it is filled up with blanks. */
const PLACE_HOLDER = '{"groundplane-wipe-answers":1}'
const PLACE_BYTES = 16_384

/** The image as it is before it has answers. */
export function wipeImage(): Buffer {
  const place = Buffer.from(PLACE_HOLDER.padEnd(PLACE_BYTES, ' '))
  return Buffer.concat([Buffer.alloc(32_768, 1), place, Buffer.alloc(32_768, 2)])
}

export interface WipeBehaviour {
  /** Of the disks that it was told to wipe. */
  verified?: boolean
  /** Sends nothing, and stays on. */
  silent?: boolean
}

interface Answers {
  callback: string
  token: string
  disks: string[]
}

/** Answers the report; undefined for an image that is none. */
export async function wipeMachine(
  bmc: SimulatedBmc,
  image: string,
  { verified = true, silent = false }: WipeBehaviour = {},
) {
  const response = await fetch(image)
  const started = wipeReport(Buffer.from(await response.arrayBuffer()), macsOf(bmc), verified)
  if (started === undefined) return undefined
  const { callback, report } = started
  if (silent) return report
  const headers = { 'content-type': 'application/json' }
  await (await fetch(callback, { method: 'POST', headers, body: JSON.stringify(report) })).text()
  bmc.state.power = 'Off'
  bmc.state.version += 1
  return report
}

/** What the machine with these NICs says when it has run the image, and to whom; undefined for an image that is none. */
export function wipeReport(image: Buffer, macs: readonly string[], verified = true) {
  const answers = answersOn(image)
  if (answers === undefined) return undefined
  const report = {
    macs,
    disks: answers.disks.map((serial, index) => ({
      name: `/dev/sd${'abcdefgh'[index] ?? 'z'}`,
      serial,
      wiped: true,
      verified,
      method: 'overwrite',
    })),
    success: 1,
    all_verified: verified ? 1 : 0,
    token: answers.token,
  }
  return { callback: answers.callback, report }
}

/** As in documents.ts. */
export function macsOf({ state }: SimulatedBmc): string[] {
  const middle = state.serial.slice(0, 6).match(/../g)?.join(':') ?? ''
  return [1, 2].map((number) => `02:00:${middle}:0${number}`.toLowerCase())
}

function answersOn(image: Buffer): Answers | undefined {
  const at = image.indexOf('{"callback":')
  if (at === -1) return undefined
  return JSON.parse(
    image
      .subarray(at, at + PLACE_BYTES)
      .toString('utf8')
      .trim(),
  ) as Answers // written by the service for us
}
