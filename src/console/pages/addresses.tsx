// Addresses: scopes with their use, reservations and leases that become one another, zones and records, prefixes, and what differs.
import type { ThingOperation } from '../form/operation-form.tsx'
import { type Column, columnOf, type Row } from '../lists/columns.tsx'
import { DriftPart } from './drift.tsx'
import { type Part, PartLists } from './part-lists.tsx'
import { rowOperations } from './row-operations.ts'

const SCOPE_COLUMNS: readonly Column[] = [
  columnOf('name'),
  columnOf('network'),
  columnOf('start_address', 'from'),
  columnOf('end_address', 'to'),
  { name: 'utilization', title: 'in use', cell: (row) => <Use percent={row.utilization} /> },
  columnOf('active_count', 'leased'),
  columnOf('reserved_count', 'reserved'),
  columnOf('available_count', 'free'),
  columnOf('enabled'),
]

/** A client that gave no name goes by its address. */
const LEASE_COLUMNS: readonly Column[] = [
  { name: 'hostname', title: 'hostname', cell: ({ hostname, ip }: Row) => <>{String(hostname || ip)}</> },
  ...['ip', 'mac', 'scope', 'lease_type', 'state', 'lease_expires'].map((name) => columnOf(name)),
]

function Use({ percent }: { percent: unknown }) {
  if (typeof percent !== 'number') return <span title="not known">–</span>
  return (
    <>
      <meter min={0} max={100} high={80} value={percent} aria-label="in use" /> {Math.round(percent)} %
    </>
  )
}

const PARTS: readonly Part[] = [
  {
    path: '', title: 'Scopes', operation: 'dhcpScopeList', fixed: { include_stats: 'true' },
    columns: SCOPE_COLUMNS,
  },
  {
    path: 'reservations', title: 'Reservations', operation: 'dhcpReservationList',
    operationsOf: (row) => [...rowOperations('dhcpReservationList', row), conversion(row, 'dynamic')],
  },
  { path: 'leases', title: 'Leases', operation: 'dhcpLeaseList', columns: LEASE_COLUMNS, operationsOf: leaseOperations },
  { path: 'zones', title: 'Zones', operation: 'dnsZoneList' },
  { path: 'records', title: 'Records', operation: 'dnsRecordList' },
  { path: 'prefixes', title: 'Prefixes', operation: 'ipamPrefixList' },
  { path: 'allocated', title: 'Allocated', operation: 'ipamAddressList' },
  { path: 'vlans', title: 'VLANs', operation: 'ipamVlanList' },
  { path: 'public', title: 'Public', operation: 'publicIpList' },
  { path: 'drift', title: 'Drift', shows: () => <DriftPart /> },
] // biome-ignore format: a table

/** A lease becomes a reservation of the same address, and back. */
function leaseOperations(row: Row): ThingOperation[] {
  const others = rowOperations('dhcpLeaseList', row).filter(({ operation }) => operation !== 'dhcpLeaseConvert')
  const is_reserved = row.lease_type === 'reserved'
  return [
    { ...conversion(row, 'reserved'), why: is_reserved ? 'It is reserved.' : null },
    { ...conversion(row, 'dynamic'), why: is_reserved ? null : 'It is dynamic.' },
    ...others,
  ]
}

function conversion(row: Row, mode: 'reserved' | 'dynamic'): ThingOperation {
  const { mac, scope, hostname } = row as Record<string, string | null>
  const given = { mac_address: mac ?? '', mac: mac ?? '', scope_name: scope ?? '', mode }
  const is_named = hostname !== null && hostname !== undefined && hostname !== ''
  return {
    operation: 'dhcpLeaseConvert',
    label: mode === 'reserved' ? 'Reserve this address' : 'Let it be a dynamic lease',
    given: is_named ? { ...given, hostname } : given,
  }
}

export function AddressesPage({ part }: { part?: string | undefined }) {
  return <PartLists title="Addresses" base="/addresses" parts={PARTS} part={part} />
}
