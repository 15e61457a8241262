// Tickets: how browsers and players call without a long-lived token in the address.
import { Type } from 'typebox'
import { Closed, Time } from '../common.ts'
import type { Routes } from '../route.ts'

const Ticket = Type.Object(
  {
    ticket: Type.String({ description: 'Goes into `?ticket=` of a call.', 'x-secret': true }),
    expires_at: Time,
  },
  { title: 'Ticket' },
)

const Path = Type.String({
  pattern: '^/(?:[\\w-][\\w.-]*/?)+$',
  maxLength: 300,
  description: 'From the slash, whole segments, such as `/cam/cameras/front/recording`.',
})

export const ticketRoutes = {
  ticketCreate: {
    method: 'POST',
    path: '/auth/tickets',
    summary: 'Create ticket for browser or player',
    description:
      'Browsers cannot set headers on WebSocket and EventSource, players on none of their requests. Without a body the ticket opens one stream, within a minute, with the rights of the caller who asked for it. With a path it answers GET requests for that path and what is below it, streams too, as often as wanted for an hour, with the rights of a viewer. Either ends with the credential that asked for it.',
    access: 'viewer',
    tenant: 'own',
    // It changes nothing that anybody else could see: no event, no audit line.
    effect: 'read',
    body: Closed({ path: Type.Optional(Path) }),
    body_optional: true,
    ok: { 201: Ticket },
    errors: [400, 500],
    extension: true,
    example: {
      body: { path: '/cam/cameras/front/recording' },
      answer: {
        ticket: 'gpp_mN3xqv0b7m2Cq1i1d1oPZy1l3l2f3Yt0m0Q2c0Zr3xk',
        expires_at: '2026-11-20T03:13:45.120Z',
      },
    },
  },
} as const satisfies Routes
