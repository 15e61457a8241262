// The errors the service throws on purpose: ApiError speaks to the caller, UpstreamError reports a subsystem.
import { ERRORS, type ErrorCode, type Subsystem } from '#src/contract/errors.ts'
import type { FieldError } from '#src/contract/problem.ts'

export interface ApiErrorOptions {
  cause?: unknown
  errors?: FieldError[]
  /** Sent as Retry-After. */
  retry_after_s?: number
  /** An upstream's own sentence, cleaned: only callers who run the platform see it (api-conventions.md, Errors). */
  upstream_message?: string | undefined
}

/** Answers the caller with a code of the error table. The message is public; what must stay inside goes into `cause`. */
export class ApiError extends Error {
  readonly code: ErrorCode
  readonly errors: FieldError[] | undefined
  readonly retry_after_s: number | undefined
  readonly upstream_message: string | undefined
  constructor(code: ErrorCode, message?: string, options: ApiErrorOptions = {}) {
    super(message ?? ERRORS[code].title, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'ApiError'
    this.code = code
    this.errors = options.errors
    this.retry_after_s = options.retry_after_s
    this.upstream_message = options.upstream_message
  }
}

/** 400 with the one field that is wrong. */
export function invalidField(path: string, message: string): ApiError {
  return new ApiError('INVALID_REQUEST', `${path}: ${message}`, { errors: [{ path, message }] })
}

/** How a call to a subsystem failed. */
export type UpstreamFailure = 'unavailable' | 'timeout' | 'error' | 'not_configured'

export interface UpstreamErrorOptions {
  /** Neutral word for the subsystem; the upstream's own name never leaves the log. */
  upstream: Subsystem
  operation: string
  failure: UpstreamFailure
  /** Status or code the upstream gave, when it gave one. */
  status?: number
  /** The upstream's own text: for the log, and for the driver's mapping; never shown as it is. */
  detail?: string
  /** Whether the same call may succeed when repeated, and may be repeated without harm. */
  retryable?: boolean
  cause?: unknown
}

/** What an upstream's error means to the caller. */
export interface ErrorMeaning {
  code: ErrorCode
  message: string
  /** The upstream's own sentence, without secrets and inner addresses. */
  upstream_message?: string
}

/** The only error a driver throws. A driver that can read its upstream's texts throws a class that says what they mean. */
export class UpstreamError extends Error {
  readonly upstream: Subsystem
  readonly operation: string
  readonly failure: UpstreamFailure
  readonly status: number | undefined
  readonly detail: string | undefined
  readonly retryable: boolean
  constructor(options: UpstreamErrorOptions) {
    super(
      `${options.upstream} ${options.operation}: ${options.failure}${options.status === undefined ? '' : ` (${options.status})`}`,
      options.cause === undefined ? undefined : { cause: options.cause },
    )
    this.name = 'UpstreamError'
    this.upstream = options.upstream
    this.operation = options.operation
    this.failure = options.failure
    this.status = options.status
    this.detail = options.detail
    this.retryable = options.retryable ?? false
  }

  /** Undefined: no more can be said than how the call failed. `tenant_id`: whose callers will read it; null: operators alone. */
  meaning(_tenant_id: string | null): ErrorMeaning | undefined {
    return undefined
  }
}

const PUBLIC_SENTENCE: Record<UpstreamFailure, string> = {
  unavailable: 'cannot be reached at the moment; nothing is known about the outcome unless the answer says so',
  timeout: 'did not answer in time',
  error: 'failed; the log has its own words under this request id',
  not_configured: 'is not configured',
}

const WORDS: Partial<Record<Subsystem, string>> = {
  COMPUTE: 'compute platform',
  NVR: 'NVR',
  CLUSTERSTORE: 'distributed store',
}

/** A database that restarts or changes its primary is back within seconds. */
const STORE_RETRY_AFTER_S = 5

/**
 * The one place where an upstream's error becomes ours: what its driver reads in it, else `<SUBSYSTEM>_UNAVAILABLE`,
 * `_TIMEOUT`, `_ERROR` or `_NOT_CONFIGURED`.
 */
export function mapUpstreamError(error: UpstreamError, tenant_id: string | null): ApiError {
  const meaning = error.meaning(tenant_id)
  if (meaning === undefined) return generalError(error)
  const { code, message, upstream_message } = meaning
  return new ApiError(code, message, { cause: error, upstream_message })
}

function generalError(error: UpstreamError): ApiError {
  const code = `${error.upstream}_${error.failure.toUpperCase()}` as ErrorCode
  const word = WORDS[error.upstream] ?? `${error.upstream.toLowerCase()} subsystem`
  const sentence =
    error.failure === 'not_configured' && error.detail !== undefined
      ? `${PUBLIC_SENTENCE.not_configured}: ${error.detail}`
      : PUBLIC_SENTENCE[error.failure]
  const passing = error.upstream === 'STORE' ? { retry_after_s: STORE_RETRY_AFTER_S } : {}
  return new ApiError(code, `The ${word} ${sentence}.`, { cause: error, ...passing })
}
