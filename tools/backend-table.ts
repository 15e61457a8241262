// docs/reference/ddi-backends.md: what each server of addresses can and cannot express, from the limits of its driver.
import type { DhcpLimits } from '#src/drivers/ddi/dhcp-server.ts'
import type { DnsLimits, ZoneType } from '#src/drivers/ddi/dns-server.ts'
import type { IpamLimits } from '#src/drivers/ddi/ipam-store.ts'
import { KEA_LIMITS } from '#src/drivers/kea/client.ts'
import { NETBOX_LIMITS } from '#src/drivers/netbox/client.ts'
import { POWERDNS_LIMITS } from '#src/drivers/powerdns/client.ts'
import { TECHNITIUM_DHCP_LIMITS } from '#src/drivers/technitium/dhcp.ts'
import { TECHNITIUM_DNS_LIMITS } from '#src/drivers/technitium/dns.ts'
import { BUILT_IN_LIMITS } from '#src/modules/ddi/ipam/built-in.ts'

type Words<L> = Record<keyof L, { what: string; say(limits: L): string }>
type Table = (head: string[], rows: string[][]) => string

const DHCP: Words<DhcpLimits> = {
  lease_step_seconds: {
    what: 'Lease times are multiples of',
    say: ({ lease_step_seconds: step }) => (step === 1 ? '1 second' : `${step} seconds`),
  },
  max_excluded_ranges: { what: 'Excluded ranges of a scope', say: (limits) => `${limits.max_excluded_ranges}` },
  max_text_bytes: { what: 'Host name or comment', say: (limits) => `${limits.max_text_bytes} bytes` },
  single_address_range: { what: 'Scope of one address', say: (limits) => yes(limits.single_address_range) },
}

const DNS: Words<DnsLimits> = {
  record_types: {
    what: 'Record types that can be written',
    say: ({ record_types: types }) => (types === 'any' ? 'any that the server knows' : types.join(', ')),
  },
  conversions: {
    what: 'Zones that can become another type',
    say: ({ conversions }) =>
      Object.entries(conversions)
        .flatMap(([from, to]) => (to.length === 0 ? [] : [`${from} to ${to.join(' or ')}`]))
        .join('; '),
  },
  renamable: { what: 'Zones that can be renamed', say: (limits) => types(limits.renamable) },
  pausable: { what: 'Zones that can be paused and disabled', say: (limits) => types(limits.pausable) },
  max_comment_bytes: { what: 'Comment of a record', say: (limits) => `${limits.max_comment_bytes} bytes` },
}

const IPAM: Words<IpamLimits> = {
  default_site: { what: 'A default site', say: (limits) => yes(limits.default_site) },
  containers: { what: 'Prefixes inside of containers', say: (limits) => yes(limits.containers) },
  unique_names: { what: 'Names of sites and roles are unique', say: (limits) => yes(limits.unique_names) },
  prefix_details: { what: 'Gateway, name servers and excluded ranges', say: (limits) => limits.prefix_details },
}

export function backendTable(table: Table): string {
  return `# What each server of addresses can express

Generated from the drivers. A value that the server in use cannot express is refused before anything changes: 400 \`DDI_UNSUPPORTED\`,
or \`INVALID_REQUEST\` with the field. Nothing else differs between the servers of a kind.

## DHCP

${rows(table, DHCP, { Kea: KEA_LIMITS, Technitium: TECHNITIUM_DHCP_LIMITS })}

## DNS

${rows(table, DNS, { PowerDNS: POWERDNS_LIMITS, Technitium: TECHNITIUM_DNS_LIMITS })}

## IPAM

${rows(table, IPAM, { 'built in': BUILT_IN_LIMITS, NetBox: NETBOX_LIMITS })}
`
}

function rows<L>(table: Table, words: Words<L>, servers: Readonly<Record<string, L>>): string {
  const lines = Object.values<{ what: string; say(limits: L): string }>(words)
  return table(
    ['', ...Object.keys(servers)],
    lines.map(({ what, say }) => [what, ...Object.values(servers).map((limits) => say(limits))]),
  )
}

function yes(value: boolean): string {
  return value ? 'yes' : 'no'
}

function types(list: readonly ZoneType[]): string {
  return list.join(', ')
}
