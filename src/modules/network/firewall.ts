// The firewall of isolated networks: lists, new rules after every check that can be made before, and their deletion.
import { pageOf } from '#src/contract/common.ts'
import type { FirewallRule, FirewallRuleCreate, firewall } from '#src/contract/network/firewall.ts'
import type { Handlers, Input } from '#src/contract/route.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { objectOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { scopeOf } from '#src/drivers/cloudstack/tenant-scope.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { type PlatformDeps, submitCall, submitDestruction } from '../platform-rows.ts'
import { isInside, requireCidrs } from './cidr.ts'
import { effectOfDeletion } from './firewall-effect.ts'
import {
  argsOfPlace, FIREWALL_COMMANDS, type FirewallPlace, firewallRulesOf, itemOf, readFirewallRule, readPlace, tenantOfPlace, wordsOfPlace,
} from './firewall-lookup.ts' // biome-ignore format: one import
import { requireAllocated } from './forwarding-lookup.ts'
import { wordsFor } from './forwarding-ports.ts'
import { requireNetworkState } from './guest-network-lookup.ts'

type Routes = typeof firewall.routes
type In<Op extends keyof Routes> = Input<Routes[Op]>

const THINGS = { ingress: 'firewall_rule', egress: 'egress_rule' } as const

export function firewallHandlers(deps: PlatformDeps): Handlers<Routes, RequestContext> {
  const { cloudstack } = deps
  return {
    firewallRuleList: ruleList(cloudstack),
    firewallRuleCreate: createRule(deps),
    firewallRuleDelete: deleteRule(deps),
  }
}

function ruleList(cloudstack: CloudStack) {
  return async ({ body }: In<'firewallRuleList'>, ctx: RequestContext) => {
    const place = await readPlace(cloudstack, body, ctx)
    const page = pageOf(body)
    const args = { ...argsOfPlace(place), ...scopeOf(ctx.caller.tenant_id) }
    const { list } = FIREWALL_COMMANDS[place.direction]
    const { rows, count } = await cloudstack.listPage(list, args, itemOf(place), page, ctx)
    return { firewall_rules: rows, count, ...page }
  }
}

function createRule(deps: PlatformDeps) {
  const { cloudstack } = deps
  const plan = async ({ body }: In<'firewallRuleCreate'>, ctx: RequestContext) => {
    requireOneProtocol(body)
    const place = await readPlace(cloudstack, body, ctx)
    requireOpen(place)
    requireRanges(body, place)
    await requireNew(cloudstack, body, place, ctx)
    const words = `${wordsOf(body)} of ${wordsOfPlace(place)}`
    return {
      command: FIREWALL_COMMANDS[place.direction].create,
      args: {
        ...argsOfPlace(place),
        protocol: body.protocol,
        startport: body.start_port,
        endport: body.end_port ?? body.start_port,
        icmptype: body.icmp_type,
        icmpcode: body.icmp_code,
        cidrlist: body.source_cidrs,
        destcidrlist: body.destination_cidrs,
      },
      creates: true,
      resource_type: 'FIREWALL_RULE',
      postcondition: {
        thing: THINGS[place.direction],
        args: { id: '$id' },
        expect: { state: 'Active', protocol: body.protocol },
      },
      subject: {
        resource_id: null,
        resource_name: words,
        tenant_id: tenantOfPlace(place),
        description: `Creating the ${place.direction} rule of ${words}.`,
        done: `The ${place.direction} rule of ${words} is created.`,
      },
    }
  }
  return submitCall(deps, plan, async (result, _input, ctx) => {
    const id = textOf(objectOf(result ?? {}, 'firewallrule') ?? {}, 'id')
    return id === null ? undefined : (await readFirewallRule(cloudstack, id, ctx)).rule
  })
}

function deleteRule(deps: PlatformDeps) {
  return submitDestruction(deps, async ({ params }: In<'firewallRuleDelete'>, ctx: RequestContext) => {
    const { rule, place } = await readFirewallRule(deps.cloudstack, params.id, ctx)
    const words = `${wordsOf(rule)} of ${wordsOfPlace(place)}`
    return {
      command: FIREWALL_COMMANDS[place.direction].remove,
      args: { id: rule.id },
      resource_type: 'FIREWALL_RULE',
      postcondition: { thing: THINGS[place.direction], args: { id: rule.id }, expect: {}, gone: true as const },
      subject: {
        resource_id: rule.id,
        resource_name: words,
        tenant_id: tenantOfPlace(place),
        related: [rule.public_ip_id, rule.network_id],
        description: `Deleting the ${place.direction} rule of ${words}.`,
        done: `The ${place.direction} rule of ${words} is deleted.`,
        would: () => effectOfDeletion(deps.cloudstack, { rule, place, words: wordsOf(rule) }, ctx),
      },
    }
  })
}

type Packets = Pick<FirewallRule, 'protocol'> &
  Partial<Pick<FirewallRule, 'start_port' | 'end_port' | 'icmp_type' | 'icmp_code'>>

