// Logs: one JSON object a line, fields first, fixed lower-case text, secrets removed by field name in this one place.
import { type DestinationStream, type Logger, pino, stdSerializers } from 'pino'

export type Log = Logger

/** Field names whose values never reach a log, at the top and one level down. */
const SECRET_FIELDS = [
  'password', 'new_password', 'old_password', 'os_password', 'token', 'access_token', 'id_token', 'refresh_token',
  'ticket', 'secret', 'secret_key', 'client_secret', 'api_key', 'apikey', 'signature', 'authorization', 'cookie',
  'set-cookie', 'user_data', 'userdata', 'key', 'private_key', 'hook_secret', 'cluster_secret', 'database_url',
] // biome-ignore format: one list

export function createLog(options: { level: string; destination?: DestinationStream }): Log {
  const paths = SECRET_FIELDS.flatMap((name) => [`["${name}"]`, `*["${name}"]`])
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths, censor: '[redacted]' },
      serializers: { err: (error: Error) => errorChain(error) },
    },
    options.destination ?? pino.destination({ dest: 1, sync: false, minLength: 0 }),
  )
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
