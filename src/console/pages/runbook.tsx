// A job as a runbook: its planned steps with how long each took and usually takes, from where there is no way back, what was
// interrupted, and what is left to do by hand.
import { useQuery } from '@tanstack/react-query'
import { Fragment, useState } from 'react'
import { Link } from 'wouter'
import type { JobDetail } from '#src/contract/jobs.ts'
import { call } from '../api/call.ts'
import { whyNot } from '../api/why-not.ts'
import { Problem } from '../form/problem.tsx'
import { State, Time } from '../lists/value.tsx'
import { useMe } from '../session/session.ts'

export function Runbook({ job }: { job: JobDetail }) {
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
      <Steps job={job} />
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

type EndedStep = JobDetail['steps'][number]

function Steps({ job }: { job: JobDetail }) {
  const medians = useMedians(job)
  const done = new Map(job.steps.map((step) => [step.name, step]))
  const names = [...new Set([...job.planned_steps, ...done.keys()])]
  return (
    <ol className="steps">
      {names.map((name) => {
        const step = done.get(name)
        const median = medians.get(name)
        return (
          <Fragment key={name}>
            <li>
              {name} <State text={step?.status ?? (job.current_step === name ? 'running' : 'planned')} />{' '}
              <span className="help">
                {step !== undefined && `${inSeconds(secondsOf(step))} `}
                {job.current_step === name && job.current_step_started_at !== null && (
                  <>
                    since <Time at={job.current_step_started_at} />{' '}
                  </>
                )}
                {median !== undefined && `(median ${inSeconds(median)})`}
                {step !== undefined && step.attempt > 1 && ` at attempt ${step.attempt}`}
              </span>{' '}
              <span className="error">{step?.error}</span>
            </li>
            <Gap step={step} steps={job.steps} />
            {job.no_return_step === name && <NoReturn job={job} />}
          </Fragment>
        )
      })}
    </ol>
  )
}

function NoReturn({ job: { no_return_at } }: { job: JobDetail }) {
  return (
    <li className="no-return" aria-label="Point of no return">
      {no_return_at === null ? (
        'Point of no return: from here on it cannot be cancelled.'
      ) : (
        <>
          Point of no return, passed at <Time at={no_return_at} />: it cannot be cancelled.
        </>
      )}
    </li>
  )
}

const GAP_S = 3

/** Between two steps nothing is waited for: the process that ran the job was gone. */
function Gap({ step, steps }: { step: EndedStep | undefined; steps: readonly EndedStep[] }) {
  const next = step && steps[steps.indexOf(step) + 1]
  if (step?.ended_at === null || step?.ended_at === undefined || next === undefined) return null
  const seconds = (Date.parse(next.started_at) - Date.parse(step.ended_at)) / 1000
  if (seconds < GAP_S) return null
  return <li className="help">Nobody ran it for {inSeconds(seconds)}; then it was taken over.</li>
}

function secondsOf({ started_at, ended_at }: EndedStep): number | null {
  return ended_at === null ? null : (Date.parse(ended_at) - Date.parse(started_at)) / 1000
}

function inSeconds(seconds: number | null): string {
  if (seconds === null) return '–'
  return seconds < 90 ? `${seconds.toFixed(1)} s` : `${Math.round(seconds / 60)} min`
}

const EARLIER = 5
/** The steps alone are wanted, so no line of the log is as late. */
const NO_LOG = 2_147_483_647

/** Of each step over the latest runs of this kind that completed, without this one. */
function useMedians({ id, job_type }: JobDetail): ReadonlyMap<string, number> {
  const { data } = useQuery({
    queryKey: ['medians of steps', job_type, id],
    queryFn: async ({ signal }) => {
      const query = { job_type, job_status: 'completed', page_size: EARLIER } as const
      const { jobs } = await call('jobList', { query }, { signal })
      const earlier = jobs.filter((job) => job.id !== id)
      const details = await Promise.all(
        earlier.map((job) => call('jobGet', { params: { id: job.id }, query: { after_seq: NO_LOG } }, { signal })),
      )
      return mediansOf(details.flatMap(({ steps }) => steps))
    },
    // They help to judge; without them the steps are shown all the same.
    retry: false,
  })
  return data ?? new Map()
}

function mediansOf(steps: readonly EndedStep[]): Map<string, number> {
  const of_step = Map.groupBy(steps, ({ name }) => name)
  return new Map(
    [...of_step].flatMap(([name, all]) => {
      const seconds = all.flatMap((step) => secondsOf(step) ?? []).toSorted((one, other) => one - other)
      const middle = seconds[Math.floor(seconds.length / 2)]
      return middle === undefined ? [] : [[name, middle]]
    }),
  )
}

function Cancel({ job }: { job: JobDetail }) {
  const me = useMe()
  const [problem, setProblem] = useState<unknown>()
  const why = whyNot(me, 'jobCancel') ?? whyNotNow(job)
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

function whyNotNow({ job_status, cancel_requested, no_return_at, no_return_step }: JobDetail): string | null {
  if (job_status !== 'running') return 'The job has ended.'
  if (cancel_requested) return 'This is asked for already.'
  return no_return_at === null ? null : `It has passed its point of no return: ${no_return_step ?? 'a step'} was done.`
}
