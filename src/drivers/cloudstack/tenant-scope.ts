// Which part of the platform a list covers: everything for an unbound caller, one tenant's tree for a narrowed one.
import type { Args } from './args.ts'
import { WHOLE_SCOPE } from './lists.ts'

/** Scope parameters of list commands that know accounts (cloudstack.md 3). */
export function scopeOf(tenant_id: string | null): Args {
  return tenant_id === null ? WHOLE_SCOPE : { listall: true, domainid: tenant_id, isrecursive: true }
}

/** The same for a list of which one row is wanted by id: projects are found without being asked for. */
export function scopeOfOne(tenant_id: string | null): Args {
  return tenant_id === null ? { listall: true } : scopeOf(tenant_id)
}
