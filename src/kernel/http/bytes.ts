// Sends bytes of our own: whole, the one range that was asked for (RFC 9110, 14), or not again when the client has them.
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { BytesAnswer } from '#src/contract/answers.ts'
import type { RouteSpec } from '#src/contract/route.ts'
import { ApiError } from '../errors.ts'

export function sendBytes(
  answer: BytesAnswer,
  route: RouteSpec,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  if (answer.headers !== undefined) reply.headers(answer.headers)
  reply.code(answer.status ?? 200).type(answer.media_type)
  const { body } = answer
  if (304 in route.ok && isText(body)) {
    // Weak, because the same text may travel compressed or not.
    const tag = `W/"${createHash('sha256').update(body).digest('base64url')}"`
    reply.header('etag', tag)
    if (has(request, tag)) return reply.code(304).send()
  }
  // Nobody reads it, and what makes it would go on.
  if (request.method === 'HEAD' && body instanceof Readable) {
    body.on('error', () => {}).destroy()
    return reply.send()
  }
  // Of a stream the length is not known.
  if (!(206 in route.ok) || !isText(body)) return reply.send(body)
  reply.header('accept-ranges', 'bytes')
  const bytes = Buffer.from(body as Buffer)
  const range = wantedRange(request, bytes.length)
  if (range === undefined) return reply.send(bytes)
  if (range === 'outside') {
    reply.header('content-range', `bytes */${bytes.length}`)
    throw new ApiError('RANGE_NOT_SATISFIABLE', `Range: the resource has ${bytes.length} bytes.`)
  }
  const { from, to } = range
  reply.code(206).header('content-range', `bytes ${from}-${to}/${bytes.length}`)
  return reply.send(bytes.subarray(from, to + 1))
}

function isText(body: BytesAnswer['body']): body is string | Buffer {
  return typeof body === 'string' || Buffer.isBuffer(body)
}

function has({ headers }: FastifyRequest, tag: string): boolean {
  const known = (headers['if-none-match'] ?? '').split(',').map((one) => one.trim())
  return known.includes(tag) || known.includes('*')
}

/** Undefined: all of it. Several ranges, other units and what cannot be read are ignored, as the standard allows. */
function wantedRange(
  { method, headers }: FastifyRequest,
  length: number,
): { from: number; to: number } | 'outside' | undefined {
  const [, first, last] = /^bytes=(\d*)-(\d*)$/.exec(headers.range ?? '') ?? []
  // Without a validator of ours, nobody can say whether the part that a client has is of the same bytes.
  if (method !== 'GET' || headers['if-range'] !== undefined || first === undefined || last === undefined)
    return undefined
  if (first === '' && last === '') return undefined
  const from = first === '' ? Math.max(0, length - Number(last)) : Number(first)
  const to = first === '' || last === '' ? length - 1 : Math.min(Number(last), length - 1)
  if (first !== '' && last !== '' && Number(last) < from) return undefined
  return from >= length ? 'outside' : { from, to }
}
