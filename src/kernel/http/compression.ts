// Long answers are compressed on their way for callers who accept that: a list of thousands of machines crosses slow lines, too.
import { Readable } from 'node:stream'
import { constants, createBrotliCompress, createGzip } from 'node:zlib'
import type { FastifyInstance } from 'fastify'

/** Below this the header and the work cost more than the bytes that are saved. */
const THRESHOLD_BYTES = 8 * 1024
/** JSON, problem documents, and the pages and scripts of the reference. What is compressed already (JPEG, MP4) is not text. */
const TEXT = /^(application\/(?:[\w.-]+\+)?json|text\/(?!event-stream))/
/** Higher levels cost two or three times the processor time for a twentieth of the bytes. */
const BROTLI_QUALITY = 1
const GZIP_LEVEL = 1
/** Each piece is a turn of the event loop; most lists are one. */
const PIECE_BYTES = 128 * 1024

/** Streams (SSE, resources of subsystems), ranges and what is compressed already pass as they are. */
export function compressLongAnswers(app: FastifyInstance): void {
  app.addHook('onSend', (request, reply, payload, done) => {
    const length = typeof payload === 'string' || Buffer.isBuffer(payload) ? Buffer.byteLength(payload) : 0
    const is_text = TEXT.test(String(reply.getHeader('content-type') ?? ''))
    if (length < THRESHOLD_BYTES || !is_text || reply.statusCode === 206 || reply.hasHeader('content-encoding'))
      return done(null, payload)
    reply.header('vary', 'accept-encoding')
    const encoding = acceptedEncoding(request.headers['accept-encoding'])
    if (encoding === undefined || request.method === 'HEAD') return done(null, payload)
    reply.header('content-encoding', encoding).removeHeader('content-length')
    const compress =
      encoding === 'br'
        ? createBrotliCompress({ chunkSize: PIECE_BYTES, params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } })
        : createGzip({ chunkSize: PIECE_BYTES, level: GZIP_LEVEL })
    // One piece: Readable.from would send a string character by character.
    return done(null, Readable.from([payload]).pipe(compress))
  })
}

/** Brotli before gzip, whichever the caller names first; a quality of 0 means never (RFC 9110, 12.5.3). */
export function acceptedEncoding(header: string | string[] | undefined): 'br' | 'gzip' | undefined {
  const accepted = String(header ?? '')
    .split(',')
    .map((one) => one.trim().toLowerCase())
    .filter((one) => !/;\s*q=0(\.0*)?$/.test(one))
    .map((one) => one.split(';')[0]?.trim())
  return (['br', 'gzip'] as const).find((encoding) => accepted.includes(encoding))
}
