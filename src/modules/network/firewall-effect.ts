// What the deletion of a firewall rule would cut off: the machines that its packets lead to or come from.
import type { FirewallRule } from '#src/contract/network/firewall.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { type Raw, rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { scopeOf } from '#src/drivers/cloudstack/tenant-scope.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { Affected, Effect } from '../operation.ts'
import { isInside } from './cidr.ts'
import { type FirewallPlace, wordsOfPlace } from './firewall-lookup.ts'
import { RULE_ITEM } from './forwarding-lookup.ts'
import { overlaps } from './forwarding-ports.ts'
import { balancersOf, machinesOf } from './load-balancer-lookup.ts'

interface Deletion {
  rule: FirewallRule
  place: FirewallPlace
  /** Its packets. */
  words: string
}

export async function effectOfDeletion(
  cloudstack: CloudStack,
  { rule, place, words }: Deletion,
  ctx: RequestContext,
): Promise<Effect> {
  const [machines, then] =
    place.direction === 'ingress'
      ? [
          await machinesBehind(cloudstack, rule, place.address, ctx),
          `From ${rule.source_cidrs.join(', ')} it lets nothing in any more`,
        ]
      : [
          await machinesInside(cloudstack, rule, place.network.id, ctx),
          `What leaves ${rule.source_cidrs.join(', ')} for ${rule.destination_cidrs.join(', ') || 'anywhere'} is ${
            rule.action === 'deny' ? 'denied by it no more' : 'allowed by it no more'
          }`,
        ]
  const names = machines.map((one) => one.name).join(', ')
  const place_thing =
    place.direction === 'ingress'
      ? { kind: 'public_ip', id: place.address.id, name: place.address.ip_address }
      : { kind: 'network', id: place.network.id, name: place.network.name }
  return {
    message: `Would delete the ${rule.direction} rule of ${words} of ${wordsOfPlace(place)}. ${then}; this touches ${names || 'no virtual machine'}.`,
    affected: [place_thing, ...machines],
  }
}

/** What the address forwards the packets of the rule to, by static NAT, port forwarding or load balancing. */
async function machinesBehind(
  cloudstack: CloudStack,
  rule: FirewallRule,
  { id, target }: { id: string; target: Affected | null },
  ctx: RequestContext,
): Promise<Affected[]> {
  if (target !== null) return [target]
  const { start_port: start, end_port: end, protocol } = rule
  const within = (port: number | null): boolean =>
    start === null || (port !== null && start <= port && port <= (end ?? start))
  const found = new Map<string, Affected>()
  const put = (machine_id: string | null, name: string | null): void => {
    if (machine_id !== null) found.set(machine_id, machineOf(machine_id, name))
  }
  const args = { ipaddressid: id, ...scopeOf(ctx.caller.tenant_id) }
  for await (const one of cloudstack.listAll('listPortForwardingRules', args, RULE_ITEM, ctx)) {
    if (one.protocol === protocol && (start === null || overlaps(one, { start, end: end ?? start })))
      put(one.virtual_machine_id, one.virtual_machine_name)
  }
  // Balancers speak TCP; those of UDP say so.
  for await (const balancer of balancersOf(cloudstack, id, ctx)) {
    if ((balancer.protocol === 'udp' ? 'udp' : 'tcp') !== protocol || !within(balancer.public_port)) continue
    for (const one of await machinesOf(cloudstack, balancer, ctx)) put(one.virtual_machine_id, one.virtual_machine_name)
  }
  return [...found.values()]
}

/** Those of the network whose address the rule is about. */
async function machinesInside(
  cloudstack: CloudStack,
  rule: FirewallRule,
  network_id: string,
  ctx: RequestContext,
): Promise<Affected[]> {
  const args = { networkid: network_id, details: 'min,nics', ...scopeOf(ctx.caller.tenant_id) }
  const item = { key: 'virtualmachine', read: (row: Raw) => row }
  const found: Affected[] = []
  for await (const row of cloudstack.listAll('listVirtualMachines', args, item, ctx)) {
    const nic = rowsOf(row, 'nic').find((one) => textOf(one, 'networkid') === network_id)
    const address = nic === undefined ? null : textOf(nic, 'ipaddress')
    const sources = rule.source_cidrs
    if (sources.length === 0 || (address !== null && sources.some((range) => isInside(`${address}/32`, range))))
      found.push(machineOf(textOf(row, 'id') ?? '', textOf(row, 'name')))
  }
  return found
}

function machineOf(id: string, name: string | null): Affected {
  return { kind: 'virtual_machine', id, name: name ?? id }
}
