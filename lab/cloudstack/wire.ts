/** What stands on the wire: the envelopes of answers and errors, always in JSON. */
import type { ServerResponse } from 'node:http'
import { ApiFault } from './api-fault.ts'
import type { CommandSpec } from './params.ts'
import type { Json } from './row.ts'

/** A finished synchronous answer; jobs are turned into one by the server. */
export type Reply =
  | { kind: 'list'; rows: Json[]; count: number }
  | { kind: 'object'; value: Json }
  | { kind: 'success'; displaytext?: string }
  | { kind: 'inline'; value: { [field: string]: Json | undefined } }

export const list = (rows: Json[], count: number): Reply => ({ kind: 'list', rows, count })
export const object = (value: Json): Reply => ({ kind: 'object', value })
export const success = (displaytext?: string): Reply =>
  displaytext === undefined ? { kind: 'success' } : { kind: 'success', displaytext }
export const inline = (value: { [field: string]: Json | undefined }): Reply => ({ kind: 'inline', value })

export function envelope(spec: CommandSpec, reply: Reply): { [field: string]: Json | undefined } {
  return { [spec.wrapperKey]: content(spec, reply) }
}

function content(spec: CommandSpec, reply: Reply): Json {
  switch (reply.kind) {
    case 'list':
      // Nothing found has no key at all; a page past the end has only the count.
      if (reply.count === 0) return {}
      if (reply.rows.length === 0) return { count: reply.count }
      return { count: reply.count, [spec.responseKey ?? 'result']: reply.rows }
    case 'object':
      return { [spec.responseKey ?? 'result']: reply.value }
    case 'success':
      return { success: true, ...(reply.displaytext === undefined ? {} : { displaytext: reply.displaytext }) }
    case 'inline':
      return reply.value
  }
}

export function errorEnvelope(wrapper: string, fault: ApiFault): { [field: string]: Json | undefined } {
  return {
    [wrapper]: {
      uuidList: fault.uuids,
      errorcode: fault.code,
      ...(fault.cserrorcode === null ? {} : { cserrorcode: fault.cserrorcode }),
      errortext: fault.message,
    },
  }
}

export function asFault(error: unknown): ApiFault {
  if (error instanceof ApiFault) return error
  return new ApiFault(530, error instanceof Error ? error.message : 'Internal error executing command', 4250)
}

export function send(
  response: ServerResponse,
  status: number,
  value: { [field: string]: Json | undefined },
  description?: string,
): void {
  const payload = encode(value)
  const headers: Record<string, string | number> = {
    'content-type': 'application/json;charset=utf-8',
    'content-length': Buffer.byteLength(payload),
    'x-content-type-options': 'nosniff',
  }
  if (description !== undefined) headers['X-Description'] = description.replaceAll(/[^\x20-\x7e]/g, ' ')
  response.writeHead(status, headers)
  response.end(payload)
}

export function encode(value: { [field: string]: Json | undefined }): string {
  return JSON.stringify(withoutNulls(value))
}

/** Null fields are left out of answers. Done in place, because a replacer function costs more than the rest of the answer. */
function withoutNulls(value: { [field: string]: Json | undefined }): { [field: string]: Json | undefined } {
  for (const field of Object.keys(value)) {
    const one = value[field]
    if (one === null) value[field] = undefined
    else if (Array.isArray(one)) for (const each of one) dropInside(each)
    else dropInside(one)
  }
  return value
}

function dropInside(value: Json | undefined): void {
  if (Array.isArray(value)) for (const each of value) dropInside(each)
  else if (typeof value === 'object' && value !== null) withoutNulls(value)
}

/** The server's clock stands in its own zone, and the offset has no colon. */
export function wireDate(time_ms: number): string {
  return `${new Date(time_ms + 2 * 3600 * 1000).toISOString().slice(0, 19)}+0200`
}

export function wireDateOrNull(time_ms: number | null): string | null {
  return time_ms === null ? null : wireDate(time_ms)
}
