// Reverse records: the PTR of an address in the nearest reverse zone, one line of a set that may hold others.
import type { RecordData } from '#src/drivers/ddi/dns-server.ts'
import type { DnsDeps } from './deps.ts'
import { reverseName, usualReverseZone } from './names.ts'
import { DEFAULT_TTL_S } from './record-rules.ts'

type ReverseDeps = Pick<DnsDeps, 'server' | 'contents'>

/** Why no PTR was made; undefined when it is there. */
export async function makePtr(
  deps: ReverseDeps,
  { value: address, fqdn, ttl }: Pick<RecordData, 'value' | 'fqdn' | 'ttl'>,
  create_zone: boolean,
): Promise<string | undefined> {
  const name = reverseName(address)
  let zone = await nearestZone(deps, name)
  if (zone === undefined) {
    if (!create_zone) return `no reverse zone holds ${address}`
    zone = usualReverseZone(address)
    await deps.server.createZone({ name: zone, type: 'Primary' })
  }
  const there = await deps.server.records(zone, { fqdn: name })
  if (there.some((row) => row.fqdn === name && row.type === 'CNAME')) return `${name} is a CNAME`
  if (there.some((row) => row.fqdn === name && row.type === 'PTR' && row.value === fqdn)) return undefined
  await deps.server.changeRecords(zone, [{ action: 'add', record: ptrOf(name, fqdn, ttl) }])
  deps.contents.changed(zone, [name])
  return undefined
}

/** Only the line that leads to this name; false when there was none. */
export async function dropPtr(deps: ReverseDeps, address: string, fqdn: string): Promise<boolean> {
  const name = reverseName(address)
  const zone = await nearestZone(deps, name)
  if (zone === undefined) return false
  const rows = await deps.server.records(zone, { fqdn: name })
  const old = rows.find((row) => row.fqdn === name && row.type === 'PTR' && row.value === fqdn)
  if (old === undefined) return false
  await deps.server.changeRecords(zone, [{ action: 'delete', old }])
  deps.contents.changed(zone, [name])
  return true
}

/** The primary zone with the most labels that the name lies in. */
async function nearestZone({ server }: ReverseDeps, name: string): Promise<string | undefined> {
  const labels = name.split('.')
  for (let from = 1; from < labels.length - 1; from += 1) {
    const zone = await server.zoneHead(labels.slice(from).join('.'))
    if (zone !== undefined) return zone.type === 'Primary' ? zone.name : undefined
  }
  return undefined
}

function ptrOf(fqdn: string, value: string, ttl = DEFAULT_TTL_S): RecordData {
  return { fqdn, type: 'PTR', ttl, value, priority: null, weight: null, port: null, comment: '' }
}

export function hasReverse({ type }: Pick<RecordData, 'type'>): boolean {
  return type === 'A' || type === 'AAAA'
}
