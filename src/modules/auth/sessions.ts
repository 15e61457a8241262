// Console sessions: how one begins and ends, what the caller may know about itself, and tickets for its streams.
import type { Static } from 'typebox'
import type { sessionRoutes } from '#src/contract/auth/sessions.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { Caller, RequestContext } from '#src/kernel/http/context.ts'
import { findLiveToken, findToken } from '#src/store/api-tokens.ts'
import { recordChange } from '#src/store/app-events.ts'
import { credentialHash, csrfTokenOf, roleOf } from '#src/store/credentials.ts'
import { OIDC_LOGIN_SECONDS } from '#src/store/oidc-logins.ts'
import { endSession, endSessionsOf, insertSession, sessionExpiry } from '#src/store/sessions.ts'
import { insertTicket, type TicketUse, useSignInCode } from '#src/store/tickets.ts'
import { credentialsOfUser, findUser, findUserByName, markLogin, updateUser } from '#src/store/users.ts'
import { bearerOf } from './cluster-credential.ts'
import { cookieOf, removeCookie, setCookie } from './cookies.ts'
import type { AuthDeps } from './deps.ts'
import type { OidcSignIn } from './oidc-sign-in.ts'
import { identityError } from './oidc-tokens.ts'
import { changeRights } from './rights-change.ts'
import { requireSameOrigin } from './same-origin.ts'
import { foundUser } from './users.ts'

type Body<Operation extends 'authLogin' | 'sessionCreate' | 'passwordChange'> = Static<
  (typeof sessionRoutes)[Operation]['body']
>
type Answer<Operation extends 'authLogin' | 'callerGet'> = Static<(typeof sessionRoutes)[Operation]['ok'][200]>

export async function login(
  deps: AuthDeps,
  ctx: RequestContext,
  body: Body<'authLogin'>,
): Promise<Answer<'authLogin'>> {
  requireSameOrigin(ctx.headers, deps.public_url)
  const user = await findUserByName(deps.database.db, body.username)
  const about = {
    resource_type: 'SESSION',
    resource_uuid: user === undefined ? '' : callerIdOf(user),
    // A name that no user has may be a password typed into the wrong field.
    description: user === undefined ? 'Sign in' : `Sign in of ${user.username}`,
    tenant_id: user?.tenant_id ?? null,
  }
  return recordChange(deps, ctx, about, async () => {
    const right = await deps.passwords.matches(body.password, user?.password_hash)
    if (!right || user === undefined || user.disabled_at !== null) throw new ApiError('LOGIN_FAILED')
    const rights = { role: roleOf(user.role), tenant_id: user.tenant_id }
    const session = await openSession(deps, ctx, {
      kind: 'session',
      id: callerIdOf(user),
      user_id: user.id,
      username: user.username,
      ...rights,
    })
    ctx.setHeader('set-cookie', session.cookie)
    const { csrf_token, expires_at } = session
    return { username: user.username, ...rights, csrf_token, expires_at: expires_at.toISOString() }
  })
}

/** Ids of users and of subjects elsewhere must not meet in limits and keys. */
function callerIdOf(user: { id: number }): string {
  return `user:${user.id}`
}

