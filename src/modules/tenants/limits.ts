// Limits of a tenant: read from the platform, changed by one call for each field that differs (cloudstack.md 8.2).
import { LIMIT_FIELDS, type LimitField, type TenantLimits } from '#src/contract/tenants/limits.ts'
import type { tenants } from '#src/contract/tenants.ts'
import type { Input } from '#src/contract/route.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { integerOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { asApiError } from '#src/kernel/http/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { isLostAnswer, untilAnswered } from '#src/kernel/lost-answers.ts'
import { recordChange } from '#src/store/app-events.ts'
import { changeTenant } from '#src/store/tenants.ts'
import type { TenantDeps } from './deps.ts'
import { requireLiveTenant } from './lookup.ts'

type Routes = typeof tenants.routes

/** The platform's number of each kind; its units are ours: MiB of memory, GiB of storage. */
const RESOURCE_TYPE: Readonly<Record<LimitField, number>> = {
  instances: 0,
  ips: 1,
  volumes: 2,
  snapshots: 3,
  templates: 4,
  projects: 5,
  networks: 6,
  vpcs: 7,
  cpus: 8,
  memory: 9,
  primary_storage: 10,
  secondary_storage: 11,
}

export function isLimitField(name: string): name is LimitField {
  return name in LIMIT_FIELDS
}
const FIELDS = Object.keys(LIMIT_FIELDS).filter(isLimitField)

export function limitHandlers(deps: TenantDeps) {
  const { cloudstack, database } = deps
  return {
    async tenantLimitsGet({ params }: Input<Routes['tenantLimitsGet']>, ctx: RequestContext) {
      await requireLiveTenant(database, params.id, ctx.caller)
      return readLimits(cloudstack, params.id, ctx.signal)
    },
    async tenantLimitsSet({ params, body }: Input<Routes['tenantLimitsSet']>, ctx: RequestContext) {
      const tenant = await requireLiveTenant(database, params.id, ctx.caller)
      const before = await readLimits(cloudstack, tenant.id, ctx.signal)
      const wanted = FIELDS.flatMap((field) => {
        const max = body[field]
        return max === undefined || max === before[field] ? [] : [{ field, max }]
      })
      const about = {
        resource_type: 'TENANT',
        resource_uuid: tenant.id,
        tenant_id: tenant.id,
        description: `Setting limits of tenant ${tenant.name}.`,
      }
      return recordChange(deps, ctx, about, async (note) => {
        await setLimits(cloudstack, tenant.id, wanted)
        const after = await readLimits(cloudstack, tenant.id, AbortSignal.timeout(READ_AGAIN_MS))
        const off = wanted.find(({ field, max }) => after[field] !== max)
        if (off !== undefined) {
          throw new ApiError(
            'CHANGE_NOT_SEEN',
            `The compute platform took ${off.field} = ${off.max}, but shows ${after[off.field]}.`,
          )
        }
        if (Object.keys(body).length > 0) await changeTenant(database.db, tenant.id, { limits_set_at: new Date() })
        note.description = `Limits of tenant ${tenant.name}: ${wanted.map(worded).join(', ') || 'nothing to change'}.`
        return after
      })
    },
  }
}

const READ_AGAIN_MS = 20_000

interface Wanted {
  field: LimitField
  max: number
}

const worded = ({ field, max }: Wanted): string => `${field} = ${max}`

/** The caller waits. */
const PATIENCE_MS = 5000

/** Not atomic on the platform: a failure tells what was set before it. */
async function setLimits(cloudstack: CloudStack, domainid: string, wanted: readonly Wanted[]): Promise<void> {
  for (const [index, { field, max }] of wanted.entries()) {
    try {
      const args = { domainid, resourcetype: RESOURCE_TYPE[field], max }
      // Sent again when the answer is lost: the first one may still arrive, and twice sets no more than once.
      await untilAnswered(undefined, () => cloudstack.call('updateResourceLimit', args), { for_ms: PATIENCE_MS })
    } catch (thrown) {
      const done = wanted.slice(0, index)
      if (isLostAnswer(thrown) && (await holds(cloudstack, domainid, { field, max }))) continue
      throw partly(thrown, domainid, { field, max }, done, wanted.slice(index + 1))
    }
  }
}

/** After a lost answer the platform tells whether the limit is set. */
async function holds(cloudstack: CloudStack, domainid: string, { field, max }: Wanted): Promise<boolean> {
  const now = await readLimits(cloudstack, domainid, AbortSignal.timeout(READ_AGAIN_MS)).catch(() => undefined)
  return now?.[field] === max
}

function partly(
  thrown: unknown,
  domainid: string,
  at: Wanted,
  done: readonly Wanted[],
  rest: readonly Wanted[],
): ApiError {
  const refused = asApiError(thrown, domainid)
  const set = done.length === 0 ? 'Nothing was set before it' : `Set before it: ${done.map(worded).join(', ')}`
  const left = rest.length === 0 ? '' : ` Not tried: ${rest.map(worded).join(', ')}.`
  return new ApiError(refused.code, `${worded(at)} could not be set: ${refused.message} ${set}.${left}`, {
    cause: thrown,
    upstream_message: refused.upstream_message,
    errors: [{ path: `body.${at.field}`, message: refused.message }],
  })
}

async function readLimits(cloudstack: CloudStack, domainid: string, signal: AbortSignal): Promise<TenantLimits> {
  const found = new Map<string, number | null>()
  for await (const rows of cloudstack.listPages('listResourceLimits', { domainid }, 'resourcelimit', { signal })) {
    for (const row of rows) {
      // Tagged rows limit a part of the same kind.
      if (textOf(row, 'tag') === null) found.set(textOf(row, 'resourcetype') ?? '', integerOf(row, 'max'))
    }
  }
  const limit = (field: LimitField): number | null => found.get(String(RESOURCE_TYPE[field])) ?? null
  return {
    cpus: limit('cpus'),
    instances: limit('instances'),
    ips: limit('ips'),
    memory: limit('memory'),
    networks: limit('networks'),
    primary_storage: limit('primary_storage'),
    projects: limit('projects'),
    secondary_storage: limit('secondary_storage'),
    snapshots: limit('snapshots'),
    templates: limit('templates'),
    volumes: limit('volumes'),
    vpcs: limit('vpcs'),
  }
}
