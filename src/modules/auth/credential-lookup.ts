// Reads a stored credential as it is now, and says in a sentence why one no longer counts.
import { ApiError } from '#src/kernel/errors.ts'
import type { HeldCredential } from '#src/kernel/http/access.ts'
import type { Log } from '#src/kernel/log.ts'
import { findLiveToken, touchToken } from '#src/store/api-tokens.ts'
import type { LiveCredential, Rejection } from '#src/store/credentials.ts'
import type { Db } from '#src/store/database.ts'
import { findLiveSession, touchSession } from '#src/store/sessions.ts'

export interface LookupDeps {
  db: Db
  log: Log
}

/** Throws UNAUTHENTICATED when it is not known, has ended, has expired, or belongs to somebody who may not use it. */
export async function lookUp(
  { db, log }: LookupDeps,
  kind: Exclude<HeldCredential['kind'], 'oidc'>,
  key: string,
): Promise<LiveCredential> {
  const hash = Buffer.from(key, 'hex')
  const found = kind === 'token' ? await findLiveToken(db, hash) : await findLiveSession(db, hash)
  if (typeof found === 'string') throw new ApiError('UNAUTHENTICATED', rejectionSentence(kind, found))
  if (found.unused) {
    // The answer does not wait for it, and a use that is not recorded harms nobody.
    const touched = kind === 'token' ? touchToken(db, hash) : touchSession(db, hash)
    touched.catch((err: unknown) => log.warn({ err }, 'last use of a credential not recorded'))
  }
  return found
}

const NAME: Record<HeldCredential['kind'], string> = {
  token: 'API token',
  session: 'session',
  oidc: 'access token',
}

const REASON: Record<Rejection, string> = {
  unknown: 'is not known',
  revoked: 'has ended',
  expired: 'has expired',
  disabled: 'belongs to a user who may no longer use it',
}

export function rejectionSentence(kind: HeldCredential['kind'], rejection: Rejection): string {
  return `The ${NAME[kind]} ${REASON[rejection]}.`
}
