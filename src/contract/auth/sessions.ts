// Signing in and out, by password or through the identity provider, and what the caller may know about itself.
import { Type } from 'typebox'
import { Closed, Done, Nullable, OneOf, Time } from '../common.ts'
import type { Routes } from '../route.ts'
import { CallerRole, Line, NewPassword, NullableTenantId, TypedPassword } from './rights.ts'

const CsrfToken = Type.String({
  description: 'Send it as X-CSRF-Token with every request of the session that is not GET or HEAD.',
  'x-secret': true,
})

const Session = Type.Object(
  {
    username: Type.String(),
    role: CallerRole,
    tenant_id: NullableTenantId,
    csrf_token: CsrfToken,
    expires_at: Time,
  },
  { title: 'Session' },
)

const CallerDetails = Type.Object(
  {
    kind: OneOf(['token', 'session', 'oidc'], { description: 'What kind of credential the request carried.' }),
    id: Type.String({ description: 'Id of the API token, or of the user or subject behind the session.' }),
    username: Type.String(),
    role: CallerRole,
    tenant_id: NullableTenantId,
    user_id: Nullable(Type.Integer({ description: 'Local user; null for tokens and people without one.' })),
    expires_at: Nullable(
      Type.String({
        format: 'date-time',
        description:
          'End of the session or API token; null for a token without end, and for an access token of the identity provider, whose own `exp` counts.',
      }),
    ),
    csrf_token: Nullable(
      Type.String({ description: 'For sessions; null for the others, which need none.', 'x-secret': true }),
    ),
  },
  { title: 'CallerDetails' },
)

export const sessionRoutes = {
  authLogin: {
    method: 'POST',
    path: '/auth/login',
    summary: 'Sign in with password',
    description:
      'Sets the session cookie `__Host-gp_session` (HttpOnly, Secure, SameSite=Strict). A request over plain HTTP from this machine to a loopback name gets `gp_session` without Secure instead, because browsers refuse the other there; over plain HTTP from elsewhere browsers keep no session. A wrong name and a wrong password give the same answer after the same time. Attempts are limited for each address.',
    access: 'public',
    body: Closed({ username: Line({ minLength: 1, maxLength: 64 }), password: TypedPassword }),
    ok: { 200: Session },
    errors: [400, 401, 403, 500],
    event: { resource_type: 'SESSION' },
    extension: true,
    example: {
      body: { username: 'mira', password: 'correct horse battery' },
      answer: {
        username: 'mira',
        role: 'operator',
        tenant_id: null,
        csrf_token: 'mN3xqv0b7m2Cq1i1d1oPZy1l3l2f3Yt0m0Q2c0Zr3xk',
        expires_at: '2026-11-20T15:12:45.120Z',
      },
    },
  },
  sessionCreate: {
    method: 'POST',
    path: '/auth/sessions',
    summary: 'Sign in with API token or sign-in link',
    description:
      'Sets the same cookie as signing in by password. Send `token`, or the `code` of a sign-in link: `npm start` prints one that opens one session within an hour. The session has the rights of the API token and ends with it. Attempts are limited for each address.',
    access: 'public',
    body: Closed({
      token: Type.Optional(Line({ minLength: 1, maxLength: 200, description: 'API token.' })),
      code: Type.Optional(
        Line({ minLength: 1, maxLength: 200, description: 'What the sign-in link ends with.', 'x-secret': true }),
      ),
    }),
    ok: { 201: Session },
    errors: [400, 401, 403, 500],
    event: { resource_type: 'SESSION' },
    extension: true,
    example: {
      body: { code: 'gpl_mN3xqv0b7m2Cq1i1d1oPZy1l3l2f3Yt0m0Q2c0Zr3xk' },
      answer: {
        username: 'ci',
        role: 'admin',
        tenant_id: null,
        csrf_token: 'mN3xqv0b7m2Cq1i1d1oPZy1l3l2f3Yt0m0Q2c0Zr3xk',
        expires_at: '2026-11-20T15:12:45.120Z',
      },
    },
  },
  authLogout: {
    method: 'POST',
    path: '/auth/logout',
    summary: 'Sign out',
    description:
      'Ends the session of the cookie at once, on every replica, and removes the cookie. Without a session it does nothing; an API token is revoked by DELETE /auth/tokens/{id}.',
    access: 'viewer',
    tenant: 'own',
    ok: { 200: Done },
    errors: [400, 500],
    event: { resource_type: 'SESSION' },
    extension: true,
    example: { answer: { message: 'Signed out.' } },
  },
  callerGet: {
    method: 'GET',
    path: '/auth/me',
    summary: 'Get own identity and rights',
    description: 'A console that was loaded again finds the CSRF token of its session here.',
    access: 'viewer',
    tenant: 'own',
    ok: { 200: CallerDetails },
    errors: [400, 500],
    extension: true,
    example: {
      answer: {
        kind: 'token',
        id: '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d11',
        username: 'ci',
        role: 'viewer',
        tenant_id: null,
        user_id: null,
        expires_at: '2027-02-18T03:12:45.120Z',
        csrf_token: null,
      },
    },
  },
  passwordChange: {
    method: 'POST',
    path: '/auth/me/password',
    summary: 'Change own password',
    description:
      'For a signed-in local user. The other sessions of the user end; this one goes on. API tokens are kept: revoke them by themselves.',
    access: 'viewer',
    tenant: 'own',
    body: Closed({ current_password: TypedPassword, new_password: NewPassword }),
    ok: { 200: Done },
    errors: [400, 403, 500],
    event: { resource_type: 'USER' },
    extension: true,
    example: {
      body: { current_password: 'correct horse battery', new_password: 'staple of the year 2026' },
      answer: { message: 'The password is changed; other sessions have ended.' },
    },
  },
  oidcStart: {
    method: 'GET',
    path: '/auth/oidc/start',
    summary: 'Start sign-in at identity provider',
    description:
      'Sends the browser to the identity provider. The sign-in must be finished in the same browser within ten minutes.',
    access: 'public',
    kind: 'redirect',
    query: Closed({
      return_to: Type.Optional(
        Type.String({ maxLength: 500, description: 'Local path to go to afterwards, from the slash; `/` by default.' }),
      ),
    }),
    ok: { 302: Type.Null({ description: 'To the identity provider.' }) },
    errors: [400, 500],
    extension: true,
    example: { query: { return_to: '/console/' } },
  },
  oidcCallback: {
    method: 'GET',
    path: '/auth/oidc/callback',
    summary: 'Finish sign-in at identity provider',
    description:
      'Where the identity provider sends the browser back to. Sets the session cookie. The rights are those of the groups at this moment, until the session ends.',
    access: 'public',
    effect: 'change',
    kind: 'redirect',
    // Open: providers add members of their own to this answer, and all of them belong to the checked address.
    query: Type.Object(
      {
        code: Type.Optional(Type.String({ maxLength: 4096 })),
        state: Type.Optional(Type.String({ maxLength: 512 })),
        iss: Type.Optional(Type.String({ maxLength: 512 })),
        session_state: Type.Optional(Type.String({ maxLength: 512 })),
        error: Type.Optional(Type.String({ maxLength: 256 })),
        error_description: Type.Optional(Type.String({ maxLength: 2048 })),
      },
      { additionalProperties: true },
    ),
    ok: { 302: Type.Null({ description: 'To the path that the sign-in was started with.' }) },
    errors: [400, 403, 500],
    event: { resource_type: 'SESSION' },
    extension: true,
    example: { query: { code: 'SplxlOBeZQQYbYS6WxSbIA', state: 'af0ifjsldkj' } },
  },
} as const satisfies Routes
