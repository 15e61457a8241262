// Routing of all nodes: which sessions stand, beside each other, with what is down first.
import type { FrrNode } from '#src/contract/network/frr.ts'
import { useCall } from '../api/queries.ts'
import { type Column, columnOf, type Row } from '../lists/columns.tsx'
import { Table } from '../lists/table.tsx'
import { State } from '../lists/value.tsx'
import { Facts, Loaded } from './panel.tsx'

const NODES_A_PAGE = 500

/** `3 of 4`, with a word beside it, so that colour is not all there is. */
function Standing({ up, all }: { up: number; all: number | undefined }) {
  if (all === undefined) return <span title="not known">–</span>
  if (all === 0) return <>none</>
  return (
    <>
      <State text={up === all ? 'up' : 'down'} /> {up} of {all}
    </>
  )
}

const of = (row: Row): FrrNode => row as unknown as FrrNode
const COLUMNS: readonly Column[] = [
  columnOf('fqdn', 'node'),
  columnOf('status'),
  {
    name: 'bgp',
    title: 'BGP',
    cell: (row) => {
      const sessions = of(row).bgp?.sessions
      return (
        <Standing up={sessions?.filter(({ state }) => state === 'Established').length ?? 0} all={sessions?.length} />
      )
    },
  },
  {
    name: 'bfd',
    title: 'BFD',
    cell: (row) => {
      const peers = of(row).bfd_peers
      return <Standing up={peers?.filter(({ status }) => status === 'up').length ?? 0} all={peers?.length} />
    },
  },
  {
    name: 'ospf',
    title: 'OSPF',
    cell: (row) => {
      const found = of(row).ospf_neighbors
      return <Standing up={found?.filter(({ state }) => state === 'Full').length ?? 0} all={found?.length} />
    },
  },
  { name: 'vnis', title: 'VNIs', cell: (row) => <>{of(row).vnis?.length ?? '–'}</> },
  { name: 'frr', title: 'FRR', cell: (row) => <>{of(row).frr?.version ?? '–'}</> },
]

const SESSION_COLUMNS = [
  columnOf('node'),
  columnOf('peer'),
  columnOf('hostname', 'its name'),
  columnOf('state'),
  // A number of an AS is a name, and has no thousands.
  { name: 'remote_as', title: 'AS', cell: (row: Row) => <>{String(row.remote_as ?? '–')}</> },
  columnOf('uptime_seconds', 'up for s'),
  columnOf('down_seconds', 'down for s'),
  columnOf('prefixes_received', 'prefixes'),
]

export function FabricPage() {
  const query = useCall('frrDashboardRead', { body: { page_size: NODES_A_PAGE } })
  return (
    <>
      <h1>Fabric</h1>
      <Loaded query={query}>
        {({ nodes, summary, has_more }) => (
          <>
            <Facts thing={summary} />
            <Table label="Nodes" rows={nodes} columns={COLUMNS} empty="No node is registered yet." />
            {has_more && <p>These are the first {NODES_A_PAGE} nodes.</p>}
            <h2>Sessions</h2>
            <Table
              label="BGP sessions"
              rows={sessionsOf(nodes)}
              columns={SESSION_COLUMNS}
              empty="No node has a session."
            />
          </>
        )}
      </Loaded>
    </>
  )
}

function sessionsOf(nodes: readonly FrrNode[]): Row[] {
  return nodes
    .flatMap(({ fqdn, bgp }) => (bgp?.sessions ?? []).map((session) => ({ node: fqdn, ...session })))
    .toSorted((one, other) => Number(one.state === 'Established') - Number(other.state === 'Established'))
}
