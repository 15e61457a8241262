// MTU of the role bridges: declared against actual on a map of all nodes, and a new value as a plan before it is rolled out.
import { type FormEvent, useState } from 'react'
import { Link } from 'wouter'
import type { JobDetail } from '#src/contract/jobs.ts'
import type { MtuDeviation, MtuReport, MtuRolloutPlan } from '#src/contract/network/mtu.ts'
import { call, callAny } from '../api/call.ts'
import { useCall } from '../api/queries.ts'
import { whyNot } from '../api/why-not.ts'
import { Problem } from '../form/problem.tsx'
import { type Column, columnOf } from '../lists/columns.tsx'
import { Table } from '../lists/table.tsx'
import { State, Value } from '../lists/value.tsx'
import { useMe } from '../session/session.ts'
import { Runbook } from './runbook.tsx'
import { Facts, Loaded, Panel } from './panel.tsx'

const ROLES = ['management', 'storage', 'public'] as const
type Role = (typeof ROLES)[number]
type Wanted = Partial<Record<Role, number>>

const DEVIATION_COLUMNS = [
  columnOf('node'),
  columnOf('device'),
  columnOf('role'),
  mtuColumn('declared'),
  mtuColumn('actual'),
  columnOf('state'),
  columnOf('detail', 'in words'),
]

export function MtuPage() {
  const query = useCall('mtuReport', {})
  return (
    <>
      <h1>MTU</h1>
      <Panel title="Declared against actual" query={query}>
        {(report) => <Report report={report} />}
      </Panel>
      <Declare />
    </>
  )
}

function Report({ report }: { report: MtuReport }) {
  const { declared, divergences, awaiting, nodes, status, rollout_status, unreachable_nodes } = report
  const deviations: readonly MtuDeviation[] = [...divergences, ...awaiting]
  return (
    <>
      <p>
        <State text={status} /> Last roll-out: {rollout_status}. {unreachable_nodes} nodes cannot be asked.
      </p>
      <Facts
        thing={Object.fromEntries(
          Object.entries(declared).map(([role, mtu]) => [role, mtu ? String(mtu) : 'not declared']),
        )}
      />
      {deviations.length > 0 && <Table label="Deviations" rows={deviations} columns={DEVIATION_COLUMNS} />}
      <ul className="map" aria-label="Nodes">
        {nodes.map(({ fqdn, node_ip, zone, devices, error }) => (
          <li key={`${fqdn} ${node_ip}`} data-tone={devices.some(({ divergent }) => divergent) ? 'bad' : 'calm'}>
            <strong>{fqdn || node_ip}</strong> <span className="help">{zone}</span>
            {error !== '' && <p className="error">{error}</p>}
            <ul>
              {devices
                .filter(({ role }) => role !== '')
                .map(({ name, role, actual, declared: wanted, divergent }) => (
                  <li key={name}>
                    {role} {name}: {actual ?? 'not known'}
                    {divergent && ` instead of ${wanted}`}
                  </li>
                ))}
            </ul>
          </li>
        ))}
      </ul>
    </>
  )
}

interface Planned {
  wanted: Wanted
  plan: MtuRolloutPlan
  /** Two clicks on one plan are one roll-out. */
  key: string
}

function Declare() {
  const why = whyNot(useMe(), 'mtuDeclare')
  const [texts, setTexts] = useState<Partial<Record<Role, string>>>({})
  const [planned, setPlanned] = useState<Planned>()
  const [acknowledged, setAcknowledged] = useState(false)
  const [job_id, setJob] = useState<string>()
  const [problem, setProblem] = useState<unknown>()
  const attempt = async (work: () => Promise<void>): Promise<void> => {
    setProblem(undefined)
    await work().catch(setProblem)
  }
  const plan = (event: FormEvent): void => {
    event.preventDefault()
    if (why !== null) return
    const wanted: Wanted = Object.fromEntries(
      Object.entries(texts).flatMap(([role, text]) => (text === '' ? [] : [[role, Number(text)]])),
    )
    setAcknowledged(false)
    setPlanned(undefined)
    void attempt(async () => {
      // What cannot be verified is part of the plan; the roll-out itself wants it acknowledged.
      const query = { dry_run: true, acknowledge_unverifiable: true }
      const answer = (await callAny('mtuDeclare', { query, body: wanted })) as MtuRolloutPlan
      setPlanned({ wanted, plan: answer, key: crypto.randomUUID() })
    })
  }
  const rollOut = ({ wanted, key }: Planned): void => {
    void attempt(async () => {
      const query = { acknowledge_unverifiable: acknowledged }
      const answer = await call('mtuDeclare', { query, body: wanted }, { key })
      if ('job_id' in answer) setJob(answer.job_id)
      setPlanned(undefined)
    })
  }
  return (
    <section className="panel" aria-label="New values">
      <h2>New values</h2>
      <form className="filter" onSubmit={plan} noValidate>
        {ROLES.map((role) => (
          <label key={role}>
            {role}
            <input
              type="number"
              min={1280}
              max={65_535}
              value={texts[role] ?? ''}
              onChange={({ target }) => setTexts((before) => ({ ...before, [role]: target.value }))}
            />
          </label>
        ))}
        <button type="submit" aria-disabled={why !== null}>
          Plan
          {why !== null && <small> {why}</small>}
        </button>
      </form>
      {problem !== undefined && <Problem error={problem} />}
      {planned !== undefined && (
        <Plan planned={planned} acknowledged={acknowledged} acknowledge={setAcknowledged} rollOut={rollOut} />
      )}
      {job_id !== undefined && <RollOut id={job_id} />}
    </section>
  )
}

