// Signing in, and who may do what: sessions, users, tokens, tickets, audit.
import { auth } from '#src/contract/auth.ts'
import { type Module, type Parts, serve } from '../module.ts'
import { tableSource } from '../search-source.ts'
import type { AuthDeps } from './deps.ts'
import { authHandlers } from './handlers.ts'
import { createOidcSignIn } from './oidc-sign-in.ts'
import { createPasswords } from './passwords.ts'

export function authModule(parts: Parts): Module {
  return {
    areas: [serve(auth, authHandlers(depsOf(parts)))],
    search: [tableSource(parts.database, 'user', auth, 'userGet', (id) => ({ params: { id: Number(id) } }))],
  }
}

const HOUR_MS = 3_600_000

function depsOf({ config, database, replica_id, cache, keyring }: Parts): AuthDeps {
  const { public_url } = config
  const { oidc, session_hours } = config.auth
  return {
    database,
    replica_id,
    cache,
    passwords: createPasswords(),
    session_ms: session_hours * HOUR_MS,
    public_url,
    oidc: oidc === undefined ? undefined : createOidcSignIn({ config: oidc, public_url, database, keyring }),
  }
}
