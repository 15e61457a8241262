// POST /admin/tenants: checks everything that can be checked, claims the name together with the job that makes the
// tenant, and waits for its end.
import { randomUUID } from 'node:crypto'
import type { TenantCreate, tenants } from '#src/contract/tenants.ts'
import type { Input } from '#src/contract/route.ts'
import { completedJob } from '#src/jobs/answer.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { ASSOCIATED_DATA } from '#src/store/encrypted-places.ts'
import { claimTenant, type TenantClaim } from '#src/store/tenants.ts'
import { type TenantInput, tenantCreateJob } from './create.job.ts'
import type { TenantDeps } from './deps.ts'
import { domainNamed, readDomain, requireTenant, tenantOf } from './lookup.ts'
import { generatedPassword } from './password.ts'
import { checkRange, findRange, type RangeSpec, requireAdvancedZone, requireDedicable } from './ranges.ts'

type In = Input<(typeof tenants.routes)['tenantCreate']>

const RESERVED = new Set(['root'])

export function tenantCreate(deps: TenantDeps) {
  const admit = async ({ body }: In, ctx: RequestContext) => {
    const range = rangeIn(body)
    if (RESERVED.has(body.name.toLowerCase())) throw invalidField('body.name', 'is the name of the root itself')
    const id = body.domain_uuid ?? randomUUID()
    await requireFree(deps, body, id, range, ctx.signal)
    const input: TenantInput = {
      id,
      name: body.name,
      ...(body.network_domain === undefined ? {} : { network_domain: body.network_domain }),
      ...(range === undefined ? {} : { range }),
      account: body.name,
      username: `${body.name}-admin`,
      password: generatedPassword(),
    }
    await deps.jobs.admit(tenantCreateJob, {
      operation: ctx,
      input,
      description: `Creating tenant ${body.name}.`,
      resource_id: id,
      resource_name: body.name,
      tenant_id: id,
      metadata: { name: body.name, ...(range === undefined ? {} : { range }) },
      also: async (trx) => {
        if (!(await claimTenant(trx, claimOf(deps, input, body.description ?? '', ctx)))) throw exists(body.name)
      },
    })
  }
  return completedJob(deps.jobs, {
    admit,
    completed: async ({ resource_id }, _input: In, ctx) =>
      tenantOf(await requireTenant(deps.database, resource_id ?? '', ctx.caller)),
  })
}

export function claimOf(
  { keyring }: Pick<TenantDeps, 'keyring'>,
  input: TenantInput,
  description: string,
  ctx: Pick<RequestContext, 'caller'>,
): TenantClaim {
  return {
    id: input.id,
    name: input.name,
    description,
    network_domain: input.network_domain ?? null,
    admin_account: input.account,
    admin_username: input.username,
    admin_password: keyring.encrypt(input.password, ASSOCIATED_DATA.tenant(input.id)),
    created_by: ctx.caller.username,
  }
}

const RANGE_FIELDS = ['zone_id', 'start_ip', 'end_ip', 'gateway', 'netmask'] as const

/** All five fields or none (Part 3, 4.9). */
function rangeIn(body: TenantCreate): RangeSpec | undefined {
  const missing = RANGE_FIELDS.filter((field) => body[field] === undefined)
  if (missing.length === RANGE_FIELDS.length) return undefined
  const errors = missing.map((field) => ({ path: `body.${field}`, message: 'is needed with the other range fields' }))
  if (errors.length > 0) {
    throw new ApiError('INVALID_REQUEST', `A range needs all of ${RANGE_FIELDS.join(', ')}.`, { errors })
  }
  const { zone_id = '', start_ip = '', end_ip = '', gateway = '', netmask = '' } = body
  const range = { zone_id, start_ip, end_ip, gateway, netmask }
  checkRange(range)
  return range
}

async function requireFree(
  { cloudstack }: TenantDeps,
  body: TenantCreate,
  id: string,
  range: RangeSpec | undefined,
  signal: AbortSignal,
): Promise<void> {
  if (body.domain_uuid !== undefined && (await readDomain(cloudstack, id, signal)) !== undefined) {
    throw new ApiError(
      'TENANT_EXISTS',
      `A tenant with the id ${id} already exists; leave \`domain_uuid\` out or choose another one.`,
    )
  }
  if ((await domainNamed(cloudstack, body.name, signal)) !== undefined) throw exists(body.name)
  if (range === undefined) return
  await requireAdvancedZone(cloudstack, range.zone_id)
  const { exact } = await findRange(cloudstack, range, signal)
  if (exact !== undefined) requireDedicable(exact, id)
}

function exists(name: string): ApiError {
  return new ApiError('TENANT_EXISTS', `A tenant named ${name} exists, or has the id asked for.`)
}
