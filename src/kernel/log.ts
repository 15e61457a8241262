// Logs: one JSON object a line, fields first, fixed lower-case text, secrets removed by field name in this one place.
import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino'

export type Log = Logger

/** Field names whose values never reach a log, at whatever depth they stand. */
const SECRET_FIELDS: ReadonlySet<string> = new Set([
  'password', 'new_password', 'old_password', 'os_password', 'current_password', 'token', 'access_token', 'id_token',
  'refresh_token', 'ticket', 'secret', 'secret_key', 'client_secret', 'api_key', 'apikey', 'secretkey', 'signature',
  'authorization', 'cookie', 'set-cookie', 'user_data', 'userdata', 'key', 'private_key', 'hook_secret',
  'cluster_secret', 'database_url', 'bind_password', 'csrf_token', 'sessionkey',
]) // biome-ignore format: one list

export interface LogOptions {
  level: string
  destination?: DestinationStream
  /** Values that are blotted out wherever they stand: a subsystem may quote our own key back at us. */
  hide?: readonly string[]
}

export function createLog(options: LogOptions): Log {
  const hidden = (options.hide ?? []).filter((value) => value.length >= SHORTEST_HIDDEN)
  return pino(
    {
      ...(hidden.length === 0 ? {} : { hooks: { streamWrite: (line: string) => without(line, hidden) } }),
      level: options.level,
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }), log: (fields) => withoutSecrets(fields, 0) },
      serializers: { err: (error: Error) => errorChain(error) },
    },
    options.destination ?? pino.destination({ dest: 1, sync: false, minLength: 0 }),
  )
}

/** Blotting out shorter values would tear ordinary words apart. */
const SHORTEST_HIDDEN = 8

function without(line: string, hidden: readonly string[]): string {
  let out = line
  for (const value of hidden) if (out.includes(value)) out = out.replaceAll(value, '[redacted]')
  return out
}

const MAX_DEPTH = 5

/** Copies only where something must be hidden: this is on the path of every request. */
export function withoutSecrets(fields: Record<string, unknown>, depth = 0): Record<string, unknown> {
  let out = fields
  for (const name in fields) {
    const value = fields[name]
    let safe = value
    if (SECRET_FIELDS.has(name) && value !== null && value !== undefined) safe = '[redacted]'
    else if (typeof value === 'object' && value !== null && depth < MAX_DEPTH && !(value instanceof Error)) {
      safe = withoutSecrets(value as Record<string, unknown>, depth + 1)
    }
    if (safe === value) continue
    if (out === fields) out = Array.isArray(fields) ? ([...fields] as never) : { ...fields }
    out[name] = safe
  }
  return out
}

/** The whole chain of causes, so that the public message can stay short (style rule 21). */
function errorChain(error: unknown): unknown {
  if (!(error instanceof Error)) return String(error)
  const { type, message, stack } = stdSerializers.errWithCause(error)
  const extra = error as { code?: unknown; detail?: unknown; operation?: unknown; status?: unknown }
  return {
    type,
    message,
    ...(extra.code === undefined ? {} : { code: extra.code }),
    ...(extra.operation === undefined ? {} : { operation: extra.operation }),
    ...(extra.status === undefined ? {} : { status: extra.status }),
    ...(extra.detail === undefined ? {} : { detail: extra.detail }),
    stack,
    ...(error.cause === undefined ? {} : { cause: errorChain(error.cause) }),
  }
}
