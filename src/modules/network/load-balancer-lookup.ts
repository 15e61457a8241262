// Finds load-balancer rules and the machines that serve them, within what the caller may see.
import type { LoadBalancer, LoadBalancerWithMachines } from '#src/contract/network/load-balancers.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { integerOf, type Raw, rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import { scopeOf, scopeOfOne } from '#src/drivers/cloudstack/tenant-scope.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'

export const BALANCER_ITEM = { key: 'loadbalancerrule', read: balancerOf }

/** Throws RESOURCE_NOT_FOUND; a rule of another tenant is not distinguishable from none. */
export async function readBalancer(cloudstack: CloudStack, id: string, ctx: RequestContext): Promise<LoadBalancer> {
  const args = { id, ...scopeOfOne(ctx.caller.tenant_id) }
  const row = await findOne(cloudstack, 'listLoadBalancerRules', BALANCER_ITEM.key, args, ctx)
  if (row === undefined) throw new ApiError('RESOURCE_NOT_FOUND', `Load-balancer rule ${id} not found.`)
  return balancerOf(row)
}

/** The platform answers with all machines of a rule, whatever page is asked for. */
export async function withMachines(
  cloudstack: CloudStack,
  id: string,
  ctx: RequestContext,
): Promise<LoadBalancerWithMachines> {
  const balancer = await readBalancer(cloudstack, id, ctx)
  return { ...balancer, machines: await machinesOf(cloudstack, balancer, ctx) }
}

export async function machinesOf(
  cloudstack: CloudStack,
  { id, network_id }: LoadBalancer,
  ctx: RequestContext,
): Promise<LoadBalancerWithMachines['machines']> {
  const content = await cloudstack.call('listLoadBalancerRuleInstances', { id }, ctx)
  return rowsOf(content, 'loadbalancerruleinstance').map((row) => machineOf(row, network_id))
}

/** Of one public address, as far as the caller sees. */
export function balancersOf(
  cloudstack: CloudStack,
  public_ip_id: string,
  ctx: RequestContext,
): AsyncGenerator<LoadBalancer> {
  const args = { publicipid: public_ip_id, ...scopeOf(ctx.caller.tenant_id) }
  return cloudstack.listAll('listLoadBalancerRules', args, BALANCER_ITEM, ctx)
}

function machineOf(row: Raw, network_id: string | null): LoadBalancerWithMachines['machines'][number] {
  const nic = rowsOf(row, 'nic').find((one) => textOf(one, 'networkid') === network_id)
  return {
    virtual_machine_id: textOf(row, 'id') ?? '',
    virtual_machine_name: textOf(row, 'name') ?? '',
    ip_address: nic === undefined ? null : textOf(nic, 'ipaddress'),
    state: textOf(row, 'state') ?? 'Unknown',
    service_state: textOf(row, 'servicestate'),
  }
}

/** Ports come as text, sources with blanks between them (with commas before 4.18). */
function balancerOf(row: Raw): LoadBalancer {
  return {
    id: textOf(row, 'id') ?? '',
    name: textOf(row, 'name') ?? '',
    description: textOf(row, 'description'),
    algorithm: textOf(row, 'algorithm') ?? 'Unknown',
    protocol: textOf(row, 'protocol')?.toLowerCase() ?? 'tcp',
    public_port: integerOf(row, 'publicport'),
    private_port: integerOf(row, 'privateport'),
    public_ip_id: textOf(row, 'publicipid'),
    public_ip_address: textOf(row, 'publicip'),
    network_id: textOf(row, 'networkid'),
    source_cidrs: textOf(row, 'cidrlist')?.match(/[^\s,]+/g) ?? [],
    state: textOf(row, 'state') ?? 'Unknown',
    tenant_id: textOf(row, 'domainid'),
    tenant_name: textOf(row, 'domain'),
    account: textOf(row, 'account'),
    project_id: textOf(row, 'projectid'),
  }
}
