// Zones in the words of PowerDNS: kinds, paths, and the sets that a new or moved zone begins with.
import type { UpstreamError } from '#src/kernel/errors.ts'
import type { ZoneType } from '../ddi/dns-server.ts'
import { RejectionError } from '../ddi/rejection.ts'
import { bare, dotted, type RecordSet } from './record-form.ts'

/** A slash of a reverse zone of less than an octet is written `=2F` there. */
export function zonePath(name: string): string {
  return `/zones/${encodeURIComponent(dotted(name).replaceAll('/', '=2F'))}`
}

export function typeOf(kind: string): ZoneType {
  return kind === 'Slave' || kind === 'Secondary' || kind === 'Consumer' ? 'Secondary' : 'Primary'
}

export function kindOf(type: ZoneType, notify: boolean): string {
  if (type === 'Secondary') return 'Slave'
  if (type === 'Primary') return notify ? 'Master' : 'Native'
  // Any other word would silently make an ordinary zone.
  const detail = `zones of type ${type} are not supported by this name server`
  throw new RejectionError({ upstream: 'DNS', operation: 'zone type', status: 422, detail, sent: '' })
}

export function apexSets(
  name: string,
  { name_servers, hostmaster }: { name_servers: readonly string[]; hostmaster: string },
): unknown[] {
  const servers = name_servers.length === 0 ? [`ns1.${name}`] : name_servers
  const soa = `${dotted(servers[0] ?? '')} ${dotted(hostmaster)} 0 10800 3600 604800 3600`
  return [
    { name: dotted(name), type: 'SOA', ttl: 3600, records: [{ content: soa, disabled: false }] },
    {
      name: dotted(name),
      type: 'NS',
      ttl: 3600,
      records: servers.map((server) => ({ content: dotted(server), disabled: false })),
    },
  ]
}

/** Switched on: a zone without a start of authority cannot be made. */
export function movedSet(set: RecordSet, from: string, to: string): unknown {
  const records = set.type === 'SOA' ? set.records.map((line) => ({ ...line, disabled: false })) : set.records
  return { ...set, name: dotted(bare(set.name).slice(0, -from.length) + to), records }
}

export function gone(zone: string): UpstreamError {
  const detail = `zone ${zone} is gone from the server`
  return new RejectionError({ upstream: 'DNS', operation: 'zone', status: 404, detail, sent: zone })
}
