// What can go wrong, the exit code it ends the program with, and the lines a person reads about it.
import { ClientError } from '#src/contract/client.ts'
import { ERRORS, type ErrorCode } from '#src/contract/errors.ts'
import { oneLine } from './terminal.ts'

export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  forbidden: 3,
  not_found: 4,
  conflict: 5,
  server: 6,
  unreachable: 7,
  still_running: 8,
  interrupted: 130,
} as const

/** The command line itself is wrong. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** A name that stands for no thing, or for several. */
export class NameError extends Error {
  override readonly name = 'NameError'
  readonly exit_code: number
  constructor(message: string, exit_code: number) {
    super(message)
    this.exit_code = exit_code
  }
}

/** No answer came: not connected, connection lost, or too late. `sent` false: the request never reached the service. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError'
  readonly reason: 'refused' | 'lost' | 'timeout'
  constructor(message: string, reason: 'refused' | 'lost' | 'timeout', cause: unknown) {
    super(message, { cause })
    this.reason = reason
  }
}

/** A job that was waited for ended badly, or not in time. */
export class JobError extends Error {
  override readonly name = 'JobError'
  readonly exit_code: number
  readonly lines: readonly string[]
  constructor(message: string, exit_code: number, lines: readonly string[] = []) {
    super(message)
    this.exit_code = exit_code
    this.lines = lines
  }
}

export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError) return EXIT.usage
  if (error instanceof NameError || error instanceof JobError) return error.exit_code
  if (error instanceof ConnectionError) return EXIT.unreachable
  if (error instanceof ClientError) return codeOfStatus(meantStatus(error), error.code)
  if (isInterrupt(error)) return EXIT.interrupted
  return EXIT.failed
}

function isInterrupt(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError'
}

/** A route that does not list 404 or 409 answers 400 with the code of either: the code says what was meant. */
function meantStatus(error: ClientError): number {
  if (error.status !== 400 || !isErrorCode(error.code)) return error.status
  const { status } = ERRORS[error.code]
  return typeof status === 'number' ? status : error.status
}

function isErrorCode(code: string): code is ErrorCode {
  return Object.hasOwn(ERRORS, code)
}

function codeOfStatus(status: number, code: string): number {
  if (status === 401 || status === 403) return EXIT.forbidden
  if (status === 404 || code.endsWith('_NOT_FOUND')) return EXIT.not_found
  if (status === 409) return EXIT.conflict
  if (status === 429 || status >= 500) return EXIT.server
  return code === 'INVALID_REQUEST' ? EXIT.usage : EXIT.failed
}

/** `fieldFlag` turns the path of a field (`body.name`) into the option that sets it. */
export function failureLines(
  error: unknown,
  fieldFlag: (path: string) => string | undefined = () => undefined,
): string[] {
  if (isInterrupt(error)) return []
  if (error instanceof ClientError) return problemLines(error, fieldFlag)
  const message = error instanceof Error ? error.message : String(error)
  const lines = [`error: ${message.split('\n').map(oneLine).join('\n  ')}`]
  if (error instanceof JobError) lines.push(...error.lines.map((line) => `  ${oneLine(line)}`))
  return lines
}

function problemLines(error: ClientError, fieldFlag: (path: string) => string | undefined): string[] {
  const { problem, status, code } = error
  const fields = Array.isArray(problem.errors) ? problem.errors : []
  const field_lines = fields.map(({ path, message }) => {
    const flag = fieldFlag(path)
    return `${oneLine(path)}${flag === undefined ? '' : ` (${flag})`}: ${oneLine(message)}`
  })
  const [only, ...more] = fields
  // The sentence of one field is the whole message then.
  const is_all = only !== undefined && more.length === 0 && error.message === `${only.path}: ${only.message}`
  const lines = is_all
    ? field_lines.map((line) => `error: ${line}`)
    : [`error: ${oneLine(error.message)}`, ...field_lines.map((line) => `  ${line}`)]
  lines.push(...upstreamLines(problem.upstream_message).map((line) => `  ${oneLine(line)}`))
  if (status === 401) lines.push('  Sign in with: groundplane login URL')
  const request = problem.request_id === undefined ? '' : `, request ${oneLine(String(problem.request_id))}`
  lines.push(`  ${oneLine(code)} (status ${status}${request})`)
  return lines
}

/** What a subsystem itself said, where the caller may read it. */
export function upstreamLines(message: unknown): string[] {
  return typeof message === 'string' && message !== '' ? [`the subsystem itself says: ${message}`] : []
}
