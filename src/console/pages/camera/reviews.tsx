// What a person should look at, and what was looked at.
import { Link } from 'wouter'
import { useCall } from '../../api/queries.ts'
import { type Column, columnOf } from '../../lists/columns.tsx'
import { Table } from '../../lists/table.tsx'
import { FilterBar } from '../filter-bar.tsx'
import { OperationButtons } from '../operation-buttons.tsx'
import { useFilter } from '../../lists/filter.ts'
import { Loaded } from '../panel.tsx'
import { At, hrefOfMoment } from './detections.tsx'

const COLUMNS: readonly Column[] = [
  { name: 'start_time', title: 'at', cell: ({ start_time }) => <At seconds={start_time} /> },
  {
    name: 'objects',
    title: 'what',
    cell: ({ camera, objects, start_time }) => (
      <Link href={hrefOfMoment(String(camera), Number(start_time))}>
        {(objects as string[]).join(', ') || 'motion'}
      </Link>
    ),
  },
  columnOf('camera'),
  columnOf('severity', 'weight'),
  columnOf('has_been_reviewed', 'looked at'),
]

export function Reviews() {
  const [filter, setFilter] = useFilter()
  const reviewed = filter.reviewed === undefined ? {} : { reviewed: filter.reviewed === 'yes' ? 1 : 0 }
  const severity = filter.severity === undefined ? {} : { severity: filter.severity as 'alert' | 'detection' }
  const query = useCall('cameraReviewList', { query: { ...reviewed, ...severity, limit: 200 } })
  return (
    <>
      <FilterBar
        filter={filter}
        set={setFilter}
        fields={[
          { name: 'severity', label: 'Weight', options: ['alert', 'detection', 'significant_motion'] },
          { name: 'reviewed', label: 'Looked at', options: ['yes', 'no'] },
        ]}
      />
      <Loaded query={query}>
        {(segments) => (
          <Table
            label="Review segments"
            rows={segments}
            columns={COLUMNS}
            empty="There is nothing to look at."
            actions={({ id, has_been_reviewed }) => (
              <OperationButtons
                operations={[
                  {
                    operation: 'cameraReviewViewedSet',
                    label: has_been_reviewed === true ? 'Not looked at' : 'Looked at',
                    given: { ids: String(id), reviewed: String(has_been_reviewed !== true) },
                  },
                ]}
              />
            )}
          />
        )}
      </Loaded>
    </>
  )
}
