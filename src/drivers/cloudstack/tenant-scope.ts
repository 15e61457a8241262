// Which part of the platform a list covers: everything for an unbound caller, one tenant's tree for a tenant-scoped one.
import { ApiError, invalidField } from '#src/kernel/errors.ts'
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

interface Asked {
  account?: string
  domain_id?: string
  project_id?: string
}

/** Of whatever gets an owner: an account has its name within its tenant alone, and a project is its own account. */
export function checkOwner({ account, domain_id, project_id }: Asked): void {
  if (account !== undefined && domain_id === undefined) throw invalidField('body.account', 'needs domain_id')
  if (account !== undefined && project_id !== undefined) throw invalidField('body.project_id', 'excludes account')
}

/** Whose things a list shows: a tenant-scoped caller's tenant whatever was asked for, else the owner named, else everybody's. */
export function ownerScope(asked: Asked, tenant_id: string | null): Args {
  if (tenant_id !== null) {
    const of_others = (asked.domain_id !== undefined && asked.domain_id !== tenant_id) || asked.project_id !== undefined
    if (of_others)
      throw new ApiError(
        'TENANT_SCOPE',
        `A caller of tenant ${tenant_id} cannot ask for another tenant or a project; leave \`domain_id\` and \`project_id\` out.`,
      )
    return { ...scopeOf(tenant_id), account: asked.account }
  }
  if (asked.project_id !== undefined) return { listall: true, projectid: asked.project_id }
  if (asked.account !== undefined) return { listall: true, account: asked.account, domainid: asked.domain_id }
  return scopeOf(asked.domain_id ?? null)
}
