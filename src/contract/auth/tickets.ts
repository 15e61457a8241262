// Tickets: how a browser opens a stream without a long-lived token in the address.
import { Type } from 'typebox'
import { Time } from '../common.ts'
import type { Routes } from '../route.ts'

const Ticket = Type.Object(
  {
    ticket: Type.String({ description: 'Goes into `?ticket=` of one stream.', 'x-secret': true }),
    expires_at: Time,
  },
  { title: 'Ticket' },
)

export const ticketRoutes = {
  ticketCreate: {
    method: 'POST',
    path: '/auth/tickets',
    summary: 'Create ticket for browser stream',
    description:
      'Browsers cannot set headers on WebSocket and EventSource. The ticket works once, within a minute, and carries the rights of the caller who asked for it.',
    access: 'viewer',
    tenant: 'own',
    // It changes nothing that anybody else could see: no event, no audit line.
    effect: 'read',
    ok: { 201: Ticket },
    errors: [400, 500],
    extension: true,
    example: {
      answer: {
        ticket: 'gpt_mN3xqv0b7m2Cq1i1d1oPZy1l3l2f3Yt0m0Q2c0Zr3xk',
        expires_at: '2026-11-20T03:13:45.120Z',
      },
    },
  },
} as const satisfies Routes
