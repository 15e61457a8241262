// What is changed on the NVR. Each may be sent twice. What the NVR says no to is an answer here, and not a failure.
import { UpstreamError } from '#src/kernel/errors.ts'
import { MessageAnswer, reader } from './shapes.ts'
import { type CameraSwitch, publishSwitch } from './switches.ts'
import type { NvrRequest, NvrTransport } from './transport.ts'

const readMessage = reader(MessageAnswer)
/** The NVR parses its whole configuration, and may open streams to learn their size. */
const CONFIG_TIMEOUT_MS = 60_000
const UPLOAD_TIMEOUT_MS = 60_000
const [BAD_REQUEST, NOT_FOUND, UNPROCESSABLE] = [400, 404, 422]

/** `words`: the NVR's own, for the log and for what they are known to mean. */
export type Written = { done: true } | { done: false; status: number; words: string }

export type FrigateWrites = ReturnType<typeof writesOf>

export function writesOf(transport: NvrTransport) {
  const write = async (operation: string, path: string, request: NvrRequest): Promise<Written> => {
    const { status, bytes } = await transport.call(operation, path, {
      method: 'POST',
      accept: [BAD_REQUEST, NOT_FOUND, UNPROCESSABLE],
      ...request,
    })
    if (status === 200) {
      // The status counts, not `success`; but it must be the NVR that says it.
      readMessage(operation, bytes)
      return { done: true }
    }
    return { done: false, status, words: wordsOf(operation, bytes) }
  }
  return {
    /** False: the NVR did not confirm it, which is how it says no. */
    setSwitch: (camera: string, name: CameraSwitch, enabled: boolean, signal: AbortSignal) =>
      publishSwitch(transport, camera, name, enabled, signal),
    /** Into the configuration file; it holds after a restart. Values are literals of Python. */
    setRecord: (camera: string, enabled: boolean, signal: AbortSignal) =>
      write('config/set', '/api/config/set', {
        method: 'PUT',
        query: { [`cameras.${camera}.record.enabled`]: enabled ? 'True' : 'False' },
        body: { requires_restart: 1 },
        timeout_ms: CONFIG_TIMEOUT_MS,
        signal,
      }),
    /** The answer may be lost, because the NVR ends itself: whoever waits for it to be back finds out. */
    async restart(signal: AbortSignal): Promise<void> {
      try {
        await transport.call('restart', '/api/restart', { method: 'POST', signal })
      } catch (error) {
        if (!(error instanceof UpstreamError) || error.failure === 'error') throw error
      }
    },
    setViewed: (ids: readonly string[], reviewed: boolean, signal: AbortSignal) =>
      write('reviews/viewed', '/api/reviews/viewed', { body: { ids, reviewed }, signal }),
    /** The only way of versions before 0.17 to mark one as not viewed. */
    setUnviewed: (id: string, signal: AbortSignal) =>
      write('review/viewed', `/api/review/${id}/viewed`, { method: 'DELETE', signal }),
    createPerson: (name: string, signal: AbortSignal) =>
      write('faces/create', `/api/faces/${encodeURIComponent(name)}/create`, { signal }),
    classifyFace: (name: string, training_file: string, signal: AbortSignal) =>
      write('faces/classify', `/api/faces/train/${encodeURIComponent(name)}/classify`, {
        body: { training_file },
        signal,
      }),
    async registerFace(name: string, image: Buffer, media_type: string, signal: AbortSignal): Promise<Written> {
      const form = new FormData()
      form.set('file', new Blob([new Uint8Array(image)], { type: media_type }), 'face')
      const encoded = new Response(form)
      return write('faces/register', `/api/faces/${encodeURIComponent(name)}/register`, {
        body: new Uint8Array(await encoded.arrayBuffer()),
        content_type: encoded.headers.get('content-type') ?? '',
        timeout_ms: UPLOAD_TIMEOUT_MS,
        signal,
      })
    },
  }
}

function wordsOf(operation: string, bytes: Buffer): string {
  try {
    return readMessage(operation, bytes).message
  } catch {
    return ''
  }
}
