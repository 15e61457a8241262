// Addresses: scopes with their use, reservations and leases that become one another, zones and records, prefixes, and what differs.
import { useDetails } from '../api/details.ts'
import { whyNot } from '../api/why-not.ts'
import { Problem } from '../form/problem.tsx'
import type { ThingOperation } from '../form/operation-form.tsx'
import { type Column, columnOf, type Row } from '../lists/columns.tsx'
import { useMe } from '../session/session.ts'
import { DriftPart } from './drift.tsx'
import { GenericList } from './lists.tsx'
import { rowOperations } from './row-operations.ts'
import { Tabs } from './tabs.tsx'

interface Part {
  path: string
  title: string
  operation: string
  /** Sent with every request. */
  fixed?: Record<string, string>
  columns?: readonly Column[]
  operationsOf?(row: Row): ThingOperation[]
}

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

const LEASE_COLUMNS: readonly Column[] = ['hostname', 'ip', 'mac', 'scope', 'lease_type', 'state', 'lease_expires'].map(
  (name) => columnOf(name),
)

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

const hrefOf = (path: string): string => (path === '' ? '/addresses' : `/addresses/${path}`)

export function AddressesPage({ part = '' }: { part?: string | undefined }) {
  const chosen = PARTS.find(({ path }) => path === part)
  const tabs = [...PARTS, { path: 'drift', title: 'Drift' }]
  return (
    <>
      <h1>Addresses</h1>
      <Tabs label="Kinds of addresses" tabs={tabs.map(({ path, title }) => ({ href: hrefOf(path), title }))} />
      {part === 'drift' ? (
        <DriftPart />
      ) : chosen === undefined ? (
        <p>There is no part {part}.</p>
      ) : (
        <PartList key={part} part={chosen} />
      )}
    </>
  )
}

function PartList({ part }: { part: Part }) {
  const { operation, fixed, columns, operationsOf } = part
  const why = whyNot(useMe(), operation)
  const { details, error } = useDetails(operation)
  if (why !== null) return <p>{why}</p>
  return (
    <>
      {error !== undefined && <Problem error={error} />}
      {details !== undefined && (
        <GenericList operation={operation} details={details} {...{ fixed, columns, operationsOf }} />
      )}
    </>
  )
}