export async function sessionCreate(
  deps: AuthDeps,
  ctx: RequestContext,
  { token, code }: Body<'sessionCreate'>,
): Promise<Answer<'authLogin'>> {
  requireSameOrigin(ctx.headers, deps.public_url)
  if ((token === undefined) === (code === undefined)) throw invalidField('body.token', 'send either this or code')
  const { db } = deps.database
  const hash = code === undefined ? credentialHash(token ?? '') : await useSignInCode(db, code)
  const found = hash === undefined ? 'unknown' : await findLiveToken(db, hash)
  const live = typeof found === 'string' ? undefined : found
  const about = {
    resource_type: 'SESSION',
    resource_uuid: live?.caller.id ?? '',
    description: live === undefined ? 'Sign in' : `Sign in by token ${live.caller.username}`,
    tenant_id: live?.caller.tenant_id ?? null,
  }
  return recordChange(deps, ctx, about, async () => {
    if (live === undefined || hash === undefined) {
      const what = code === undefined ? 'API token' : 'sign-in link'
      throw new ApiError('LOGIN_FAILED', `This ${what} is not known, has ended, or was used.`)
    }
    const life_ms = Math.min(deps.session_ms, live.remaining_ms ?? Number.POSITIVE_INFINITY)
    const { username, role, tenant_id } = live.caller
    const session = await openSession(deps, ctx, { ...live.caller, kind: 'session' }, { life_ms, token_hash: hash })
    ctx.setHeader('set-cookie', session.cookie)
    const { csrf_token, expires_at } = session
    return { username, role: roleOf(role ?? ''), tenant_id, csrf_token, expires_at: expires_at.toISOString() }
  })
}

async function openSession(
  deps: AuthDeps,
  ctx: RequestContext,
  caller: Caller,
  { life_ms, token_hash }: { life_ms: number; token_hash: Buffer | null } = {
    life_ms: deps.session_ms,
    token_hash: null,
  },
) {
  const session = await deps.database.transact(async (trx) => {
    if (caller.user_id !== null && token_hash === null) await markLogin(trx, caller.user_id)
    return insertSession(trx, caller, life_ms, token_hash)
  })
  return { ...session, cookie: setCookie(ctx, 'session', session.secret, life_ms / 1000) }
}

export function logout(deps: AuthDeps, ctx: RequestContext): Promise<{ message: string }> {
  const about = { resource_type: 'SESSION', description: 'Sign out', resource_uuid: ctx.caller.id }
  return recordChange(deps, ctx, about, async () => {
    const secret = ctx.caller.kind === 'session' ? cookieOf(ctx, 'session') : undefined
    if (secret === undefined) return { message: 'There was no session to end.' }
    await changeRights(deps, async (trx, revoke) => {
      const hash = credentialHash(secret)
      await endSession(trx, hash)
      revoke([hash])
    })
    ctx.setHeader('set-cookie', removeCookie(ctx, 'session'))
    return { message: 'Signed out.' }
  })
}

export async function callerGet({ database }: AuthDeps, ctx: RequestContext): Promise<Answer<'callerGet'>> {
  const { kind, id, username, role, tenant_id, user_id } = ctx.caller
  if ((kind !== 'token' && kind !== 'session' && kind !== 'oidc') || role === null)
    throw new Error(`a caller of kind ${kind} passed as one who signed in`)
  const secret = kind === 'session' ? cookieOf(ctx, 'session') : undefined
  const expires_at =
    kind === 'token'
      ? ((await findToken(database.db, id))?.expires_at ?? null)
      : ((await sessionEnd(database.db, secret)) ?? null)
  const csrf_token = secret === undefined ? null : csrfTokenOf(secret)
  return { kind, id, username, role: roleOf(role), tenant_id, user_id, expires_at, csrf_token }
}

async function sessionEnd(db: AuthDeps['database']['db'], secret: string | undefined): Promise<string | undefined> {
  return secret === undefined ? undefined : (await sessionExpiry(db, credentialHash(secret)))?.toISOString()
}

export function passwordChange(
  deps: AuthDeps,
  ctx: RequestContext,
  body: Body<'passwordChange'>,
): Promise<{ message: string }> {
  const { caller } = ctx
  const secret = cookieOf(ctx, 'session')
  const { user_id } = caller
  if (caller.kind !== 'session' || user_id === null || secret === undefined) {
    throw new ApiError(
      'FORBIDDEN',
      `Only a local user who is signed in has a password to change; you came with a ${caller.kind}.`,
    )
  }
  const about = {
    resource_type: 'USER',
    resource_uuid: String(user_id),
    description: `Change password of user ${caller.username}`,
  }
  return recordChange(deps, ctx, about, async () => {
    const user = foundUser(await findUser(deps.database.db, user_id), user_id)
    if (!(await deps.passwords.matches(body.current_password, user.password_hash))) {
      throw invalidField('body.current_password', 'is not the password of this user')
    }
    const password_hash = await deps.passwords.hash(body.new_password)
    await changeRights(deps, async (trx, revoke) => {
      revoke(await credentialsOfUser(trx, user_id))
      await updateUser(trx, user_id, { password_hash })
      await endSessionsOf(trx, user_id, credentialHash(secret))
    })
    return { message: 'The password is changed; other sessions have ended.' }
  })
}

