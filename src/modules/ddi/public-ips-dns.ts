// PUT /ddi/public-ips/{ip_id}/dns: the record of one address, through the DNS port.
import type { publicIps } from '#src/contract/ddi/public-ips.ts'
import type { Input } from '#src/contract/route.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { recordChange } from '#src/store/app-events.ts'
import { type AddressDns, dnsNotConfigured } from './address-dns.ts'
import type { PublicIpDeps } from './public-ips-deps.ts'
import { requireOwned, requirePublicIp } from './public-ips-view.ts'
import { requireOwnZone } from './zone-owner.ts'

type In = Input<(typeof publicIps.routes)['publicIpDnsSet']>

const WORDS = { create: 'Publishing', update: 'Changing', delete: 'Removing' } as const

export function publicIpDnsSet(deps: PublicIpDeps) {
  return async ({ params, body }: In, ctx: RequestContext) => {
    const { dns } = deps
    if (body.public_ip_id !== undefined && body.public_ip_id !== params.ip_id)
      throw invalidField('body.public_ip_id', 'differs from the path')
    if (body.action !== 'delete' && body.hostname === undefined)
      throw invalidField('body.hostname', `is needed for ${body.action}`)
    if (body.action === 'create' && body.record_id !== undefined)
      throw invalidField('body.record_id', 'goes with update and delete')
    if (dns === undefined) throw dnsNotConfigured()
    const address = await requirePublicIp(deps.cloudstack, params.ip_id, ctx)
    requireOwned(address)
    await requireOwnZone(deps, body.dns_zone, ctx)
    const { ip_address } = address
    // Whatever the caller names, only a record of this very address is touched.
    const record_id = body.action === 'create' ? undefined : await recordOf(dns, ip_address, body)
    const about = {
      resource_type: 'PUBLIC_IP',
      resource_uuid: address.id,
      tenant_id: address.domain_id,
      description: `${WORDS[body.action]} the name of public IP ${ip_address}.`,
    }
    return recordChange(deps, ctx, about, async (note) => {
      const answer =
        body.action === 'delete'
          ? await remove(dns, ip_address, body, record_id)
          : await publish(dns, ip_address, body, record_id)
      note.description = answer.message
      return answer
    })
  }
}

async function recordOf(dns: AddressDns, ip_address: string, body: In['body']): Promise<string> {
  const found = (await dns.lookup([ip_address], body.dns_zone)).get(ip_address)
  if (found === undefined || (body.record_id !== undefined && body.record_id !== found.record_id))
    throw new ApiError(
      'RESOURCE_NOT_FOUND',
      `Address ${ip_address} has no record ${body.record_id ?? `in zone ${body.dns_zone}`}.`,
    )
  return found.record_id
}

async function publish(dns: AddressDns, ip_address: string, body: In['body'], record_id: string | undefined) {
  const { hostname = '', dns_zone, ttl, create_ptr = false } = body
  const made = await dns.publish({ ip_address, hostname, dns_zone, ttl, create_ptr, record_id })
  return {
    fqdn: made.fqdn,
    ip_address,
    message: `${made.fqdn} leads to ${ip_address}.`,
    ptr_created: made.ptr_created,
    success: true,
    record_id: made.record_id,
  }
}

async function remove(dns: AddressDns, ip_address: string, body: In['body'], record_id: string | undefined) {
  const [gone] = await dns.withdraw({ ip_address, dns_zone: body.dns_zone, record_id })
  const fqdn = gone?.fqdn ?? null
  return {
    fqdn,
    ip_address,
    message: fqdn === null ? `${ip_address} had no name any more.` : `${fqdn} leads to ${ip_address} no more.`,
    ptr_created: false,
    success: true,
    record_id: record_id ?? null,
  }
}
