// POST /ddi/public-ips: checks what can be checked, then waits for the job that acquires.
import type { PublicIpAcquire, publicIps } from '#src/contract/ddi/public-ips.ts'
import type { Input } from '#src/contract/route.ts'
import { encodeArgs } from '#src/drivers/cloudstack/args.ts'
import { completedJob } from '#src/jobs/answer.ts'
import type { JobRow } from '#src/jobs/job-row.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { missingDnsNote, publicIpAcquireJob } from './public-ips-acquire.job.ts'
import { checkAcquire, placeOf } from './public-ips-owner.ts'
import type { PublicIpDeps } from './public-ips-deps.ts'
import { withNames } from './public-ips-list.ts'
import { publicIpOf, requirePublicIp } from './public-ips-view.ts'
import { natTarget, requireNoOtherNat } from './static-nat.ts'
import { requireOwnZone } from './zone-owner.ts'

type In = Input<(typeof publicIps.routes)['publicIpAcquire']>

const DEFAULT_TTL_S = 3600

export function publicIpAcquire(deps: PublicIpDeps) {
  const { cloudstack, dns } = deps
  const admit = async ({ body }: In, ctx: RequestContext) => {
    checkAcquire(body)
    if (body.create_dns === true && dns !== undefined) await requireOwnZone(deps, body.dns_zone, ctx)
    const place = await placeOf(cloudstack, body, ctx)
    const nat =
      body.vm_id === undefined
        ? null
        : await natTarget(cloudstack, { vm_id: body.vm_id, network_id: place.network_id, vpc_id: place.vpc_id }, ctx)
    if (nat !== null) await requireNoOtherNat(cloudstack, nat, null)
    if (body.ip_address !== undefined) await requireFree(deps, body, body.ip_address, ctx)
    await deps.jobs.admit(publicIpAcquireJob, {
      operation: ctx,
      input: {
        args: encodeArgs({ zoneid: body.zone_id, ipaddress: body.ip_address, ...place.args }),
        ip_address: body.ip_address ?? null,
        nat: nat === null ? null : { vm_id: nat.vm_id, vm_name: nat.vm_name, network_id: nat.network_id },
        name: nameOf(body),
      },
      description: `Acquiring public IP${body.ip_address === undefined ? '' : ` ${body.ip_address}`}.`,
      tenant_id: place.tenant_id ?? ctx.caller.tenant_id,
      metadata: { zone_id: body.zone_id, network_id: place.network_id ?? null, vpc_id: place.vpc_id ?? null },
    })
  }
  const completed = async (job: JobRow, { body }: In, ctx: RequestContext) => {
    const address = await requirePublicIp(cloudstack, job.resource_id ?? '', ctx)
    const create_dns = body.create_dns === true
    const named = await withNames(dns, [address], { ...body, include_dns: create_dns && dns !== undefined })
    const [data = address] = named.data
    return {
      data: create_dns && dns === undefined ? { ...data, dns_created: false } : data,
      message: `${job.status}${missingDnsNote(create_dns, dns)}`,
      success: true,
    }
  }
  return completedJob(deps.jobs, { admit, completed })
}

function nameOf(body: PublicIpAcquire) {
  if (body.create_dns !== true || body.hostname === undefined) return null
  return {
    hostname: body.hostname,
    dns_zone: body.dns_zone ?? null,
    ttl: body.ttl ?? DEFAULT_TTL_S,
    create_ptr: body.create_ptr ?? false,
  }
}

/** One that is owned, or in no range of the zone, cannot be had. */
async function requireFree(
  { cloudstack }: PublicIpDeps,
  body: PublicIpAcquire,
  ip_address: string,
  ctx: RequestContext,
): Promise<void> {
  const args = { zoneid: body.zone_id, ipaddress: ip_address, allocatedonly: false, listall: true, projectid: '-1' }
  const item = { key: 'publicipaddress', read: publicIpOf }
  const options = { signal: ctx.signal }
  const { rows } = await cloudstack.listPage('listPublicIpAddresses', args, item, { page: 1, page_size: 50 }, options)
  if (!rows.some((row) => row.state === 'Released'))
    throw new ApiError('PUBLIC_IP_UNAVAILABLE', `The address ${ip_address} is not free in this zone.`)
}