export async function ticketCreate(
  deps: AuthDeps,
  ctx: RequestContext,
  path: string | null,
): Promise<{ ticket: string; expires_at: string }> {
  const access_token_end = ctx.caller.kind === 'oidc' ? await accessTokenEnd(ctx) : null
  const { ticket, expires_at } = await deps.database.transact((trx) =>
    insertTicket(trx, { caller: ctx.caller, path, ...ticketSource(ctx, access_token_end) }),
  )
  return { ticket, expires_at: expires_at.toISOString() }
}

/** The stored credential of this request, which the ticket must not outlive. */
function ticketSource(ctx: RequestContext, expires_at_ms: number | null): Pick<TicketUse, 'source' | 'expires_at_ms'> {
  const { kind } = ctx.caller
  const { authorization } = ctx.headers
  if (kind === 'token' && authorization !== undefined) {
    return { source: credentialHash(bearerOf(authorization)), expires_at_ms: null }
  }
  const secret = kind === 'session' ? cookieOf(ctx, 'session') : undefined
  return secret === undefined
    ? { source: null, expires_at_ms }
    : { source: credentialHash(secret), expires_at_ms: null }
}

/** Read without a check: this very request was let in by it. */
async function accessTokenEnd({ headers }: RequestContext): Promise<number> {
  const { decodeJwt } = await import('jose')
  return (decodeJwt(bearerOf(headers.authorization ?? '')).exp ?? 0) * 1000
}

export async function startOidcSignIn(
  deps: AuthDeps,
  ctx: RequestContext,
  return_to: string,
): Promise<{ location: string }> {
  if (!isLocalPath(return_to)) throw invalidField('query.return_to', 'must be a path of this service, from the slash')
  const { location, browser_secret } = await configured(deps).start(return_to)
  ctx.setHeader('set-cookie', setCookie(ctx, 'oidc', browser_secret, OIDC_LOGIN_SECONDS))
  return { location }
}

export function finishOidcSignIn(
  deps: AuthDeps,
  ctx: RequestContext,
  query: Record<string, unknown>,
): Promise<{ location: string }> {
  const oidc = configured(deps)
  const answer = Object.fromEntries(
    Object.entries(query).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  )
  return recordChange(
    deps,
    ctx,
    { resource_type: 'SESSION', description: 'Sign in by identity provider' },
    async (note) => {
      const { caller, return_to } = await oidc.finish(answer, cookieOf(ctx, 'oidc'))
      const { cookie } = await openSession(deps, ctx, caller)
      note.resource_uuid = caller.id
      note.description = `Sign in of ${caller.username} by identity provider`
      ctx.setHeader('set-cookie', [cookie, removeCookie(ctx, 'oidc')])
      return { location: return_to }
    },
  )
}

function configured(deps: AuthDeps): OidcSignIn {
  if (deps.oidc === undefined) throw identityError('not_configured', 'set auth.oidc')
  return deps.oidc
}

/** Browsers read `//host` and `/\host` as another site, and drop tabs and line breaks on the way. */
function isLocalPath(path: string): boolean {
  if (!/^\/(?![/\\])[\x21-\x7e]*$/.test(path) || path.includes('\\')) return false
  return URL.parse(path, 'http://local.invalid')?.origin === 'http://local.invalid'
}
