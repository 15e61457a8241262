// Where callers of a tenant may publish names: in zones that were made for a network of theirs.
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { textOf } from '#src/drivers/cloudstack/fields.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { Database } from '#src/store/database.ts'
import { zoneNotes } from '#src/store/dns-orders.ts'
import { nameOf } from './dns/names.ts'

export async function requireOwnZone(
  { cloudstack, database }: { cloudstack: CloudStack; database: Database },
  dns_zone: string | undefined,
  { caller, signal }: RequestContext,
): Promise<void> {
  if (caller.tenant_id === null) return
  if (dns_zone === undefined)
    throw invalidField('body.dns_zone', 'is needed: names are published in a zone of your network')
  const name = nameOf(dns_zone)
  const network_id = (await zoneNotes(database.db)).find((zone) => zone.name === name)?.network_id ?? null
  const network =
    network_id === null
      ? undefined
      : await findOne(cloudstack, 'listNetworks', 'network', { id: network_id, listall: true }, { signal })
  if (network === undefined || textOf(network, 'domainid') !== caller.tenant_id)
    throw new ApiError('TENANT_SCOPE', `Zone ${name} was made for no network of this tenant.`)
}
