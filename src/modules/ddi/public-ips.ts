// Handlers of the area `public-ips`.
import type { PublicIp, publicIps } from '#src/contract/ddi/public-ips.ts'
import type { Handlers, Input } from '#src/contract/route.ts'
import type { Postcondition } from '#src/drivers/cloudstack/postcondition.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import { asApiError } from '#src/kernel/http/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { recordChange } from '#src/store/app-events.ts'
import { planOf, type Subject } from '../operation.ts'
import { submitCallToEnd } from '../platform-rows.ts'
import type { AddressDns } from './address-dns.ts'
import { publicIpAcquire } from './public-ips-acquire.ts'
import type { PublicIpDeps } from './public-ips-deps.ts'
import { publicIpDnsSet } from './public-ips-dns.ts'
import { publicIpList, withNames } from './public-ips-list.ts'
import { effectOfRelease } from './public-ips-release.ts'
import { requireOwned, requirePublicIp } from './public-ips-view.ts'
import { enableNat, natTarget, requireNoOtherNat } from './static-nat.ts'

type Routes = typeof publicIps.routes

export function publicIpHandlers(deps: PublicIpDeps): Handlers<Routes, RequestContext> {
  const { cloudstack, dns } = deps
  return {
    publicIpList: publicIpList(deps),
    publicIpAcquire: publicIpAcquire(deps),
    publicIpAssociate: publicIpAssociate(deps),
    publicIpDisassociate: publicIpDisassociate(deps),
    publicIpRelease: publicIpRelease(deps),
    publicIpDnsSet: publicIpDnsSet(deps),
    async publicIpGet({ params, query }: Input<Routes['publicIpGet']>, ctx: RequestContext) {
      const address = await requirePublicIp(cloudstack, params.ip_id, ctx)
      const { data, note } = await withNames(dns, [address], query)
      const words = `Public IP ${address.ip_address}.`
      return { data: data[0] ?? address, message: note === undefined ? words : `${words} ${note}`, success: true }
    },
  }
}

function publicIpAssociate(deps: PublicIpDeps) {
  const { cloudstack } = deps
  return async ({ params, body }: Input<Routes['publicIpAssociate']>, ctx: RequestContext) => {
    if (body.vm_id === undefined) throw invalidField('body.vm_id', 'is needed')
    const address = await requirePublicIp(cloudstack, params.ip_id, ctx)
    requireOwned(address)
    // An address that stands in a network leads to that network alone; one of a VPC is tied by the tier of the machine.
    const network_id = address.network_id ?? body.network_id
    if (address.network_id !== null && body.network_id !== undefined && body.network_id !== address.network_id)
      throw invalidField('body.network_id', `differs from the network of the address, ${address.network_id}`)
    const where = { network_id, vpc_id: address.vpc_id ?? undefined, vm_guest_ip: body.vm_guest_ip }
    const target = await natTarget(cloudstack, { vm_id: body.vm_id, ...where }, ctx)
    const { ip_address } = address
    const same = address.vm_guest_ip === (body.vm_guest_ip ?? address.vm_guest_ip)
    if (address.associated && address.vm_id === target.vm_id && same)
      return { success: true, message: `Public IP ${ip_address} leads to ${target.vm_name} already.` }
    requireAssociable(address)
    await requireNoOtherNat(cloudstack, target, address.id)
    const about = aboutAddress(address, `Associating public IP ${ip_address} with ${target.vm_name}.`)
    return recordChange(
      deps,
      ctx,
      { resource_type: 'PUBLIC_IP', resource_uuid: address.id, ...about },
      async (note) => {
        await enableNat(cloudstack, address.id, target, {
          caller: ctx.caller,
          signal: AbortSignal.timeout(READ_AGAIN_MS),
        })
        note.description = `Public IP ${ip_address} leads to ${target.vm_name}.`
        return { success: true, message: note.description }
      },
    )
  }
}

const READ_AGAIN_MS = 20_000

