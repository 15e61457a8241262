// Calls of a member to its peers: mutual TLS under the cluster's CA, and the peer must show the certificate of its address.
import { type RequestOptions, request } from 'node:https'
import { text } from 'node:stream/consumers'
import { halfLifeOf, issueMemberCertificate, type KeyedCertificate } from '#src/kernel/certificates.ts'
import type { CaStore } from '#src/store/ca.ts'

export interface MemberIdentity extends KeyedCertificate {
  ca: string
}

export interface PeerCalls {
  /** The parsed answer of a success; throws with a sentence for people otherwise. */
  call(address: string, method: 'GET' | 'POST', path: string, body?: object): Promise<unknown>
}

const CALL_TIMEOUT_MS = 5000
const MAX_BYTES = 64 * 1024

/** A certificate of this member, held in memory and replaced at half of its life. */
export function createMemberIdentity(ca: CaStore, address: string): () => Promise<MemberIdentity> {
  let mine: Promise<MemberIdentity> | undefined
  let renew_at = Number.POSITIVE_INFINITY
  const make = async (): Promise<MemberIdentity> => {
    const issuer = await ca.get()
    const made = await issueMemberCertificate(issuer, address)
    renew_at = halfLifeOf(made.certificate)
    return { ...made, ca: issuer.certificate }
  }
  return () => {
    if (mine === undefined || Date.now() > renew_at) {
      renew_at = Number.POSITIVE_INFINITY
      mine = make().catch((error: unknown) => {
        mine = undefined
        throw error
      })
    }
    return mine
  }
}

export function createPeerCalls(identity: () => Promise<MemberIdentity>, port: number): PeerCalls {
  return {
    async call(address, method, path, sent_body) {
      const { key, certificate, ca } = await identity()
      const options: RequestOptions = {
        host: address,
        port,
        method,
        path,
        key,
        cert: certificate,
        ca,
        agent: false,
        signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
        // Nothing but an address is known of a peer, and addresses are no server names.
        servername: '',
        checkServerIdentity: (_host, shown) =>
          shown.subject.CN === address
            ? undefined
            : new Error(`it shows the certificate of ${String(shown.subject.CN)}`),
      }
      const { status, body } = await exchange(options, sent_body)
      if (status !== 200) throw new Error(`it answers ${status}`)
      return JSON.parse(body) as unknown
    },
  }
}

function exchange(options: RequestOptions, body: object | undefined): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const sent = request(options, (answer) => {
      let size = 0
      answer.on('data', (piece: Buffer) => {
        size += piece.length
        if (size > MAX_BYTES) answer.destroy(new Error('its answer is too long'))
      })
      text(answer).then((body) => resolve({ status: answer.statusCode ?? 0, body }), reject)
    })
    sent.on('error', reject)
    if (body === undefined) return void sent.end()
    sent.setHeader('content-type', 'application/json')
    sent.end(JSON.stringify(body))
  })
}
