// Static NAT: which machine and network an address may be tied to, and tying it.
import type { PublicIp } from '#src/contract/ddi/public-ips.ts'
import type { Args } from '#src/drivers/cloudstack/args.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { type Raw, rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import { type Postcondition, findMismatch } from '#src/drivers/cloudstack/postcondition.ts'
import { scopeOfOne } from '#src/drivers/cloudstack/tenant-scope.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { isLostAnswer } from '#src/kernel/lost-answers.ts'
import { requirePublicIp } from './public-ips-view.ts'

type Context = Pick<RequestContext, 'caller' | 'signal'>

export interface NatTarget {
  vm_id: string
  vm_name: string
  network_id: string
  /** As asked for; left out, the platform takes the NIC's primary one. */
  vm_guest_ip: string | undefined
}

interface FoundTarget extends NatTarget {
  /** The address of the machine that is meant, asked for or not. */
  guest_address: string | null
}

interface Wanted {
  vm_id: string
  network_id?: string | undefined
  vpc_id?: string | undefined
  vm_guest_ip?: string | undefined
}

const STATES = ['Running', 'Stopped']

/** The machine, and the one of its networks that the address can reach it in. */
export async function natTarget(cloudstack: CloudStack, wanted: Wanted, ctx: Context): Promise<FoundTarget> {
  const args = { id: wanted.vm_id, details: 'nics', ...scopeOfOne(ctx.caller.tenant_id) }
  const vm = await findOne(cloudstack, 'listVirtualMachines', 'virtualmachine', args, { signal: ctx.signal })
  if (vm === undefined) throw new ApiError('VM_NOT_FOUND', `Virtual machine ${wanted.vm_id} not found.`)
  const name = textOf(vm, 'name') ?? wanted.vm_id
  const state = textOf(vm, 'state')
  if (state === null || !STATES.includes(state)) {
    throw new ApiError('VM_STATE', `Virtual machine ${name} is ${state}; this needs ${STATES.join(' or ')}.`)
  }
  const nic = nicFor(rowsOf(vm, 'nic'), wanted, name)
  if (wanted.vm_guest_ip !== undefined && !addressesOf(nic).includes(wanted.vm_guest_ip))
    throw invalidField('body.vm_guest_ip', `is no address of ${name} in this network`)
  return {
    vm_id: wanted.vm_id,
    vm_name: name,
    network_id: textOf(nic, 'networkid') ?? '',
    vm_guest_ip: wanted.vm_guest_ip,
    guest_address: wanted.vm_guest_ip ?? textOf(nic, 'ipaddress'),
  }
}

function nicFor(nics: readonly Raw[], { network_id, vpc_id }: Wanted, name: string): Raw {
  const fitting = nics.filter(
    (nic) =>
      (network_id === undefined || textOf(nic, 'networkid') === network_id) &&
      (vpc_id === undefined || textOf(nic, 'vpcid') === vpc_id),
  )
  const [nic] = fitting
  if (nic === undefined) throw invalidField('body.vm_id', `${name} has no NIC in the network of the address`)
  if (fitting.length > 1) throw invalidField('body.network_id', `is needed: ${name} has several NICs`)
  return nic
}

function addressesOf(nic: Raw): string[] {
  const secondary = rowsOf(nic, 'secondaryip').map((row) => textOf(row, 'ipaddress') ?? '')
  return [textOf(nic, 'ipaddress') ?? '', ...secondary]
}

/** An address of a machine has one static NAT at most; its other addresses may have their own. */
export async function requireNoOtherNat(
  cloudstack: CloudStack,
  target: FoundTarget,
  ip_id: string | null,
): Promise<void> {
  const args = { associatednetworkid: target.network_id, isstaticnat: true, listall: true, projectid: '-1' }
  for await (const rows of cloudstack.listPages('listPublicIpAddresses', args, 'publicipaddress')) {
    const other = rows.find(
      (row) =>
        textOf(row, 'virtualmachineid') === target.vm_id &&
        textOf(row, 'vmipaddress') === target.guest_address &&
        textOf(row, 'id') !== ip_id,
    )
    if (other !== undefined) {
      throw new ApiError(
        'COMPUTE_CONFLICT',
        `The address ${target.guest_address} of ${target.vm_name} is associated with ${textOf(other, 'ipaddress')} already.`,
      )
    }
  }
}

export function natArgs(ip_id: string, target: NatTarget): Args {
  return {
    ipaddressid: ip_id,
    virtualmachineid: target.vm_id,
    networkid: target.network_id,
    vmguestip: target.vm_guest_ip,
  }
}

/** Ties the address and verifies it; after a lost answer the address itself tells. */
export async function enableNat(
  cloudstack: CloudStack,
  ip_id: string,
  target: NatTarget,
  ctx: Context,
): Promise<PublicIp> {
  let lost: unknown
  try {
    await cloudstack.call('enableStaticNat', natArgs(ip_id, target))
  } catch (error) {
    if (!isLostAnswer(error)) throw error
    lost = error
  }
  const expect = { isstaticnat: true, virtualmachineid: target.vm_id }
  const postcondition: Postcondition = { thing: 'public_ip', args: { id: ip_id }, expect }
  const seen = await findMismatch(cloudstack, postcondition, { signal: ctx.signal })
  if (seen !== null)
    throw lost ?? new ApiError('CHANGE_NOT_SEEN', `The compute platform reports success, but ${seen.words}.`)
  return requirePublicIp(cloudstack, ip_id, ctx)
}
