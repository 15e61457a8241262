// Reads JSON bodies: what is too large, too deep, has too many members or is no proper text is refused before it costs
// anything. Signed bodies stay bytes until their signature is checked.
import { isUtf8 } from 'node:buffer'
import { promisify } from 'node:util'
import { brotliDecompress, gunzip, inflate } from 'node:zlib'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ApiError } from '../errors.ts'

export const BODY_LIMIT_BYTES = 2 * 1024 * 1024
/** For routes that anybody may call: strangers must not make the service read and parse megabytes. */
export const TOKENLESS_BODY_LIMIT_BYTES = 64 * 1024
const MAX_DEPTH = 64
const MAX_MEMBERS = 20_000

export type ParseBody = (bytes: Buffer) => unknown

/** Answers the function that parses a body; an empty body is no body. */
export function readJsonBodies(app: FastifyInstance): ParseBody {
  const parseText = app.getDefaultJsonParser('error', 'ignore')
  const parse: ParseBody = (bytes) => {
    if (bytes.length === 0) return undefined
    if (!isUtf8(bytes)) throw new ApiError('INVALID_REQUEST', 'The body is not valid UTF-8.')
    checkShape(bytes)
    const text = bytes.toString()
    let parsed: unknown
    void parseText(undefined as never, text, (error, value) => {
      if (error !== null) throw error
      parsed = value
    })
    if (SUSPECT_ESCAPE.test(text)) checkTexts(parsed)
    return parsed
  }
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    readBody(request, body as Buffer, parse).then((value) => done(null, value), done)
  })
  return parse
}

async function readBody(request: FastifyRequest, sent: Buffer, parse: ParseBody): Promise<unknown> {
  const { config, bodyLimit } = request.routeOptions
  const coding = request.headers['content-encoding']
  const bytes = coding === undefined ? sent : await decoded(sent, coding, bodyLimit)
  return config.route?.signed === true ? bytes : parse(bytes)
}

const DECODERS: Record<string, (bytes: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>> = {
  identity: (bytes) => Promise.resolve(bytes),
  gzip: promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
}

/** The limit holds for what comes out, so that a small body cannot unfold into a large one. */
async function decoded(bytes: Buffer, coding: string, maxOutputLength: number): Promise<Buffer> {
  const decode = DECODERS[coding.toLowerCase()]
  if (decode === undefined) {
    const known = Object.keys(DECODERS).join(', ')
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', `Content-Encoding must be one of ${known}.`)
  }
  try {
    return await decode(bytes, { maxOutputLength })
  } catch (error) {
    if ((error as { code?: unknown }).code === 'ERR_BUFFER_TOO_LARGE') throw bodyTooLarge(maxOutputLength)
    throw new ApiError('INVALID_REQUEST', `The body is not valid ${coding}.`, { cause: error })
  }
}

export function bodyTooLarge(limit_bytes: number): ApiError {
  return new ApiError('BODY_TOO_LARGE', `The body is larger than ${limit_bytes / 1024} KiB.`)
}

const [QUOTE, BACKSLASH, COMMA] = [0x22, 0x5c, 0x2c]
const OPENING = new Set([0x7b, 0x5b])
const CLOSING = new Set([0x7d, 0x5d])

/** Counts brackets and commas outside of texts: parsing deep or crowded bodies costs far more than reading them once. */
function checkShape(bytes: Buffer): void {
  let depth = 0
  let members = 0
  let in_text = false
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] as number
    if (in_text) {
      if (byte === BACKSLASH) at += 1
      else if (byte === QUOTE) in_text = false
    } else if (byte === QUOTE) in_text = true
    else if (byte === COMMA) members += 1
    else if (OPENING.has(byte)) {
      depth += 1
      members += 1
      if (depth > MAX_DEPTH) throw tooComplex(`is nested deeper than ${MAX_DEPTH} levels`)
    } else if (CLOSING.has(byte)) depth -= 1
    if (members > MAX_MEMBERS) throw tooComplex(`has more than ${MAX_MEMBERS} members`)
  }
}

function tooComplex(what: string): ApiError {
  return new ApiError('INVALID_REQUEST', `The body ${what}.`)
}

/** A NUL, or half of a pair: the only ways by which valid UTF-8 becomes text that the database cannot keep. */
const SUSPECT_ESCAPE = /\\u(?:0000|[dD][89a-fA-F])/
/** Of the path, the query or the body. */
export function nulIn(part: string): ApiError {
  return new ApiError('INVALID_REQUEST', `The ${part} contains a NUL character, which no field accepts.`)
}

function checkTexts(value: unknown): void {
  if (typeof value === 'string') checkText(value)
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value)) {
    checkText(name)
    checkTexts(member)
  }
}

function checkText(text: string): void {
  if (text.includes('\0')) throw nulIn('body')
  if (!text.isWellFormed()) {
    throw new ApiError('INVALID_REQUEST', 'The body contains half of a surrogate pair, which is no character.')
  }
}
