// The audit: every change that was asked for, by whom, and how it ended.
import { type Static, Type } from 'typebox'
import { Closed, ListOf, Nullable, PageFields, SortFields, Time, TimeGiven } from '../common.ts'
import type { Routes } from '../route.ts'
import { Line } from './rights.ts'

export const AuditRecord = Type.Object(
  {
    id: Type.String(),
    at: Time,
    request_id: Type.String(),
    correlation_id: Nullable(Type.String({ description: 'Of the application event; null when there is none.' })),
    operation: Type.String({ description: 'Operation name: `vmStart`.' }),
    method: Type.String(),
    path: Type.String({ description: 'Path of the request, without its query.' }),
    caller_kind: Type.String({ description: 'token, session, oidc, cluster, callback or anonymous.' }),
    caller_id: Type.String(),
    username: Type.String(),
    role: Nullable(Type.String({ description: 'Null for callers without a role.' })),
    tenant_id: Nullable(Type.String({ description: 'Tenant that the caller is scoped to.' })),
    remote_address: Type.String(),
    status: Nullable(
      Type.Integer({
        description: 'Status of the answer; null while it runs, or when the process died before its end.',
      }),
    ),
    code: Nullable(Type.String({ description: 'Error code of the answer; null when it succeeded.' })),
  },
  { title: 'AuditRecord' },
)
export type AuditRecord = Static<typeof AuditRecord>

export const AUDIT_COLUMNS = ['at', 'username', 'operation', 'status'] as const

export const auditRoutes = {
  auditList: {
    method: 'GET',
    path: '/auth/audit',
    summary: 'List audit records',
    description: 'Newest first. A record is written before the change is made, so one without a status says: unknown.',
    access: 'admin',
    query: Closed({
      from: TimeGiven('Inclusive.'),
      to: TimeGiven('Inclusive.'),
      username: Type.Optional(Line({ maxLength: 200 })),
      operation: Type.Optional(Line({ maxLength: 100 })),
      caller_id: Type.Optional(Line({ maxLength: 200 })),
      status: Type.Optional(Type.Integer({ minimum: 100, maximum: 599 })),
      correlation_id: Type.Optional(Line({ maxLength: 100 })),
      resource_id: Type.Optional(
        Line({ maxLength: 200, description: 'Requests for operations on this thing, or that touched it.' }),
      ),
      ...SortFields([...AUDIT_COLUMNS], 'newest first'),
      ...PageFields,
    }),
    ok: { 200: ListOf('records', AuditRecord, 'AuditPage') },
    errors: [400, 500],
    extension: true,
    example: {
      query: { operation: 'vmStart', page_size: 10 },
      answer: {
        records: [
          {
            id: '42',
            at: '2026-11-20T03:12:45.120Z',
            request_id: '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d12',
            correlation_id: '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d10',
            operation: 'vmStart',
            method: 'POST',
            path: '/compute/vms/start',
            caller_kind: 'session',
            caller_id: 'user:7',
            username: 'mira',
            role: 'operator',
            tenant_id: null,
            remote_address: '192.0.2.10',
            status: 200,
            code: null,
          },
        ],
        count: 1,
        page: 1,
        page_size: 10,
      },
    },
  },
} as const satisfies Routes