const CHANGE_COLUMNS = [
  columnOf('node'),
  columnOf('bridge'),
  columnOf('role'),
  mtuColumn('actual', 'now'),
  mtuColumn('mtu', 'then'),
]

interface PlanProps {
  planned: Planned
  acknowledged: boolean
  acknowledge(yes: boolean): void
  rollOut(planned: Planned): void
}

function Plan({ planned, acknowledged, acknowledge, rollOut }: PlanProps) {
  const { message, changes, unverifiable, unreachable } = planned.plan
  const open = [...unverifiable, ...unreachable]
  const ready = open.length === 0 || acknowledged
  return (
    <section aria-label="Plan">
      <h3>Plan</h3>
      <p>{message}</p>
      <Table label="Changes" rows={changes} columns={CHANGE_COLUMNS} empty="No bridge changes." />
      {open.length > 0 && (
        <>
          <h3>Cannot be verified, or not be asked</h3>
          <ul>
            {open.map((text) => (
              <li key={text}>{text}</li>
            ))}
          </ul>
          <label className="inline">
            <input type="checkbox" checked={acknowledged} onChange={({ target }) => acknowledge(target.checked)} />
            Go on without these
          </label>
        </>
      )}
      <div className="buttons">
        <button
          type="button"
          className="danger"
          aria-disabled={!ready}
          onClick={() => {
            if (ready) rollOut(planned)
          }}
        >
          Roll out
          {!ready && <small> Say above that it goes on without these.</small>}
        </button>
      </div>
    </section>
  )
}

function RollOut({ id }: { id: string }) {
  const query = useCall('jobGet', { params: { id } })
  return (
    <section aria-label="Roll-out">
      <h3>
        <Link href={`/jobs/${id}`}>Roll-out</Link>
      </h3>
      <Loaded query={query}>
        {(job) => (
          <>
            <Phases job={job} />
            <Runbook job={job} />
          </>
        )}
      </Loaded>
    </section>
  )
}

/** What each step has made of every node once it is over. */
const AFTER: Readonly<Record<string, string>> = {
  prepare: 'carries the new size',
  use: 'uses the new size',
  probe: 'every way verified',
  commit: 'kept',
}
const DURING: Readonly<Record<string, string>> = {
  prepare: 'is being prepared',
  use: 'begins to use it',
  probe: 'is being probed',
  commit: 'is being kept',
}

/** The nodes of the plan while they change: no node is a step ahead of the others. The one that failed says why. */
function Phases({ job }: { job: JobDetail }) {
  const { nodes } = job.metadata
  if (!Array.isArray(nodes)) return null
  const over = job.steps.filter(({ status }) => status === 'succeeded').map(({ name }) => AFTER[name])
  const reached = DURING[job.current_step ?? ''] ?? over.findLast((one) => one !== undefined) ?? 'waits'
  const undone = job.job_status === 'failed' ? 'is back at its earlier size, or goes back by itself' : reached
  return (
    <ul className="map" aria-label="Nodes of the roll-out">
      {nodes.map(String).map((node) => {
        const failed = job.failure_reason.startsWith(`${node}: `)
        return (
          <li key={node} data-tone={failed ? 'bad' : 'calm'}>
            <strong>{node}</strong>
            <p>{undone}</p>
            {failed && <p className="error">{job.failure_reason}</p>}
          </li>
        )
      })}
    </ul>
  )
}

function mtuColumn(name: string, title = name): Column {
  return { name, title, cell: (row) => <Value name="mtu" value={row[name]} /> }
}
