// Clips that the NVR makes while it sends them: passed on as they come, and stopped there as soon as the client leaves.
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import type { BytesAnswer } from '#src/contract/answers.ts'
import type { Frigate } from '#src/drivers/frigate/client.ts'
import { UpstreamError } from '#src/kernel/errors.ts'

const MP4 = 'video/mp4'

/** Undefined: nothing is recorded there. Versions differ in how they say so, and all of them may also send nothing at all. */
export async function openClip(nvr: Frigate, path: string, signal: AbortSignal): Promise<BytesAnswer | undefined> {
  const { statusCode, headers, body } = await nvr.transport.open('clip', path, {
    signal,
    accept: [400, 404],
    timeout_ms: 30_000,
  })
  if (statusCode === 200 && (await hasBytes(body))) {
    if (headers['content-type'] === MP4) return { media_type: MP4, body }
    body.on('error', () => {}).destroy()
    throw new UpstreamError({ upstream: 'NVR', operation: 'clip', failure: 'error', detail: 'the answer is no MP4' })
  }
  body.on('error', () => {}).destroy()
  return undefined
}

/** Waits for the first bytes, which stay in the stream. */
async function hasBytes(body: Readable): Promise<boolean> {
  if (body.readableLength === 0 && !body.readableEnded) await Promise.race([once(body, 'readable'), once(body, 'end')])
  return body.readableLength > 0
}
