// Finds firewall rules, and the address or network that they are of, within what the caller may see.
import type { FirewallRule } from '#src/contract/network/firewall.ts'
import type { GuestNetwork } from '#src/contract/network/guest-networks.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { integerOf, type Raw, textOf, textsOf } from '#src/drivers/cloudstack/fields.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import { scopeOf, scopeOfOne } from '#src/drivers/cloudstack/tenant-scope.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { type ForwardingAddress, readAddress } from './forwarding-lookup.ts'
import { readNetwork } from './guest-network-lookup.ts'

export type Direction = FirewallRule['direction']

/** The platform has commands of their own for what leaves a network. */
export const FIREWALL_COMMANDS = {
  ingress: { list: 'listFirewallRules', create: 'createFirewallRule', remove: 'deleteFirewallRule' },
  egress: { list: 'listEgressFirewallRules', create: 'createEgressFirewallRule', remove: 'deleteEgressFirewallRule' },
} as const

/** What rules are of: an address that lets in, or a network that lets out. */
export type FirewallPlace =
  | { direction: 'ingress'; address: ForwardingAddress }
  | { direction: 'egress'; network: GuestNetwork }

/** Throws PUBLIC_IP_NOT_FOUND or NETWORK_NOT_FOUND. */
export async function readPlace(
  cloudstack: CloudStack,
  { public_ip_id, network_id }: { public_ip_id?: string; network_id?: string },
  ctx: RequestContext,
): Promise<FirewallPlace> {
  if (public_ip_id !== undefined && network_id !== undefined)
    throw invalidField('body.network_id', 'excludes public_ip_id: a rule is of an address or of a network')
  if (public_ip_id !== undefined)
    return { direction: 'ingress', address: await readAddress(cloudstack, public_ip_id, ctx) }
  if (network_id !== undefined) return { direction: 'egress', network: await readNetwork(cloudstack, network_id, ctx) }
  throw invalidField(
    'body',
    'needs `public_ip_id`, for what an address lets in, or `network_id`, for what a network lets out',
  )
}

/** Everything of the place, of every owner. */
export function argsOfPlace(place: FirewallPlace): Record<string, string> {
  return place.direction === 'ingress' ? { ipaddressid: place.address.id } : { networkid: place.network.id }
}

export function wordsOfPlace(place: FirewallPlace): string {
  return place.direction === 'ingress' ? place.address.ip_address : `network ${place.network.name}`
}

export function tenantOfPlace(place: FirewallPlace): string | null {
  return place.direction === 'ingress' ? place.address.tenant_id : place.network.tenant_id
}

/** How its rows are read. */
export function itemOf(place: FirewallPlace): { key: string; read: (row: Raw) => FirewallRule } {
  return { key: KEY, read: (row) => firewallRuleOf(row, place) }
}

/** Its rules that every owner has: what they say cannot be said twice. */
export function firewallRulesOf(
  cloudstack: CloudStack,
  place: FirewallPlace,
  ctx: RequestContext,
): AsyncGenerator<FirewallRule> {
  const args = { ...argsOfPlace(place), ...scopeOf(null) }
  return cloudstack.listAll(FIREWALL_COMMANDS[place.direction].list, args, itemOf(place), ctx)
}

/** Throws RESOURCE_NOT_FOUND; a rule of another tenant is not distinguishable from none. */
export async function readFirewallRule(
  cloudstack: CloudStack,
  id: string,
  ctx: RequestContext,
): Promise<{ rule: FirewallRule; place: FirewallPlace }> {
  const args = { id, ...scopeOfOne(ctx.caller.tenant_id) }
  const [ingress, egress] = await Promise.all(
    (['ingress', 'egress'] as const).map((one) => findOne(cloudstack, FIREWALL_COMMANDS[one].list, KEY, args, ctx)),
  )
  const row = ingress ?? egress
  if (row === undefined) throw new ApiError('RESOURCE_NOT_FOUND', `Firewall rule ${id} not found.`)
  const where =
    ingress === undefined
      ? { network_id: textOf(row, 'networkid') ?? '' }
      : { public_ip_id: textOf(row, 'ipaddressid') ?? '' }
  const place = await readPlace(cloudstack, where, ctx)
  return { rule: firewallRuleOf(row, place), place }
}

const KEY = 'firewallrule'

function firewallRuleOf(row: Raw, place: FirewallPlace): FirewallRule {
  const start_port = integerOf(row, 'startport')
  return {
    id: textOf(row, 'id') ?? '',
    direction: place.direction,
    action: place.direction === 'ingress' ? 'allow' : exceptionFrom(place.network.egress_default),
    protocol: textOf(row, 'protocol')?.toLowerCase() ?? '',
    start_port,
    end_port: integerOf(row, 'endport') ?? start_port,
    icmp_type: anyAsNull(integerOf(row, 'icmptype')),
    icmp_code: anyAsNull(integerOf(row, 'icmpcode')),
    source_cidrs: textsOf(row, 'cidrlist'),
    destination_cidrs: textsOf(row, 'destcidrlist'),
    public_ip_id: textOf(row, 'ipaddressid'),
    public_ip_address: textOf(row, 'ipaddress'),
    network_id: textOf(row, 'networkid'),
    state: textOf(row, 'state') ?? 'Unknown',
  }
}

function exceptionFrom(egress_default: GuestNetwork['egress_default']): FirewallRule['action'] {
  if (egress_default === null) return null
  return egress_default === 'allow' ? 'deny' : 'allow'
}

/** All types and codes of ICMP are -1. */
function anyAsNull(number: number | null): number | null {
  return number === -1 ? null : number
}
