// Reads forms with one file (multipart/form-data): the limit of the file holds while it arrives, so no upload takes more
// memory than that, and whoever sends too much gets an answer all the same.
import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { RouteSpec, UploadedFile } from '#src/contract/route.ts'
import { ApiError, invalidField } from '../errors.ts'

/** Its bytes are no member, so that they are part of no log line, and a request is compared by their hash. */
class FormFile implements UploadedFile {
  readonly filename: string
  readonly media_type: string
  readonly sha256: string
  readonly #bytes: Buffer
  constructor(filename: string, media_type: string, bytes: Buffer) {
    this.filename = filename
    this.media_type = media_type
    this.sha256 = hash('sha256', bytes)
    this.#bytes = bytes
  }

  get bytes(): Buffer {
    return this.#bytes
  }
}

/** The members of the form that the contract names, each a file. */
type Form = Record<string, UploadedFile>

/** Boundaries and headers around the file. */
const FRAME_BYTES = 16 * 1024
/** So much more is read and thrown away after an upload was refused; a client that reads its answer has stopped by then. */
const MAX_DISCARDED_BYTES = 32 * 1024 * 1024
const FORM = 'multipart/form-data'

export function readUploads(app: FastifyInstance): void {
  app.addContentTypeParser(FORM, async (request: FastifyRequest, payload: IncomingMessage) => {
    const { route } = request.routeOptions.config
    if (route?.kind !== 'multipart') throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'Send the body as application/json.')
    // What fails in here would be answered with the end of the connection, which takes the answer with it.
    return readForm(request, payload, fileFields(route)).then(
      (form): Read => ({ form }),
      (problem: unknown): Read => ({ problem }),
    )
  })
  app.addHook('onRequest', (request, reply, done) => {
    if (request.headers['content-type']?.startsWith(FORM) === true) lingerForAnswer(request, reply)
    done()
  })
}

/** What the parser leaves for the handler. */
type Read = { form: Form } | { problem: unknown }

/** What a route of kind `multipart` was sent. */
export function uploadedForm(body: unknown): Form {
  const is_read = typeof body === 'object' && body !== null
  if (is_read && 'form' in body) return body.form as Form
  if (is_read && 'problem' in body) throw body.problem
  throw new ApiError('UNSUPPORTED_MEDIA_TYPE', `Send the body as ${FORM}.`)
}

interface FileField {
  name: string
  max_bytes: number
}

function fileFields(route: RouteSpec): FileField[] {
  const { properties = {} } = (route.body ?? {}) as { properties?: Record<string, { 'x-max-bytes'?: number }> }
  return Object.entries(properties).map(([name, field]) => ({ name, max_bytes: field['x-max-bytes'] ?? 0 }))
}

async function readForm(
  { headers }: FastifyRequest,
  payload: IncomingMessage,
  files: readonly FileField[],
): Promise<Form> {
  if (headers['content-encoding'] !== undefined)
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'Send the form without Content-Encoding.')
  const limit = files.reduce((sum, { max_bytes }) => sum + max_bytes, 0)
  const bytes = await readBounded(payload, limit + FRAME_BYTES, Number(headers['content-length'] ?? 0))
  if (bytes === undefined) throw tooLarge(limit)
  return parseForm(bytes, headers['content-type'] ?? '', files)
}

/** Undefined: there is more than the limit, which is not read. */
async function readBounded(payload: IncomingMessage, limit: number, announced: number): Promise<Buffer | undefined> {
  if (announced > limit) return undefined
  const chunks: Buffer[] = []
  let length = 0
  // A stream that is left by `break` would be destroyed, and its connection with it.
  for await (const chunk of payload.iterator({ destroyOnReturn: false })) {
    length += (chunk as Buffer).length
    if (length > limit) return undefined
    chunks.push(chunk as Buffer)
  }
  return Buffer.concat(chunks, length)
}

async function parseForm(bytes: Buffer, content_type: string, fields: readonly FileField[]): Promise<Form> {
  let form: FormData
  try {
    form = await new Response(new Uint8Array(bytes), { headers: { 'content-type': content_type } }).formData()
  } catch (cause) {
    throw new ApiError('INVALID_REQUEST', `The body cannot be read as ${FORM}.`, { cause })
  }
  for (const name of form.keys()) {
    if (!fields.some((field) => field.name === name)) throw invalidField(`body.${name}`, 'is not known')
  }
  const files = fields.map(async ({ name, max_bytes }) => {
    const [file, ...more] = form.getAll(name)
    if (!(file instanceof File) || more.length > 0) throw invalidField(`body.${name}`, 'must be one file')
    if (file.size > max_bytes) throw tooLarge(max_bytes)
    return [name, new FormFile(file.name, file.type, Buffer.from(await file.arrayBuffer()))] as const
  })
  return Object.fromEntries(await Promise.all(files))
}

function tooLarge(limit: number): ApiError {
  return new ApiError('FILE_TOO_LARGE', `The file is larger than ${limit / 1024 / 1024} MiB.`)
}

/**
 * A client that still sends while it is answered must be read on, or its connection breaks before it reads the answer. It is read
 * to its end, or to the end that is set here; only then the connection ends, if the client asked for that.
 */
function lingerForAnswer({ raw }: FastifyRequest, reply: FastifyReply): void {
  const asks_to_close = raw.httpVersion === '1.0' || raw.headers.connection?.toLowerCase() === 'close'
  const leave = (): void => void (asks_to_close && raw.socket.end())
  reply.header('connection', 'keep-alive')
  reply.raw.once('finish', () => {
    if (raw.complete) return leave()
    let discarded = 0
    raw.once('end', leave)
    raw.on('data', (chunk: Buffer) => {
      discarded += chunk.length
      if (discarded > MAX_DISCARDED_BYTES) raw.destroy()
    })
    raw.resume()
  })
}
