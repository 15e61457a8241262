// What the release of a public address would take with it: its rules, the machine that it leads to, its names.
import type { PublicIp } from '#src/contract/ddi/public-ips.ts'
import { type Raw, textOf } from '#src/drivers/cloudstack/fields.ts'
import { scopeOf } from '#src/drivers/cloudstack/tenant-scope.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { Affected, Effect } from '../operation.ts'
import type { PublicIpDeps } from './public-ips-deps.ts'

const RULES = [
  { kind: 'firewall_rule', command: 'listFirewallRules', key: 'firewallrule', filter: 'ipaddressid' },
  { kind: 'port_forwarding', command: 'listPortForwardingRules', key: 'portforwardingrule', filter: 'ipaddressid' },
  { kind: 'load_balancer', command: 'listLoadBalancerRules', key: 'loadbalancerrule', filter: 'publicipid' },
] as const

const WORDS: Readonly<Record<string, string>> = {
  firewall_rule: 'firewall rule', port_forwarding: 'port-forwarding rule', load_balancer: 'load-balancer rule', dns_record: 'DNS name',
} // biome-ignore format: one record

export async function effectOfRelease(
  { cloudstack, dns }: PublicIpDeps,
  { id, ip_address, vm_id, vm_name }: PublicIp,
  ctx: RequestContext,
): Promise<Effect> {
  const scope = scopeOf(ctx.caller.tenant_id)
  const rules = await Promise.all(
    RULES.map(async ({ kind, command, key, filter }) => {
      const found: Affected[] = []
      for await (const rows of cloudstack.listPages(command, { [filter]: id, ...scope }, key, ctx))
        found.push(...rows.map((row) => ruleOf(kind, row)))
      return found
    }),
  )
  const name = (await dns?.lookup([ip_address], undefined))?.get(ip_address)
  const affected = [
    ...(vm_id === null ? [] : [{ kind: 'virtual_machine', id: vm_id, name: vm_name ?? vm_id }]),
    ...rules.flat(),
    ...(name === undefined ? [] : [{ kind: 'dns_record', id: name.record_id, name: name.fqdn }]),
  ]
  const lost = affected.filter(({ kind }) => kind !== 'virtual_machine')
  const words = lost.map(({ kind, name: what }) => `${WORDS[kind] ?? kind} ${what}`)
  const machine = vm_id === null ? '' : `; virtual machine ${vm_name ?? vm_id} would be reached by it no more`
  const rest = words.join(', ') || 'nothing that stands on it'
  return { message: `Would release public IP ${ip_address} with ${rest}${machine}.`, affected }
}

/** Load-balancer rules have names; of the others the ports say which they are. */
function ruleOf(kind: string, row: Raw): Affected {
  const id = textOf(row, 'id')
  const ports = [textOf(row, 'protocol'), textOf(row, 'publicport') ?? textOf(row, 'startport')]
  return { kind, id, name: textOf(row, 'name') ?? (ports.filter((one) => one !== null).join(' ') || (id ?? '')) }
}
