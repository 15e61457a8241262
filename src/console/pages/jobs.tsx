// Jobs: the ledger, and one job as a runbook with its planned steps, log and what is left to do by hand.
import { useCall } from '../api/queries.ts'
import { columnOf, type Row } from '../lists/columns.tsx'
import { Rows } from '../lists/rows.tsx'
import { FilterBar } from './filter-bar.tsx'
import { useFilter } from '../lists/filter.ts'
import { Loaded } from './panel.tsx'
import { Runbook } from './runbook.tsx'

const COLUMNS = [
  columnOf('job_type', 'job'),
  columnOf('resource_name', 'about'),
  columnOf('job_status', 'state'),
  columnOf('progress', '%'),
  { name: 'status', title: 'now', cell: ({ status }: Row) => <>{String(status)}</> },
  columnOf('created_at', 'began'),
]

export function JobsPage() {
  const [filter, setFilter] = useFilter()
  return (
    <>
      <h1>Jobs</h1>
      <FilterBar
        filter={filter}
        set={setFilter}
        fields={[
          { name: 'job_status', label: 'State', options: ['running', 'completed', 'failed'] },
          { name: 'job_type', label: 'Kind' },
        ]}
      />
      <Rows
        label="Jobs"
        operation="jobList"
        filter={filter}
        columns={COLUMNS}
        hrefOf={({ id }) => `/jobs/${String(id)}`}
        empty={<p>{Object.keys(filter).length > 0 ? 'No job matches.' : 'No job was begun yet.'}</p>}
      />
    </>
  )
}

export function JobPage({ id }: { id: string }) {
  const query = useCall('jobGet', { params: { id } })
  return (
    <>
      <h1>{query.data === undefined ? 'Job' : `${query.data.job_type} ${query.data.resource_name}`}</h1>
      <Loaded query={query}>{(job) => <Runbook job={job} />}</Loaded>
    </>
  )
}
