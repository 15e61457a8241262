// Nodes: which are there, how each is, and where it stands in its life.
import { columnOf, type Row } from '../lists/columns.tsx'
import { Rows } from '../lists/rows.tsx'
import { FilterBar } from './filter-bar.tsx'
import { hrefOfNode } from './node/node.ts'
import { OperationButtons } from './operation-buttons.tsx'
import { useFilter } from '../lists/filter.ts'

const COLUMNS = [
  {
    name: 'fqdn',
    title: 'name',
    cell: ({ fqdn, bmc_ip }: Row) => <>{typeof fqdn === 'string' && fqdn !== '' ? fqdn : `BMC ${String(bmc_ip)}`}</>,
  },
  columnOf('bmc_ip', 'BMC'),
  columnOf('status'),
  columnOf('health'),
  columnOf('node_ip', 'address'),
  columnOf('role'),
  columnOf('zone'),
  columnOf('provision_status', 'life'),
]

export function NodesPage() {
  const [filter, setFilter] = useFilter()
  return (
    <>
      <h1>Nodes</h1>
      <FilterBar
        filter={filter}
        set={setFilter}
        fields={[
          { name: 'keyword', label: 'Name or address' },
          { name: 'role', label: 'Role', options: ['compute', 'management'] },
          { name: 'provision_status', label: 'Life' },
        ]}
      />
      <OperationButtons operations={[{ operation: 'nodeRegister', label: 'Register node' }]} />
      <Rows
        label="Nodes"
        operation="nodeList"
        filter={filter}
        columns={COLUMNS}
        hrefOf={({ bmc_ip }) => hrefOfNode(String(bmc_ip))}
        empty={<p>{Object.keys(filter).length > 0 ? 'No node matches.' : 'No node is registered yet.'}</p>}
      />
    </>
  )
}
