// How an agent proves who it is to the control plane: a signature of its certificate's key over the request. TLS cannot
// do it, because the control plane may stand behind a proxy that ends TLS (docs/decisions/0006-agent-trust.md).
import { createHash, sign, verify, X509Certificate } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

export interface SignedRequest {
  method: string
  path: string
  body: string | Buffer
}

/** What the headers of a signed request say; nothing of it is proved yet. */
export interface NodeClaim {
  node_id: string
  signed_ms: number
  signature: Buffer
}

const NODE_HEADER = 'x-node-id'
const SIGNATURE_HEADER = 'x-node-signature'

/** Headers to send. `signed_ms` must grow from request to request: one that does not is a replay. */
export function signRequest(request: SignedRequest, node_id: string, signed_ms: number, key_pem: string) {
  const signature = sign('sha256', signedBytes(request, node_id, signed_ms), {
    key: key_pem,
    dsaEncoding: 'ieee-p1363',
  })
  return { [NODE_HEADER]: node_id, [SIGNATURE_HEADER]: `t=${signed_ms},s=${signature.toString('base64url')}` }
}

export function readClaim(headers: IncomingHttpHeaders): NodeClaim | undefined {
  const node_id = headers[NODE_HEADER]
  const signed = headers[SIGNATURE_HEADER]
  if (typeof node_id !== 'string' || typeof signed !== 'string' || !/^[0-9a-f-]{36}$/.test(node_id)) return undefined
  const match = /^t=(\d{1,15}),s=([\w-]{86})$/.exec(signed)
  if (match?.[1] === undefined || match[2] === undefined) return undefined
  return { node_id, signed_ms: Number(match[1]), signature: Buffer.from(match[2], 'base64url') }
}

/** Whether the key of this certificate made the signature. */
export function isSignedBy(certificate_pem: string, request: SignedRequest, claim: NodeClaim): boolean {
  const { publicKey } = new X509Certificate(certificate_pem)
  const bytes = signedBytes(request, claim.node_id, claim.signed_ms)
  return verify('sha256', bytes, { key: publicKey, dsaEncoding: 'ieee-p1363' }, claim.signature)
}

function signedBytes({ method, path, body }: SignedRequest, node_id: string, signed_ms: number): Buffer {
  const hash = createHash('sha256').update(body).digest('hex')
  return Buffer.from(['groundplane-node-1', node_id, signed_ms, method, path, hash].join('\n'))
}
