// The management nodes: who holds the address, what happened to whom, and the scripts that the daemons run.
import { Link } from 'wouter'
import { useCall } from '../api/queries.ts'
import { columnOf, type Row } from '../lists/columns.tsx'
import { Table } from '../lists/table.tsx'
import { hrefOfNode } from './node/node.ts'
import { OperationButtons } from './operation-buttons.tsx'
import { Panel } from './panel.tsx'

const MEMBER_COLUMNS = [
  {
    name: 'bmc_ip',
    title: 'node',
    cell: ({ bmc_ip }: Row) => <Link href={hrefOfNode(String(bmc_ip))}>{String(bmc_ip)}</Link>,
  },
  columnOf('address'),
  columnOf('interface'),
  columnOf('priority'),
  columnOf('state'),
  columnOf('state_since', 'since'),
  columnOf('holds_vip', 'holds the address'),
  columnOf('checked_at', 'checked'),
]

const EVENT_COLUMNS = [
  columnOf('occurred_at', 'at'),
  columnOf('action', 'what'),
  columnOf('level'),
  columnOf('status'),
  columnOf('resource_uuid', 'of'),
  columnOf('message', 'in words'),
]

export function HaPage() {
  const members = useCall('haMemberList', {})
  const events = useCall('haEventList', { query: {} })
  return (
    <>
      <h1>High availability</h1>
      <OperationButtons
        operations={[{ operation: 'haMemberSet', label: 'Add or change member' }, { operation: 'haScriptsReconcile' }]}
      />
      <Panel title="Members" query={members}>
        {(answer) => (
          <Table
            label="Members"
            rows={answer.members}
            columns={MEMBER_COLUMNS}
            empty="There is one management node, or none is a member yet."
            actions={({ bmc_ip }) => (
              <OperationButtons
                operations={[
                  {
                    operation: 'haMemberRemove',
                    label: 'Remove',
                    given: { bmcIP: String(bmc_ip) },
                    confirm: String(bmc_ip),
                  },
                ]}
              />
            )}
          />
        )}
      </Panel>
      <Panel title="What happened" query={events}>
        {(answer) => (
          <Table
            label="Failover events"
            rows={answer.events}
            columns={EVENT_COLUMNS}
            empty="Nothing was reported yet."
          />
        )}
      </Panel>
    </>
  )
}
