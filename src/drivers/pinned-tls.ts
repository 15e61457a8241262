// TLS to devices with certificates of their own making. The certificate is checked on the bare socket, before a byte of HTTP, and
// with it the credentials, is written.
import type { X509Certificate } from 'node:crypto'
import type { SecureContext, TLSSocket } from 'node:tls'
import { buildConnector } from 'undici'

export interface SeenCertificate {
  /** SHA-256, hexadecimal with colons. */
  fingerprint: string
  subject: string
  issuer: string
  valid_from: string
  valid_to: string
}

/** How the certificate is judged. */
export type TlsPolicy =
  /** `pin` answers the fingerprint that counts, having stored this one when there was none. */
  { mode: 'pin'; pin(seen: SeenCertificate): Promise<string> } | { mode: 'ca'; ca: string } | { mode: 'insecure' }

export interface PinnedOptions {
  tls: TlsPolicy
  /** Shared by all connections: one of its own costs each of them more than all the rest. */
  secure_context?: SecureContext | undefined
  /** The device in sentences: `BMC`. */
  device: string
  /** The error of a certificate that is not accepted. */
  errorOf(sentence: string): Error
}

const CONNECT_TIMEOUT_MS = 5000

export function pinnedConnector({ tls, secure_context, ...options }: PinnedOptions): buildConnector.connector {
  const base = buildConnector({
    timeout: CONNECT_TIMEOUT_MS,
    // A resumed session would skip the check of the certificate.
    maxCachedSessions: 0,
    allowH2: false,
    rejectUnauthorized: tls.mode === 'ca',
    ...(secure_context === undefined || tls.mode === 'ca' ? {} : { secureContext: secure_context }),
    // Certificates of devices rarely carry their address; who has the key of one that the CA issued is one of ours.
    ...(tls.mode === 'ca' ? { ca: tls.ca, checkServerIdentity: () => undefined } : {}),
  })
  return (target, callback) =>
    base(target, (error, socket) => {
      if (error !== null || socket === null) return callback(error ?? new Error('no connection'), null)
      if (tls.mode !== 'pin') return callback(null, socket)
      checkPin(socket as TLSSocket, tls, options).then(
        () => callback(null, socket),
        (reason: unknown) => {
          socket.destroy()
          callback(reason instanceof Error ? reason : new Error('the certificate was not accepted'), null)
        },
      )
    })
}

async function checkPin(
  socket: TLSSocket,
  tls: Extract<TlsPolicy, { mode: 'pin' }>,
  { device, errorOf }: Pick<PinnedOptions, 'device' | 'errorOf'>,
): Promise<void> {
  const seen = certificateOf(socket.getPeerX509Certificate())
  if (seen === undefined) throw errorOf(`The ${device} shows no certificate.`)
  const pinned = await tls.pin(seen)
  if (pinned === seen.fingerprint) return
  throw errorOf(
    `The ${device} shows the certificate ${seen.fingerprint}, pinned is ${pinned}; nothing was sent. If it was changed on purpose, accept it with the repin call.`,
  )
}

function certificateOf(certificate: X509Certificate | undefined): SeenCertificate | undefined {
  if (certificate === undefined) return undefined
  const { fingerprint256, subject, issuer, validFromDate, validToDate } = certificate
  return {
    fingerprint: fingerprint256,
    subject: subject?.replaceAll('\n', ', ') ?? '',
    issuer: issuer?.replaceAll('\n', ', ') ?? '',
    valid_from: validFromDate.toISOString(),
    valid_to: validToDate.toISOString(),
  }
}
