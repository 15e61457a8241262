// Credentials of streams that are open: a stream ends when the credential that opened it is revoked, expires, or has other
// rights than before, on whichever replica that happens.
import { ApiError } from '#src/kernel/errors.ts'
import type { HeldCredential, Identity } from '#src/kernel/http/access.ts'
import type { Caller } from '#src/kernel/http/context.ts'
import type { LiveCredential } from '#src/store/credentials.ts'
import type { CredentialCache } from './credential-cache.ts'
import { lookUp, type LookupDeps, rejectionSentence } from './credential-lookup.ts'

export interface OpenCredentials {
  /** Calls `ended` once, with a sentence for the client. Answers how to follow no longer. */
  follow(identity: Identity, ended: (reason: string) => void): () => void
  /** This credential may have changed. */
  check(key: string): void
  /** Any may have changed: notices were missed. */
  checkAll(): void
}

export interface OpenCredentialsDeps extends LookupDeps {
  cache: CredentialCache
}

/** What no notice tells of: one that was lost, a row that somebody changed by hand. */
const CHECK_MS = 15_000
const MAX_TIMER_MS = 2 ** 31 - 1

interface Follower {
  caller: Caller
  credential: HeldCredential
  end(reason: string): void
}

export function createOpenCredentials(deps: OpenCredentialsDeps): OpenCredentials {
  const open = new Map<string, Set<Follower>>()

  async function check(key: string, followers: readonly Follower[] = [...(open.get(key) ?? [])]): Promise<void> {
    const [first] = followers
    if (first === undefined) return
    const now = await stateOf(deps, first.credential)
    for (const follower of followers) {
      const reason = typeof now === 'string' ? now : now === undefined ? undefined : changeOf(follower, now.caller)
      if (reason !== undefined) follower.end(reason)
    }
  }

  function checkAll(): void {
    for (const key of open.keys()) void check(key)
  }

  const sweep = setInterval(checkAll, CHECK_MS)
  sweep.unref()

  return {
    follow({ caller, credential }, ended) {
      if (credential === undefined) return () => {}
      const { key } = credential
      const release = (): void => {
        clearTimeout(timer)
        const followers = open.get(key)
        followers?.delete(follower)
        if (followers?.size === 0) open.delete(key)
      }
      const follower: Follower = {
        caller,
        credential,
        end(reason) {
          release()
          ended(reason)
        },
      }
      const timer = expiryTimer(credential, follower)
      open.set(key, (open.get(key) ?? new Set()).add(follower))
      // It may have been revoked after it was looked up for this request and before it was followed.
      void check(key, [follower])
      return release
    },
    check: (key) => void check(key),
    checkAll,
  }
}

function expiryTimer({ kind, expires_at_ms }: HeldCredential, follower: Follower): NodeJS.Timeout | undefined {
  const left_ms = expires_at_ms === null ? Number.POSITIVE_INFINITY : expires_at_ms - Date.now()
  if (left_ms > MAX_TIMER_MS) return undefined
  return setTimeout(() => follower.end(rejectionSentence(kind, 'expired')), Math.max(0, left_ms)).unref()
}

/** As it is now; a sentence when it counts no more; undefined when that cannot be told at the moment. */
async function stateOf(
  deps: OpenCredentialsDeps,
  { kind, key, expires_at_ms }: HeldCredential,
): Promise<LiveCredential | string | undefined> {
  if (expires_at_ms !== null && expires_at_ms <= Date.now()) return rejectionSentence(kind, 'expired')
  if (kind === 'oidc') return undefined
  try {
    return deps.cache.get(key) ?? (await deps.cache.fetch(key, () => lookUp(deps, kind, key)))
  } catch (error) {
    if (error instanceof ApiError && error.code === 'UNAUTHENTICATED') return error.message
    deps.log.debug({ err: error }, 'credential of an open stream cannot be checked')
    return undefined
  }
}

function changeOf({ caller: before, credential }: Follower, now: Caller): string | undefined {
  const same = before.role === (credential.role ?? now.role) && before.tenant_id === now.tenant_id
  return same ? undefined : 'The rights of the caller have changed.'
}
