/** The names that stand on answers beside ids: owner, zone, host. */
import type { Json, Owned } from './row.ts'
import type { SimulatorState } from './state.ts'

export function ownerFields(state: SimulatorState, owned: Owned): Record<string, Json> {
  const account = state.tables.accounts.get(owned.accountid)
  const domain = state.tables.domains.get(account?.domainid)
  const place = { domainid: domain?.id ?? null, domain: domain?.name ?? null, domainpath: domain?.path ?? null }
  if (owned.projectid === null) return { account: account?.name ?? null, ...place }
  return { projectid: owned.projectid, project: text(state.tables.projects.get(owned.projectid)?.['name']), ...place }
}

export function zoneFields(state: SimulatorState, zoneid: string): Record<string, Json> {
  return { zoneid, zonename: text(state.tables.zones.get(zoneid)?.['name']) }
}

export function text(value: Json | undefined): string | null {
  return typeof value === 'string' ? value : null
}
