// What the operations of this area need; bin constructs it.
import type { Database } from '#src/store/database.ts'
import type { CredentialCache } from './credential-cache.ts'
import type { OidcSignIn } from './oidc-sign-in.ts'
import type { Passwords } from './passwords.ts'

export interface AuthDeps {
  database: Database
  replica_id: string
  cache: CredentialCache
  passwords: Passwords
  session_ms: number
  public_url: string | undefined
  /** Undefined: no identity provider is configured. */
  oidc: OidcSignIn | undefined
}
