// The operations of the area `auth`.
import type { auth } from '#src/contract/auth.ts'
import { pageOf } from '#src/contract/common.ts'
import type { Handlers } from '#src/contract/route.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { findToken, listTokens } from '#src/store/api-tokens.ts'
import { listAudit } from '#src/store/audit.ts'
import { listSessions } from '#src/store/sessions.ts'
import { findUser, listUsers, userView } from '#src/store/users.ts'
import type { AuthDeps } from './deps.ts'
import { sessionEnd } from './open-sessions.ts'
import {
  callerGet,
  finishOidcSignIn,
  login,
  logout,
  passwordChange,
  sessionCreate,
  startOidcSignIn,
  ticketCreate,
} from './sessions.ts'
import { foundToken, tokenCreate, tokenRevoke } from './tokens.ts'
import { foundUser, userCreate, userDelete, userUpdate } from './users.ts'

export function authHandlers(deps: AuthDeps): Handlers<typeof auth.routes, RequestContext> {
  const { db } = deps.database
  return {
    authLogin: ({ body }, ctx) => login(deps, ctx, body),
    sessionCreate: ({ body }, ctx) => sessionCreate(deps, ctx, body),
    authLogout: (_input, ctx) => logout(deps, ctx),
    callerGet: (_input, ctx) => callerGet(deps, ctx),
    passwordChange: ({ body }, ctx) => passwordChange(deps, ctx, body),
    oidcStart: ({ query }, ctx) => startOidcSignIn(deps, ctx, query.return_to ?? '/'),
    oidcCallback: ({ query }, ctx) => finishOidcSignIn(deps, ctx, query),

    sessionList: async ({ query }) => ({ ...(await listSessions(db, query, pageOf(query))), ...pageOf(query) }),
    sessionEnd: ({ params }, ctx) => sessionEnd(deps, ctx, params.id),

    userList: async ({ query }) => ({ ...(await listUsers(db, query, pageOf(query))), ...pageOf(query) }),
    userCreate: ({ body }, ctx) => userCreate(deps, ctx, body),
    userGet: async ({ params }) => userView(foundUser(await findUser(db, params.id), params.id)),
    userUpdate: ({ params, body }, ctx) => userUpdate(deps, ctx, params.id, body),
    userDelete: ({ params }, ctx) => userDelete(deps, ctx, params.id),

    tokenList: async ({ query }) => ({ ...(await listTokens(db, query, pageOf(query))), ...pageOf(query) }),
    tokenCreate: ({ body }, ctx) => tokenCreate(deps, ctx, body),
    tokenGet: async ({ params }) => foundToken(await findToken(db, params.id), params.id),
    tokenRevoke: ({ params }, ctx) => tokenRevoke(deps, ctx, params.id),

    ticketCreate: ({ body }, ctx) => ticketCreate(deps, ctx, body?.path ?? null),
    auditList: async ({ query }) => ({ ...(await listAudit(db, query, pageOf(query))), ...pageOf(query) }),
  }
}
