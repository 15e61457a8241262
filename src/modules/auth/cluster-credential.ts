// How nodes of one cluster know each other: the shared secret, or a certificate of the cluster's own CA. Agents
// know no other callers and need no database.
import { hash, timingSafeEqual } from 'node:crypto'
import { ApiError } from '#src/kernel/errors.ts'
import type { Authenticator } from '#src/kernel/http/access.ts'
import { ANONYMOUS, type Caller } from '#src/kernel/http/context.ts'

/** For agents: accepts nodes of the cluster and nobody else. */
export function createClusterAuthenticator(cluster_secret: string | undefined): Authenticator {
  const isClusterSecret = clusterSecretCheck(cluster_secret)
  return {
    authenticate({ headers, certificate_name }) {
      if (headers.authorization !== undefined) {
        if (isClusterSecret(hash('sha256', bearerOf(headers.authorization), 'hex')))
          return { caller: clusterCaller(null) }
        throw new ApiError(
          'UNAUTHENTICATED',
          'Invalid bearer token: an agent accepts the secret of its cluster alone (cluster.secret).',
        )
      }
      return { caller: certificate_name === undefined ? ANONYMOUS : clusterCaller(certificate_name) }
    },
  }
}

/** Takes the SHA-256 of a credential in hex. Compares hashes, so that neither length nor common beginning shows in the time. */
export function clusterSecretCheck(cluster_secret: string | undefined): (key: string) => boolean {
  if (cluster_secret === undefined) return () => false
  const expected = hash('sha256', cluster_secret, 'buffer')
  return (key) => timingSafeEqual(Buffer.from(key, 'hex'), expected)
}

export function clusterCaller(certificate_name: string | null): Caller {
  const id = certificate_name === null ? 'cluster' : `cluster:${certificate_name}`
  return { kind: 'cluster', id, role: 'cluster', tenant_id: null, user_id: null, username: id }
}

export function bearerOf(authorization: string): string {
  const token = /^Bearer +(\S+) *$/i.exec(authorization)?.[1]
  if (token === undefined) throw new ApiError('UNAUTHENTICATED', 'Send `Authorization: Bearer <token>`.')
  return token
}
