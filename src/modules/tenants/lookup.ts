// Finds the tenant a request is about, within what the caller may see, and what the platform knows of its domain.
import type { Tenant } from '#src/contract/tenants.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { type Raw, rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { CloudStackError } from '#src/drivers/cloudstack/platform-error.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { Caller } from '#src/kernel/http/context.ts'
import type { Database } from '#src/store/database.ts'
import { findTenant, isFullyOnboarded, type TenantRow } from '#src/store/tenants.ts'

/** The row, or TENANT_NOT_FOUND: for a tenant-scoped caller every other tenant does not exist. */
export async function requireTenant(database: Database, id: string, caller: Caller): Promise<TenantRow> {
  const visible = caller.tenant_id === null || caller.tenant_id === id
  const row = visible ? await findTenant(database.db, id) : undefined
  if (row === undefined) throw tenantNotFound(id)
  return row
}

/** The same for what needs the domain to be there and complete. */
export async function requireLiveTenant(database: Database, id: string, caller: Caller): Promise<TenantRow> {
  const row = await requireTenant(database, id, caller)
  const flag = flagOf(row)
  if (flag !== null) {
    throw new ApiError(
      'TENANT_STATE',
      `The tenant ${row.name} is ${flag}; this needs a complete tenant of the platform.`,
    )
  }
  return row
}

export function tenantNotFound(id: string): ApiError {
  return new ApiError('TENANT_NOT_FOUND', `Tenant ${id} not found.`)
}

export function flagOf(row: TenantRow): Tenant['flag'] {
  if (row.missing_since !== null) return 'REMOVED_ELSEWHERE'
  if (row.stage === 'ready') return null
  return row.stage === 'creating' ? 'CREATING' : 'CREATE_FAILED'
}

export function tenantOf(row: TenantRow): Tenant {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    dedicated_ip_start: row.range_start_ip,
    dedicated_ip_end: row.range_end_ip,
    dedicated_vlan_id: row.vlan_range_id,
    is_active: row.is_active,
    flag: flagOf(row),
    source: row.source,
    path: row.path,
    network_domain: row.network_domain,
    account_mode: row.account_mode,
    auth_source: row.auth_source,
    onboarding: isFullyOnboarded(row) ? 'full' : 'partial',
    admin_account: row.admin_account,
    created_at: row.created_at.toISOString(),
    last_seen_at: row.seen_at?.toISOString() ?? null,
  }
}

/** The domain as the platform describes it; undefined when there is none. */
export async function readDomain(cloudstack: CloudStack, id: string, signal: AbortSignal): Promise<Raw | undefined> {
  try {
    const args = { id, listall: true, details: 'min', page: 1, pagesize: 2 }
    const content = await cloudstack.call('listDomains', args, { signal })
    return rowsOf(content, 'domain').find((row) => textOf(row, 'id') === id)
  } catch (error) {
    if (error instanceof CloudStackError && (error.status === 431 || error.status === 531)) return undefined
    throw error
  }
}

/** The domain of this name right under the root, whatever the case of its letters. */
export async function domainNamed(cloudstack: CloudStack, name: string, signal: AbortSignal): Promise<Raw | undefined> {
  const args = { level: 1, listall: true, details: 'min', keyword: name }
  for await (const rows of cloudstack.listPages('listDomains', args, 'domain', { signal })) {
    const found = rows.find((row) => textOf(row, 'name')?.toLowerCase() === name.toLowerCase())
    if (found !== undefined) return found
  }
  return undefined
}

/** Accounts of the tenant and everything below it; those of projects are none of people. */
export async function accountsOf(cloudstack: CloudStack, domainid: string, signal: AbortSignal): Promise<Raw[]> {
  const accounts: Raw[] = []
  const args = { domainid, isrecursive: true, listall: true, details: 'min' }
  for await (const rows of cloudstack.listPages('listAccounts', args, 'account', { signal })) {
    accounts.push(...rows.filter((row) => textOf(row, 'accounttype') !== PROJECT_ACCOUNT))
  }
  return accounts
}

const PROJECT_ACCOUNT = '5'
