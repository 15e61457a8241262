// Jobs: the ledger, and one job as a runbook with its planned steps, log and what is left to do by hand.
import { useState } from 'react'
import { Link } from 'wouter'
import type { JobDetail } from '#src/contract/jobs.ts'
import { call } from '../api/call.ts'
import { useCall } from '../api/queries.ts'
import { whyNot } from '../api/why-not.ts'
import { Problem } from '../form/problem.tsx'
import { columnOf } from '../lists/columns.tsx'
import { Rows } from '../lists/rows.tsx'
import { State, Time } from '../lists/value.tsx'
import { useMe } from '../session/session.ts'
import { FilterBar } from './filter-bar.tsx'
import { useFilter } from '../lists/filter.ts'
import { Loaded } from './panel.tsx'

const COLUMNS = [
  columnOf('job_type', 'job'),
  columnOf('resource_name', 'about'),
  columnOf('job_status', 'state'),
  columnOf('progress', '%'),
  columnOf('status', 'now'),
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
        empty={<p>No job matches.</p>}
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

export function Runbook({ job }: { job: JobDetail }) {
  const done = new Map(job.steps.map((step) => [step.name, step]))
  const names = [...new Set([...job.planned_steps, ...done.keys()])]
  return (
    <>
      <p>
        <State text={job.job_status} /> {job.status} <progress max={100} value={job.progress} aria-label="Progress" />{' '}
        {job.progress} %
      </p>
      {job.failure_reason !== '' && <p className="error">{job.failure_reason}</p>}
      <Cancel job={job} />
      <p>
        <Link href={`/timeline/${job.correlation_id}`}>Timeline of this operation</Link>
      </p>
      <h2>Steps</h2>
      <ol className="steps">
        {names.map((name) => {
          const step = done.get(name)
          return (
            <li key={name}>
              {name} <State text={step?.status ?? (job.current_step === name ? 'running' : 'planned')} />{' '}
              <span className="error">{step?.error}</span>
            </li>
          )
        })}
      </ol>
      {job.outstanding_actions.length > 0 && (
        <>
          <h2>Left to do by hand</h2>
          <ul>
            {job.outstanding_actions.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
        </>
      )}
      <h2>Log</h2>
      <ul className="log" tabIndex={0} aria-label="Log">
        {job.log.map(({ at, level, step, text }, index) => (
          <li key={index}>
            <Time at={at} /> <State text={level} /> {step} {text}
          </li>
        ))}
      </ul>
    </>
  )
}

function Cancel({ job }: { job: JobDetail }) {
  const me = useMe()
  const [problem, setProblem] = useState<unknown>()
  const why =
    whyNot(me, 'jobCancel') ??
    (job.job_status !== 'running' ? 'The job has ended.' : job.cancel_requested ? 'This is asked for already.' : null)
  const cancel = (): void => {
    if (why === null) call('jobCancel', { params: { id: job.id } }).catch(setProblem)
  }
  return (
    <>
      <div className="actions">
        <button type="button" aria-disabled={why !== null} onClick={cancel}>
          Cancel job
          {why !== null && <small>{why}</small>}
        </button>
      </div>
      {problem !== undefined && <Problem error={problem} />}
    </>
  )
}
