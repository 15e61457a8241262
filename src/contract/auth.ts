// Who may call: sign-in of people, users, API tokens, tickets for browser streams, and the audit.
import { auditRoutes } from './auth/audit.ts'
import { openSessionRoutes } from './auth/open-sessions.ts'
import { sessionRoutes } from './auth/sessions.ts'
import { ticketRoutes } from './auth/tickets.ts'
import { tokenRoutes } from './auth/tokens.ts'
import { userRoutes } from './auth/users.ts'
import { defineArea } from './route.ts'

export const auth = defineArea({
  name: 'auth',
  description:
    'Callers and their rights. Programs send `Authorization: Bearer <token>`: an API token of ours (`gp_…`) or an access token of the identity provider. People sign in and get a session cookie; what they change then needs the header `X-CSRF-Token`.',
  routes: { ...sessionRoutes, ...openSessionRoutes, ...userRoutes, ...tokenRoutes, ...ticketRoutes, ...auditRoutes },
})
