// Finds forwarding rules, and the address and machine they join, within what the caller may see.
import { FORWARDING_TARGET_STATES, type PortForwarding } from '#src/contract/network/port-forwarding.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { flagOf, integerOf, type Raw, rowsOf, textOf, textsOf } from '#src/drivers/cloudstack/fields.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import { scopeOf, scopeOfOne } from '#src/drivers/cloudstack/tenant-scope.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { Affected } from '../operation.ts'
import { readNetwork } from './guest-network-lookup.ts'

export const RULE_ITEM = { key: 'portforwardingrule', read: ruleOf }

/** Throws PORT_FORWARDING_NOT_FOUND; a rule of another tenant is not distinguishable from none. */
export async function readRule(cloudstack: CloudStack, id: string, ctx: RequestContext): Promise<PortForwarding> {
  const row = await findOne(
    cloudstack,
    'listPortForwardingRules',
    RULE_ITEM.key,
    { id, ...scopeOfOne(ctx.caller.tenant_id) },
    ctx,
  )
  if (row === undefined) throw new ApiError('PORT_FORWARDING_NOT_FOUND', `Port-forwarding rule ${id} not found.`)
  return ruleOf(row)
}

export interface ForwardingAddress {
  id: string
  ip_address: string
  state: string
  static_nat: boolean
  /** Machine that static NAT leads to. */
  target: Affected | null
  network_id: string | null
  vpc_id: string | null
  tenant_id: string | null
}

/** Throws PUBLIC_IP_NOT_FOUND. An address that nobody has belongs to no tenant. */
export async function readAddress(cloudstack: CloudStack, id: string, ctx: RequestContext): Promise<ForwardingAddress> {
  const args = { id, allocatedonly: false, ...scopeOfOne(ctx.caller.tenant_id) }
  const row = await findOne(cloudstack, 'listPublicIpAddresses', 'publicipaddress', args, ctx)
  const free = row !== undefined && textOf(row, 'state') === 'Free'
  if (row === undefined || (free && ctx.caller.tenant_id !== null)) {
    throw new ApiError('PUBLIC_IP_NOT_FOUND', `Public IP ${id} not found.`)
  }
  return {
    id: textOf(row, 'id') ?? '',
    ip_address: textOf(row, 'ipaddress') ?? '',
    state: textOf(row, 'state') ?? 'Unknown',
    static_nat: flagOf(row, 'isstaticnat') === true,
    target: natTargetOf(row),
    network_id: textOf(row, 'associatednetworkid'),
    vpc_id: textOf(row, 'vpcid'),
    tenant_id: textOf(row, 'domainid'),
  }
}

function natTargetOf(row: Raw): Affected | null {
  const id = textOf(row, 'virtualmachineid')
  return id === null ? null : { kind: 'virtual_machine', id, name: textOf(row, 'virtualmachinename') ?? id }
}

export function requireAllocated({ state, ip_address }: ForwardingAddress): void {
  if (state !== 'Allocated')
    throw new ApiError('PUBLIC_IP_STATE', `Public address ${ip_address} is ${state}; this needs Allocated.`)
}

export function requireNoStaticNat({ static_nat, ip_address }: ForwardingAddress): void {
  if (static_nat)
    throw new ApiError('PUBLIC_IP_STATE', `Public address ${ip_address} has static NAT; disassociate it first.`)
}

/** The network of the address counts; without one the caller must name it, and it must be its own. */
export async function targetNetwork(
  cloudstack: CloudStack,
  address: ForwardingAddress,
  named: string | undefined,
  ctx: RequestContext,
): Promise<string> {
  if (address.network_id !== null) {
    if (named !== undefined && named !== address.network_id)
      throw invalidField('body.network_id', `differs from the network of the address, ${address.network_id}`)
    return address.network_id
  }
  if (named === undefined)
    throw invalidField('body.network_id', 'is required: the public address belongs to no network yet')
  const network = await readNetwork(cloudstack, named, ctx)
  if (network.vpc_id !== address.vpc_id)
    throw invalidField('body.network_id', 'is not a network of the VPC that the address belongs to')
  return network.id
}

interface ForwardingTarget {
  id: string
  name: string
  state: string
  network_ids: ReadonlySet<string>
}

export async function readTarget(cloudstack: CloudStack, id: string, ctx: RequestContext): Promise<ForwardingTarget> {
  const args = { id, details: 'min,nics', ...scopeOfOne(ctx.caller.tenant_id) }
  const row = await findOne(cloudstack, 'listVirtualMachines', 'virtualmachine', args, ctx)
  if (row === undefined) throw new ApiError('VM_NOT_FOUND', `Virtual machine ${id} not found.`)
  return {
    id,
    name: textOf(row, 'name') ?? '',
    state: textOf(row, 'state') ?? 'Unknown',
    network_ids: new Set(rowsOf(row, 'nic').map((nic) => textOf(nic, 'networkid') ?? '')),
  }
}

/** The address of a machine in any other state is not sure. */
export function requireTargetState({ name, state }: ForwardingTarget): void {
  const states: readonly string[] = FORWARDING_TARGET_STATES
  if (states.includes(state)) return
  throw new ApiError('VM_STATE', `Virtual machine ${name} is ${state}; this needs ${states.join(' or ')}.`)
}

/** All rules of one address, of every owner: their ports are taken. */
export function rulesOf(
  cloudstack: CloudStack,
  public_ip_id: string,
  ctx: RequestContext,
): AsyncGenerator<PortForwarding> {
  return cloudstack.listAll('listPortForwardingRules', { ipaddressid: public_ip_id, ...scopeOf(null) }, RULE_ITEM, ctx)
}

/** Ports come as text. */
function ruleOf(row: Raw): PortForwarding {
  const public_start = integerOf(row, 'publicport')
  const private_start = integerOf(row, 'privateport')
  return {
    id: textOf(row, 'id') ?? '',
    protocol: textOf(row, 'protocol')?.toLowerCase() ?? '',
    public_port_start: public_start,
    public_port_end: integerOf(row, 'publicendport') ?? public_start,
    private_port_start: private_start,
    private_port_end: integerOf(row, 'privateendport') ?? private_start,
    public_ip_id: textOf(row, 'ipaddressid'),
    public_ip_address: textOf(row, 'ipaddress'),
    virtual_machine_id: textOf(row, 'virtualmachineid'),
    virtual_machine_name: textOf(row, 'virtualmachinename'),
    virtual_machine_ip_address: textOf(row, 'vmguestip'),
    network_id: textOf(row, 'networkid'),
    cidrlist: textsOf(row, 'cidrlist'),
    state: textOf(row, 'state') ?? 'Unknown',
  }
}
