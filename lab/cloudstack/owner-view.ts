/** The names that stand on answers beside ids: owner, zone, host. */
import type { Json, Owned } from './row.ts'
import type { World } from './state.ts'

export function ownerFields(world: World, owned: Owned): Record<string, Json> {
  const account = world.tables.accounts.get(owned.accountid)
  const domain = world.tables.domains.get(account?.domainid)
  const place = { domainid: domain?.id ?? null, domain: domain?.name ?? null, domainpath: domain?.path ?? null }
  if (owned.projectid === null) return { account: account?.name ?? null, ...place }
  return { projectid: owned.projectid, project: text(world.tables.projects.get(owned.projectid)?.['name']), ...place }
}

export function zoneFields(world: World, zoneid: string): Record<string, Json> {
  return { zoneid, zonename: text(world.tables.zones.get(zoneid)?.['name']) }
}

export function text(value: Json | undefined): string | null {
  return typeof value === 'string' ? value : null
}
