// The dedicated public range of a tenant: recorded here, true on the platform.
import type { TenantNetwork } from '#src/contract/tenants/network.ts'
import type { tenants } from '#src/contract/tenants.ts'
import type { Input } from '#src/contract/route.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { isLostAnswer } from '#src/kernel/lost-answers.ts'
import { recordChange } from '#src/store/app-events.ts'
import { violates } from '#src/store/database.ts'
import { changeTenant, type TenantRow } from '#src/store/tenants.ts'
import type { TenantDeps } from './deps.ts'
import { requireLiveTenant } from './lookup.ts'
import {
  checkRange,
  findRange,
  type PublicRange,
  rangeColumns,
  rangeOfTenant,
  type RangeSpec,
  readRange,
  requireAdvancedZone,
  requireDedicable,
} from './ranges.ts'

type Routes = typeof tenants.routes

export function networkHandlers(deps: TenantDeps) {
  return {
    async tenantNetworkGet({ params }: Input<Routes['tenantNetworkGet']>, ctx: RequestContext) {
      const tenant = await requireLiveTenant(deps.database, params.id, ctx.caller)
      const range = await heldRange(deps, tenant, ctx.signal)
      if (range === undefined && tenant.vlan_range_id === null) {
        throw new ApiError('TENANT_NETWORK_NOT_FOUND', `The tenant ${tenant.name} has no dedicated public range.`)
      }
      return networkOf(tenant, range)
    },
    async tenantNetworkDedicate({ params, body }: Input<Routes['tenantNetworkDedicate']>, ctx: RequestContext) {
      const tenant = await requireLiveTenant(deps.database, params.id, ctx.caller)
      const range = await dedicable(deps, tenant, body, ctx.signal)
      const about = {
        resource_type: 'TENANT',
        resource_uuid: tenant.id,
        tenant_id: tenant.id,
        description: `Dedicating ${body.start_ip} to ${body.end_ip} to tenant ${tenant.name}.`,
      }
      return recordChange(deps, ctx, about, async () => {
        await claimRange(deps, tenant, range)
        if (range.tenant_id !== tenant.id) await dedicate(deps, tenant, range)
        const now = await readRange(deps.cloudstack, range.id, AbortSignal.timeout(READ_AGAIN_MS))
        if (now?.tenant_id !== tenant.id) {
          throw new ApiError(
            'CHANGE_NOT_SEEN',
            `The compute platform took the range ${body.start_ip} to ${body.end_ip}, but does not show it as dedicated.`,
          )
        }
        const row = await changeTenant(deps.database.db, tenant.id, {
          dedicated_at:
            range.tenant_id === tenant.id && tenant.dedicated_at !== null ? tenant.dedicated_at : new Date(),
        })
        return networkOf(row ?? tenant, now)
      })
    },
  }
}

const READ_AGAIN_MS = 20_000
/** A call may still be on its way when its connection broke. */
const LATE_CALL_MS = 3000

/** The range that the platform says is the tenant's: the one recorded here if it still is, else the first. */
async function heldRange(
  { cloudstack }: TenantDeps,
  tenant: TenantRow,
  signal: AbortSignal,
): Promise<PublicRange | undefined> {
  const recorded = tenant.vlan_range_id === null ? undefined : await readRange(cloudstack, tenant.vlan_range_id, signal)
  return recorded?.tenant_id === tenant.id ? recorded : rangeOfTenant(cloudstack, tenant.id, signal)
}

/** The range asked for, when nothing stands against it. */
async function dedicable(
  deps: TenantDeps,
  tenant: TenantRow,
  body: RangeSpec,
  signal: AbortSignal,
): Promise<PublicRange> {
  checkRange(body)
  await requireAdvancedZone(deps.cloudstack, body.zone_id)
  const { exact } = await findRange(deps.cloudstack, body, signal)
  if (exact === undefined) {
    throw new ApiError(
      'IP_RANGE_NOT_FOUND',
      `Zone ${body.zone_id} has no public range from ${body.start_ip} to ${body.end_ip}.`,
    )
  }
  requireDedicable(exact, tenant.id)
  const held = await heldRange(deps, tenant, signal)
  if (held !== undefined && held.id !== exact.id) {
    throw new ApiError(
      'TENANT_NETWORK_EXISTS',
      `The tenant ${tenant.name} has the range ${held.start_ip} to ${held.end_ip}.`,
    )
  }
  return exact
}

/** Written first: of two callers who dedicate one range to two tenants, one is refused before the platform is asked. */
async function claimRange({ database }: TenantDeps, tenant: TenantRow, range: PublicRange): Promise<void> {
  try {
    await changeTenant(database.db, tenant.id, rangeColumns(range))
  } catch (error) {
    if (violates(error, 'tenant_range')) {
      throw new ApiError(
        'IP_RANGE_IN_USE',
        `The public range ${range.start_ip} to ${range.end_ip} is dedicated to another tenant; release it there first.`,
        { cause: error },
      )
    }
    throw error
  }
}

async function dedicate({ cloudstack, database }: TenantDeps, tenant: TenantRow, range: PublicRange): Promise<void> {
  try {
    await cloudstack.call('dedicatePublicIpRange', { id: range.id, domainid: tenant.id })
  } catch (error) {
    // After a lost answer the range itself tells.
    const read = () =>
      readRange(cloudstack, range.id, AbortSignal.timeout(READ_AGAIN_MS)).catch(() => 'unknown' as const)
    let now = await read()
    if (isLostAnswer(error) && now !== 'unknown' && now?.tenant_id !== tenant.id) {
      await cloudstack.pause(LATE_CALL_MS)
      now = await read()
    }
    if (now !== 'unknown' && now?.tenant_id === tenant.id) return
    if (now !== 'unknown') await changeTenant(database.db, tenant.id, recordedBefore(tenant))
    throw error
  }
}

function recordedBefore(row: TenantRow) {
  const { vlan_range_id, vlan, range_zone_id, range_start_ip, range_end_ip, range_gateway, range_netmask } = row
  return { vlan_range_id, vlan, range_zone_id, range_start_ip, range_end_ip, range_gateway, range_netmask }
}

function networkOf(tenant: TenantRow, range: PublicRange | undefined): TenantNetwork {
  const recorded = range === undefined || range.id === tenant.vlan_range_id
  return {
    dedicated_at: recorded ? (tenant.dedicated_at?.toISOString() ?? null) : null,
    start_ip: range?.start_ip ?? tenant.range_start_ip,
    end_ip: range?.end_ip ?? tenant.range_end_ip,
    gateway: range?.gateway ?? tenant.range_gateway,
    netmask: range?.netmask ?? tenant.range_netmask,
    status: range === undefined ? 'RELEASED_ELSEWHERE' : 'DEDICATED',
    tenant_id: tenant.id,
    tenant_name: tenant.name,
    vlan_range_id: range?.id ?? tenant.vlan_range_id ?? '',
    zone_id: range?.zone_id ?? tenant.range_zone_id,
  }
}
