// Where DHCP, DNS and what was ordered disagree: both sides beside each other, and what mends it.
import type { Drift } from '#src/contract/ddi/drift.ts'
import { useCall } from '../api/queries.ts'
import { columnOf, type Row } from '../lists/columns.tsx'
import { Table } from '../lists/table.tsx'
import { Time } from '../lists/value.tsx'
import { OperationButtons } from './operation-buttons.tsx'
import { Loaded } from './panel.tsx'

const COLUMNS = [
  columnOf('kind', 'what'),
  columnOf('subject', 'of'),
  columnOf('expected', 'as ordered'),
  columnOf('actual', 'as it is'),
  columnOf('message', 'in words'),
  columnOf('first_seen', 'since'),
]
const MENDS = { restore: 'Restore what was ordered', adopt: 'Keep what is there', none: 'Repair' }

export function DriftPart() {
  const query = useCall('ddiDriftList', { query: { page_size: 500 } })
  return (
    <>
      <OperationButtons operations={[{ operation: 'ddiDriftCheck', label: 'Compare now' }]} />
      <Loaded query={query}>
        {({ data: { drift, total_count, checked_at } }) => (
          <>
            <p role="status">
              {total_count} differences,{' '}
              {checked_at === null ? (
                'not compared yet'
              ) : (
                <>
                  compared <Time at={checked_at} />
                </>
              )}
            </p>
            <Table
              label="Differences"
              rows={drift}
              columns={COLUMNS}
              empty="What is served is what was ordered."
              actions={(row: Row) => <Mend drift={row as unknown as Drift} />}
            />
          </>
        )}
      </Loaded>
    </>
  )
}

function Mend({ drift: { id, repair } }: { drift: Drift }) {
  const why = repair === 'none' ? 'A person must decide this on the server.' : null
  return <OperationButtons operations={[{ operation: 'ddiDriftRepair', label: MENDS[repair], given: { id }, why }]} />
}
