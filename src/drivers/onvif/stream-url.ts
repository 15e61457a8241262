// Stream URLs with the login inside, in the one form that relays and ffmpeg understand.
import { isIPv6 } from 'node:net'
import type { Login } from './http-digest.ts'

const URL_FORM =
  /^(rtsps?|https?):\/\/(?:[^/?#]*@)?(\[[^\]\s]*\]|[^:/?#\s@]*)(?::(\d{1,5}))?([/?][^#\s\p{Cc}]*)?(?:#.*)?$/iu

export interface StreamUrl {
  scheme: string
  host: string
  port: number | undefined
  /** Path and query, unchanged. */
  path: string
}

/** Undefined: no URL of a stream. A login that it has is left out, as is a fragment: a relay would read options from it. */
export function parseStreamUrl(text: string): StreamUrl | undefined {
  const [, scheme, host, port, path = ''] = URL_FORM.exec(text.trim()) ?? []
  if (scheme === undefined || host === undefined || host === '' || Number(port ?? 1) > 65_535) return undefined
  return {
    scheme: scheme.toLowerCase(),
    host: host.replace(/^\[|\]$/g, ''),
    port: port === undefined ? undefined : Number(port),
    path,
  }
}

/**
 * The URL that a camera gave, on the address that was probed: what it says of its own host is often wrong, and the login must
 * reach nobody else.
 */
export function streamUrlOf(text: string, ip: string, login: Login): string | undefined {
  const url = parseStreamUrl(text)
  if (url === undefined || !url.scheme.startsWith('rtsp')) return undefined
  return streamUrlText({ ...url, host: ip }, login)
}

export function streamUrlText({ scheme, host, port, path }: StreamUrl, login?: Login): string {
  const user = login === undefined ? '' : `${percentEncoded(login.username)}:${percentEncoded(login.password)}@`
  return `${scheme}://${user}${isIPv6(host) ? `[${host}]` : host}${port === undefined ? '' : `:${port}`}${path}`
}

/** Everything but letters, digits and `-._~`. */
export function percentEncoded(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}