function wordsOf({ protocol, start_port, end_port, icmp_type, icmp_code }: Packets): string {
  if (typeof start_port === 'number') return wordsFor(protocol, { start: start_port, end: end_port ?? start_port })
  if (typeof icmp_type === 'number')
    return `icmp type ${icmp_type}${typeof icmp_code === 'number' ? ` code ${icmp_code}` : ''}`
  return protocol === 'all' ? 'all packets' : `all ${protocol} packets`
}

/** Ports belong to tcp and udp, types and codes to icmp. */
function requireOneProtocol(body: FirewallRuleCreate): void {
  const { protocol, start_port, end_port, icmp_type, icmp_code } = body
  const with_ports = protocol === 'tcp' || protocol === 'udp'
  const strange = with_ports ? (['icmp_type', 'icmp_code'] as const) : (['start_port', 'end_port'] as const)
  const wrong = strange.find((name) => body[name] !== undefined)
  if (wrong !== undefined) throw invalidField(`body.${wrong}`, `does not go with protocol ${protocol}`)
  const no_icmp = protocol === 'all' && icmp_type !== undefined
  if (no_icmp) throw invalidField('body.icmp_type', 'does not go with protocol all')
  if (icmp_code !== undefined && icmp_type === undefined) throw invalidField('body.icmp_code', 'needs icmp_type')
  if (end_port === undefined) return
  if (start_port === undefined) throw invalidField('body.end_port', 'needs start_port')
  if (start_port > end_port) throw invalidField('body.start_port', `${start_port} is greater than end_port ${end_port}`)
}

/** A firewall stands before isolated networks alone. */
function requireOpen(place: FirewallPlace): void {
  if (place.direction === 'ingress') {
    const { address } = place
    requireAllocated(address)
    if (address.vpc_id !== null)
      throw invalidField(
        'body.public_ip_id',
        `${address.ip_address} belongs to a VPC, whose networks have access lists instead`,
      )
    if (address.network_id === null)
      throw invalidField(
        'body.public_ip_id',
        `${address.ip_address} belongs to no network yet, so that nothing can be let in`,
      )
    return
  }
  const { network } = place
  if (network.vpc_id !== null)
    throw invalidField('body.network_id', `${network.name} belongs to a VPC, whose networks have access lists instead`)
  if (network.type !== 'Isolated' || !network.services.includes('Firewall'))
    throw invalidField('body.network_id', `${network.name} is a network of type ${network.type} without a firewall`)
  requireNetworkState(network, 'update')
}

const EVERYWHERE = '0.0.0.0/0'

function requireRanges(body: FirewallRuleCreate, place: FirewallPlace): void {
  requireCidrs('source_cidrs', body.source_cidrs ?? [])
  requireCidrs('destination_cidrs', body.destination_cidrs ?? [])
  if (place.direction === 'ingress') {
    if (body.protocol === 'all')
      throw invalidField('body.protocol', 'all goes with network_id alone; give tcp, udp or icmp')
    if (body.destination_cidrs !== undefined)
      throw invalidField('body.destination_cidrs', 'goes with network_id alone: an ingress rule leads to its address')
    return
  }
  const { cidr, name } = place.network
  for (const [index, source] of (body.source_cidrs ?? []).entries()) {
    if (cidr === null || source === EVERYWHERE || isInside(source, cidr)) continue
    throw invalidField(`body.source_cidrs.${index}`, `${source} is not inside ${cidr}, the range of network ${name}`)
  }
}

/** As the platform compares them: rules meet when a range of each list stands in both, and their ports or messages overlap. */
async function requireNew(
  cloudstack: CloudStack,
  body: FirewallRuleCreate,
  place: FirewallPlace,
  ctx: RequestContext,
): Promise<void> {
  const whole_network = place.direction === 'egress' ? (place.network.cidr ?? EVERYWHERE) : EVERYWHERE
  const sources = (body.source_cidrs ?? [whole_network]).map((one) => (one === EVERYWHERE ? whole_network : one))
  const destinations = body.destination_cidrs ?? []
  for await (const rule of firewallRulesOf(cloudstack, place, ctx)) {
    const same = rule.protocol === body.protocol && meet(rule.source_cidrs, sources)
    if (!same || !meet(rule.destination_cidrs, destinations) || !overlap(rule, body)) continue
    const message = `The ${rule.direction} rule ${rule.id} has ${wordsOf(rule)} of ${wordsOfPlace(place)} already; delete it first, or give other ports or ranges.`
    throw new ApiError('FIREWALL_RULE_CONFLICT', message)
  }
}

function meet(one: readonly string[], other: readonly string[]): boolean {
  return (one.length === 0 && other.length === 0) || one.some((cidr) => other.includes(cidr))
}

function overlap(rule: FirewallRule, body: FirewallRuleCreate): boolean {
  if (rule.protocol === 'icmp')
    return rule.icmp_type === (body.icmp_type ?? null) && rule.icmp_code === (body.icmp_code ?? null)
  const { start_port: start = null } = body
  if (start === null || rule.start_port === null) return start === rule.start_port
  return start <= (rule.end_port ?? rule.start_port) && rule.start_port <= (body.end_port ?? start)
}
