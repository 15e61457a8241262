// The verdict on each area of a node: what is wrong, and since when.
import { useCall } from '../../api/queries.ts'
import { columnOf } from '../../lists/columns.tsx'
import { Table } from '../../lists/table.tsx'
import { State, Time } from '../../lists/value.tsx'
import { Panel } from '../panel.tsx'
import type { NodeProps } from './node.ts'

const COLUMNS = [
  columnOf('area'),
  columnOf('health'),
  columnOf('since'),
  {
    name: 'reasons',
    title: 'reasons',
    cell: ({ reasons }: Record<string, unknown>) => <>{(reasons as string[]).join(' ')}</>,
  },
]

export function Health({ node }: NodeProps) {
  const query = useCall('nodeHealthRead', { params: { bmcIP: node.bmc_ip } })
  return (
    <Panel title="Health" query={query}>
      {({ health, checked_at, areas }) => (
        <>
          <p>
            <State text={health} />{' '}
            {checked_at === null ? (
              'not checked yet'
            ) : (
              <>
                checked <Time at={checked_at} />
              </>
            )}
          </p>
          <Table label="Areas" rows={areas} columns={COLUMNS} />
        </>
      )}
    </Panel>
  )
}