function requireAssociable(address: PublicIp): void {
  const { ip_address } = address
  if (address.source_nat === true)
    throw new ApiError('PUBLIC_IP_STATE', `Public IP ${ip_address} is the source NAT of its network; take another one.`)
  if (address.associated) {
    const other = address.vm_name ?? address.vm_id
    throw new ApiError('PUBLIC_IP_STATE', `Public IP ${ip_address} leads to ${other}; disassociate it first.`)
  }
  if (address.has_rules === true)
    throw new ApiError(
      'PUBLIC_IP_STATE',
      `Public IP ${ip_address} has forwarding or firewall rules; remove them first.`,
    )
}

function publicIpDisassociate(deps: PublicIpDeps) {
  const plan = async ({ params }: Input<Routes['publicIpDisassociate']>, ctx: RequestContext) => {
    const address = await requirePublicIp(deps.cloudstack, params.ip_id, ctx)
    const { ip_address } = address
    if (!address.associated)
      throw new ApiError('PUBLIC_IP_NOT_ASSOCIATED', `Public IP ${ip_address} leads to no virtual machine.`)
    const subject = subjectOf(
      address,
      `Disassociating public IP ${ip_address}.`,
      'leads to no virtual machine any more',
    )
    const postcondition: Postcondition = {
      thing: 'public_ip',
      args: { id: address.id },
      expect: { isstaticnat: false },
      gone: true,
    }
    const call = {
      command: 'disableStaticNat',
      args: { ipaddressid: address.id },
      postcondition,
      resource_type: 'PUBLIC_IP',
    }
    return { ...call, subject }
  }
  return submitCallToEnd(deps, plan, ({ status }) => ({ success: true, message: status }))
}

function publicIpRelease(deps: PublicIpDeps) {
  const plan = async ({ params }: Input<Routes['publicIpRelease']>, ctx: RequestContext) => {
    const address = await requirePublicIp(deps.cloudstack, params.ip_id, ctx)
    requireOwned(address)
    const { ip_address } = address
    if (address.source_nat === true)
      throw new ApiError(
        'PUBLIC_IP_STATE',
        `Public IP ${ip_address} is the source NAT of its network and goes with it.`,
      )
    const subject = {
      ...subjectOf(address, `Releasing public IP ${ip_address}.`, 'is released'),
      would: () => effectOfRelease(deps, address, ctx),
    }
    const args = { id: address.id }
    const postcondition: Postcondition = {
      thing: 'public_ip',
      args,
      expect: { state: ['Free', 'Releasing'] },
      gone: true,
    }
    const call = { command: 'disassociateIpAddress', args, postcondition, resource_type: 'PUBLIC_IP' }
    return { ...call, subject }
  }
  const release = submitCallToEnd(deps, plan, async ({ status, resource_name }) => ({
    success: true,
    message: `${status}${await namesWithdrawn(deps.dns, resource_name)}`,
  }))
  return async (input: Input<Routes['publicIpRelease']>, ctx: RequestContext) =>
    ctx.dry_run ? planOf((await plan(input, ctx)).subject) : release(input, ctx)
}

/** The address is gone already; a name that stays behind is reported, not a reason to fail. */
async function namesWithdrawn(dns: AddressDns | undefined, ip_address: string): Promise<string> {
  if (dns === undefined) return ''
  try {
    const names = await dns.withdraw({ ip_address, dns_zone: undefined })
    return names.length === 0 ? '' : ` Removed from DNS: ${names.map((name) => name.fqdn).join(', ')}.`
  } catch (error) {
    return ` Its names in DNS could not be removed: ${asApiError(error, null).message}`
  }
}

function aboutAddress(address: PublicIp, description: string) {
  return { description, tenant_id: address.domain_id }
}

function subjectOf(address: PublicIp, description: string, done: string): Subject {
  return {
    resource_id: address.id,
    resource_name: address.ip_address,
    related: [address.vm_id, address.network_id],
    ...aboutAddress(address, description),
    done: `Public IP ${address.ip_address} ${done}.`,
  }
}
