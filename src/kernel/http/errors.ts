// Turns any error into the answer a caller gets. The only place that decides statuses.
import { type Area, isTokenless, type RouteSpec } from '#src/contract/route.ts'
import { ERRORS } from '#src/contract/errors.ts'
import type { FailureEnvelope, FieldError, Problem } from '#src/contract/problem.ts'
import { ApiError, mapUpstreamError, UpstreamError } from '../errors.ts'
import { BODY_LIMIT_BYTES, bodyTooLarge, TOKENLESS_BODY_LIMIT_BYTES } from './body.ts'
import type { Caller } from './context.ts'
import { fieldErrors, MAX_FIELD_ERRORS } from './validation.ts'

export interface ErrorAnswer {
  status: number
  media_type: string
  body: Problem | FailureEnvelope
  retry_after_s: number | undefined
  /** The error as thrown by us; what was hidden from the caller is in its cause. */
  error: ApiError
}

/** Where the error happened: without a route (unknown path), the general rules hold. */
export interface ErrorPlace {
  area: Pick<Area, 'errors' | 'upstream_status' | 'invalid_request'>
  route: RouteSpec | undefined
  path: string
  request_id: string
  caller: Caller
}

export function errorAnswer(thrown: unknown, place: ErrorPlace): ErrorAnswer {
  const error = inWordsOf(place.area, asApiError(thrown, place.caller.tenant_id, place.route))
  const status = statusOf(error, place)
  const envelope = place.area.errors === 'envelope'
  const common = {
    code: error.code,
    request_id: place.request_id,
    ...(error.errors === undefined ? {} : { errors: error.errors.slice(0, MAX_FIELD_ERRORS).map(clippedField) }),
    ...(error.upstream_message === undefined || !runsThePlatform(place.caller)
      ? {}
      : { upstream_message: clipped(error.upstream_message, LONGEST_DETAIL) }),
  }
  const body: Problem | FailureEnvelope = envelope
    ? { success: false, message: clipped(error.message, LONGEST_DETAIL), ...common }
    : {
        type: `urn:groundplane:error:${error.code}`,
        title: ERRORS[error.code].title,
        status,
        detail: clipped(error.message, LONGEST_DETAIL),
        instance: clipped(place.path, LONGEST_DETAIL),
        ...common,
      }
  return {
    status,
    media_type: envelope ? 'application/json; charset=utf-8' : 'application/problem+json; charset=utf-8',
    body,
    retry_after_s: error.retry_after_s,
    error,
  }
}

/** An area may have a documented code of its own for requests that are not valid. */
function inWordsOf({ invalid_request }: ErrorPlace['area'], error: ApiError): ApiError {
  if (error.code !== 'INVALID_REQUEST' || invalid_request === undefined) return error
  const { message, errors, cause } = error
  return new ApiError(invalid_request, message, { cause, ...(errors === undefined ? {} : { errors }) })
}

/** Names and values of the request come back in errors: however long they are, the answer stays below 64 KiB. */
const [LONGEST_PATH, LONGEST_MESSAGE, LONGEST_DETAIL] = [100, 1500, 2000]

function clippedField({ path, message }: FieldError): FieldError {
  return { path: clipped(path, LONGEST_PATH), message: clipped(message, LONGEST_MESSAGE) }
}

function clipped(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest).toWellFormed()}…`
}

/**
 * A thing that does not exist is 404 where the route lists it, else 400; a conflict is 409 where listed, else 400; an
 * upstream failure is 502 under /cam where the route lists it, else 500. All with the same code (api-conventions.md, Errors).
 */
function statusOf(error: ApiError, place: ErrorPlace): number {
  const { status } = ERRORS[error.code]
  const { route } = place
  if (status === 'upstream') return route?.errors.includes(502) === false ? 500 : place.area.upstream_status
  if (route === undefined) return status
  const general = [401, 403, 416, 426, 429, 500].includes(status) || error.code.startsWith('IDEMPOTENCY_')
  if (general || route.errors.includes(status)) return status
  return status < 500 ? 400 : 500
}

/** Whether a caller may read what a subsystem itself said: it may name what belongs to other tenants. */
export function runsThePlatform({ role, tenant_id }: Caller): boolean {
  return tenant_id === null && (role === 'admin' || role === 'operator')
}

/** `tenant_id`: whose callers will read it; null: operators alone. */
export function asApiError(thrown: unknown, tenant_id: string | null, route?: RouteSpec): ApiError {
  if (thrown instanceof ApiError) return thrown
  if (thrown instanceof UpstreamError) return mapUpstreamError(thrown, tenant_id)
  return fastifyError(thrown, route) ?? new ApiError('INTERNAL_ERROR', undefined, { cause: thrown })
}

/** Errors that the HTTP server itself raises while it reads a request. */
function fastifyError(thrown: unknown, route: RouteSpec | undefined): ApiError | undefined {
  if (!(thrown instanceof Error)) return undefined
  const { code, validation, validationContext, statusCode } = thrown as {
    code?: unknown
    validation?: Parameters<typeof fieldErrors>[0]
    validationContext?: string
    statusCode?: unknown
  }
  if (validation !== undefined) return invalid(fieldErrors(validation, validationContext ?? 'body'))
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    return bodyTooLarge(route !== undefined && isTokenless(route) ? TOKENLESS_BODY_LIMIT_BYTES : BODY_LIMIT_BYTES)
  }
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return new ApiError('UNSUPPORTED_MEDIA_TYPE', 'Send the body as application/json.')
  }
  if (statusCode === 400) return new ApiError('INVALID_REQUEST', `The request cannot be read: ${thrown.message}`)
  return undefined
}

function invalid(errors: FieldError[]): ApiError {
  const detail = errors.map((error) => `${error.path} ${error.message}`).join('; ')
  return new ApiError('INVALID_REQUEST', `${detail}.`, { errors })
}
