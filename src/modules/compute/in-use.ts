// The virtual machines that use a thing: named before it is deleted.
import type { Args } from '#src/drivers/cloudstack/args.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { integerOf, rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { WHOLE_SCOPE } from '#src/drivers/cloudstack/lists.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { optionsOf } from './vm-list.ts'

const NAMED = 3

/** Words for them, undefined when there is none. Of other tenants a tenant-scoped caller learns how many there are. */
export async function machinesWith(
  cloudstack: CloudStack,
  filter: Args,
  ctx: RequestContext,
): Promise<string | undefined> {
  const args = { ...WHOLE_SCOPE, ...filter, details: 'min', page: 1, pagesize: 500 }
  const content = await cloudstack.call('listVirtualMachines', args, optionsOf(ctx))
  const rows = rowsOf(content, 'virtualmachine')
  const count = integerOf(content, 'count') ?? rows.length
  if (count === 0) return undefined
  const { tenant_id } = ctx.caller
  const names = rows
    .filter((row) => tenant_id === null || textOf(row, 'domainid') === tenant_id)
    .slice(0, NAMED)
    .map((row) => textOf(row, 'name') ?? textOf(row, 'id') ?? '')
  const others = count - names.length
  if (names.length === 0)
    return count === 1 ? 'a virtual machine of another tenant' : `${count} virtual machines of other tenants`
  return others === 0 ? names.join(', ') : `${names.join(', ')} and ${others} more`
}
