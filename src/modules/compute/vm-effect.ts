// What the destruction of a virtual machine would take with it.
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { type Raw, textOf } from '#src/drivers/cloudstack/fields.ts'
import { scopeOf } from '#src/drivers/cloudstack/tenant-scope.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { Affected, Effect, Subject } from '../operation.ts'
import { optionsOf } from './vm-list.ts'

interface Destruction {
  virtual_machine_id: string
  expunge?: boolean
  volume_ids?: string[]
}

/** Its root disk and snapshots go with a machine that is expunged, its data disks only where they are named. */
export async function effectOfDestruction(
  cloudstack: CloudStack,
  { resource_name }: Subject,
  { virtual_machine_id: id, expunge = false, volume_ids = [] }: Destruction,
  ctx: RequestContext,
): Promise<Effect> {
  const scope = scopeOf(ctx.caller.tenant_id)
  const rowsOf = async (command: string, key: string, filter: object): Promise<Raw[]> => {
    const rows: Raw[] = []
    for await (const page of cloudstack.listPages(command, { ...filter, ...scope }, key, optionsOf(ctx)))
      rows.push(...page)
    return rows
  }
  const filter = { virtualmachineid: id }
  const [volumes, snapshots, addresses] = await Promise.all([
    rowsOf('listVolumes', 'volume', filter),
    rowsOf('listVMSnapshot', 'vmSnapshot', filter),
    rowsOf('listPublicIpAddresses', 'publicipaddress', { isstaticnat: true, forvirtualnetwork: true }),
  ])
  const lost = volumes.filter(
    (row) => (expunge && textOf(row, 'type') === 'ROOT') || volume_ids.includes(textOf(row, 'id') ?? ''),
  )
  const affected = [
    ...lost.map((row) => affectedOf('volume', row)),
    ...(expunge ? snapshots.map((row) => affectedOf('snapshot', row)) : []),
    ...addresses
      .filter((row) => textOf(row, 'virtualmachineid') === id)
      .map((row) => affectedOf('public_ip', row, 'ipaddress')),
  ]
  const named = (kind: string, words: string): string[] =>
    affected.filter((one) => one.kind === kind).map(({ name }) => `${words} ${name}`)
  const going = [...named('volume', 'volume'), ...named('snapshot', 'snapshot')].join(', ')
  const parts = [
    `Would destroy virtual machine ${resource_name}${expunge ? ' for good' : ''}${going === '' ? '' : ` with ${going}`}`,
    ...named('public_ip', 'public IP').map((address) => `${address} would lead nowhere`),
    ...(expunge ? [] : ['it could be recovered until it is expunged']),
  ]
  return { message: `${parts.join('; ')}.`, affected }
}

function affectedOf(kind: string, row: Raw, name = 'name'): Affected {
  const id = textOf(row, 'id')
  return { kind, id, name: textOf(row, name) ?? id ?? '' }
}
