// Whether a browser sent a request from a page of ours. Programs send neither header and pass.
import type { IncomingHttpHeaders } from 'node:http'
import { ApiError } from '#src/kernel/errors.ts'

export function requireSameOrigin(headers: IncomingHttpHeaders, public_url: string | undefined): void {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin' && site !== 'none') {
    throw new ApiError('CSRF_REJECTED', 'The request comes from a page of another site.')
  }
  const { origin, host } = headers
  if (origin === undefined) return
  const ours = public_url === undefined ? undefined : new URL(public_url).origin
  if (origin !== ours && hostOf(origin) !== host) {
    throw new ApiError('CSRF_REJECTED', 'The Origin of the request is not this service.')
  }
}

function hostOf(origin: string): string | undefined {
  return URL.parse(origin)?.host
}
