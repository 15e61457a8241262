// Who may call what: the one place that compares a caller with a route's access rule.
import type { IncomingHttpHeaders } from 'node:http'
import { routeEffect, type RouteSpec } from '#src/contract/route.ts'
import { ApiError } from '../errors.ts'
import type { Caller, Role } from './context.ts'

export interface AuthRequest {
  method: string
  headers: IncomingHttpHeaders
  /** `?ticket=` of a GET. */
  ticket: string | undefined
  path: string
  /** The route is one of `sse` or `ws`. */
  is_stream: boolean
  remote_address: string
  /** Common name of the client certificate, when the connection is mutual TLS under our own CA. */
  certificate_name: string | undefined
}

/** Whom a request comes from. */
export interface Identity {
  caller: Caller
  /** Absent where nothing ends while it is in use: no credential at all, or that of the cluster. */
  credential?: HeldCredential
}

/** What a stream must be ended with. */
export interface HeldCredential {
  kind: 'token' | 'session' | 'oidc'
  /** SHA-256 in hex. */
  key: string
  /** Milliseconds since 1970 by the clock of this process; null: it does not expire. */
  expires_at_ms: number | null
  /** The caller has these rights, whatever the credential itself gives. */
  role?: 'viewer'
}

export interface Authenticator {
  /**
   * Resolves the credential of a request. No credential: the anonymous caller. One that is not valid, expired or revoked:
   * throws UNAUTHENTICATED. A session without its CSRF header on a change: throws CSRF_REJECTED.
   * Answers without a promise when the credential is in memory, because this is on the path of every request.
   */
  authenticate(request: AuthRequest): Identity | Promise<Identity>
  /**
   * Calls `ended` when the credential of an open stream counts no more, with a sentence for the client. Answers how to
   * follow it no longer. Agents have no streams.
   */
  follow?(identity: Identity, ended: (reason: string) => void): () => void
}

/** Entry of the audit: written before a change is made, finished with its outcome. */
export interface AuditEntry {
  request_id: string
  correlation_id: string | null
  operation: string
  method: string
  path: string
  caller: Caller
  remote_address: string
}

export interface AuditLog {
  begin(entry: AuditEntry): Promise<string>
  finish(id: string, status: number, code: string | null): Promise<void>
}

const RANK: Record<Role, number> = { viewer: 1, operator: 2, admin: 3, cluster: 0 }

/** Whether a tenant is active, read afresh: every replica must know a change with the next request. */
export type TenantState = (tenant_id: string) => Promise<boolean>

/**
 * Throws 401 or 403 when this caller may not call this route at all. Answers a promise only where a tenant has to be looked
 * at: for changes by its own callers.
 */
export function checkAccess(
  route: RouteSpec,
  caller: Caller,
  isTenantActive: TenantState | undefined,
): Promise<void> | void {
  checkRights(route, caller)
  const { tenant_id } = caller
  // To sign out is no use of the tenant.
  const own_end = route.event?.resource_type === 'SESSION'
  if (tenant_id !== null && routeEffect(route) === 'change' && !own_end) return requireActive(tenant_id, isTenantActive)
}

/** While a tenant is inactive its callers only read. */
async function requireActive(tenant_id: string, isTenantActive: TenantState | undefined): Promise<void> {
  if (isTenantActive === undefined) throw new Error('nobody can tell whether a tenant is active')
  if (await isTenantActive(tenant_id)) return
  const way_out = 'An admin can activate it with PUT /admin/tenants/{id}/status.'
  throw new ApiError('TENANT_INACTIVE', `Tenant ${tenant_id} is deactivated: its callers only read. ${way_out}`)
}

/** Whether its role and tenant scope let it call this route; for what else a route would show. */
export function mayCall(route: RouteSpec, caller: Caller): boolean {
  try {
    checkRights(route, caller)
    return true
  } catch (error) {
    if (error instanceof ApiError) return false
    throw error
  }
}

function checkRights(route: RouteSpec, caller: Caller): void {
  if (route.access === 'public' || route.access === 'callback') return
  if (caller.role === null) throw new ApiError('UNAUTHENTICATED', 'Send `Authorization: Bearer <token>`.')
  if (route.access === 'cluster') {
    if (caller.role !== 'cluster')
      throw new ApiError(
        'FORBIDDEN',
        `Only nodes of this cluster may call ${route.method} ${route.path}; you are ${caller.role}.`,
      )
    return
  }
  if (caller.role === 'cluster' && route.runs_on !== 'node') {
    throw new ApiError('FORBIDDEN', `Nodes of the cluster may not call ${route.method} ${route.path}.`)
  }
  if (caller.role !== 'cluster' && RANK[caller.role] < RANK[route.access]) {
    throw new ApiError(
      'FORBIDDEN',
      `${route.method} ${route.path} needs the role ${route.access}; the caller has ${caller.role}.`,
    )
  }
  if (caller.tenant_id !== null && route.tenant !== 'own')
    throw new ApiError(
      'TENANT_SCOPE',
      `${route.method} ${route.path} belongs to no tenant; the caller is limited to tenant ${caller.tenant_id}.`,
    )
}
