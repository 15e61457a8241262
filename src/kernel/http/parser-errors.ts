// Answers to what is no HTTP: the parser gives up before there is a request, so the answer is written to the socket.
import { randomUUIDv7 } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { ApiError } from '../errors.ts'
import type { Log } from '../log.ts'
import { ANONYMOUS } from './context.ts'
import { errorAnswer } from './errors.ts'

interface ParserFault extends Error {
  code?: string
}

export function answerParserErrors(log: Log, headers: Record<string, string>) {
  return (fault: ParserFault, socket: Socket): void => {
    if (fault.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
      return
    }
    const request_id = randomUUIDv7()
    const { status, sentence } = SENTENCES[fault.code ?? ''] ?? {
      status: 400,
      sentence: 'This is no valid HTTP request.',
    }
    const place = {
      area: { errors: 'problem', upstream_status: 500 },
      route: undefined,
      path: '/',
      request_id,
      caller: ANONYMOUS,
    } as const
    const answer = errorAnswer(new ApiError('INVALID_REQUEST', sentence), place)
    const body = JSON.stringify({ ...answer.body, status })
    const lines = Object.entries({
      ...headers,
      'x-request-id': request_id,
      'content-type': answer.media_type,
      'content-length': String(Buffer.byteLength(body)),
      connection: 'close',
    }).map(([name, value]) => `${name}: ${value}\r\n`)
    log.info({ request_id, status, code: fault.code, from: socket.remoteAddress }, 'unreadable request')
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`)
  }
}

const SENTENCES: Record<string, { status: number; sentence: string }> = {
  HPE_HEADER_OVERFLOW: { status: 431, sentence: 'The headers and the address are larger than 16 KiB together.' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, sentence: 'The request did not arrive as a whole within its time.' },
}
