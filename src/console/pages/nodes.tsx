// Nodes with their health: which are not well, and why; and one node with every area that is checked.
import { Link } from 'wouter'
import { operations } from '../api/contract.ts'
import { useCall } from '../api/queries.ts'
import { whyNot } from '../api/why-not.ts'
import { columnOf } from '../lists/columns.tsx'
import { Rows } from '../lists/rows.tsx'
import { State, Time } from '../lists/value.tsx'
import { useMe } from '../session/session.ts'
import { Facts, Loaded, Panel } from './panel.tsx'

const COLUMNS = [
  columnOf('bmc_ip', 'BMC'),
  columnOf('fqdn', 'name'),
  columnOf('status'),
  columnOf('health'),
  columnOf('node_ip', 'address'),
  columnOf('role'),
  columnOf('zone'),
  columnOf('provision_status', 'life'),
]

export function NodesPage() {
  return (
    <>
      <h1>Nodes</h1>
      <Rows
        label="Nodes"
        operation="nodeList"
        filter={{}}
        columns={COLUMNS}
        hrefOf={({ bmc_ip }) => `/nodes/${encodeURIComponent(String(bmc_ip))}`}
        empty={<p>No node is registered yet.</p>}
      />
    </>
  )
}

export function NodePage({ bmc }: { bmc: string }) {
  const node = useCall('nodeGet', { params: { bmcIP: bmc } })
  const health = useCall('nodeHealthRead', { params: { bmcIP: bmc } })
  return (
    <>
      <h1>{node.data?.fqdn ?? bmc}</h1>
      <Panel title="Health" query={health}>
        {({ health: all, checked_at, areas }) => (
          <>
            <p>
              <State text={all} />{' '}
              {checked_at === null ? (
                'not checked yet'
              ) : (
                <>
                  checked <Time at={checked_at} />
                </>
              )}
            </p>
            <ul className="findings">
              {areas.map(({ area, health: one, reasons }) => (
                <li key={area}>
                  <State text={one} /> <strong>{area}</strong> {reasons.join(' ')}
                </li>
              ))}
            </ul>
          </>
        )}
      </Panel>
      <NodeOperations bmc={bmc} />
      <Loaded query={node}>{(record) => <Facts thing={record} />}</Loaded>
    </>
  )
}

/** Every operation of the contract that names a node by its BMC. */
function NodeOperations({ bmc }: { bmc: string }) {
  const me = useMe()
  const found = Object.entries(operations).filter(([, { ids }]) => ids.length === 1 && ids[0] === 'bmcIP')
  return (
    <details>
      <summary>{found.length} operations on this node</summary>
      <ul className="links">
        {found.map(([name, { summary }]) => (
          <li key={name}>
            <Link href={`/operations/${name}?bmcIP=${encodeURIComponent(bmc)}`}>{summary}</Link>{' '}
            <span className="help">{whyNot(me, name)}</span>
          </li>
        ))}
      </ul>
    </details>
  )
}
