// Overview: what is wrong, worst first, with what changed last; each part fails by itself.
import { Link } from 'wouter'
import { useCall } from '../api/queries.ts'
import { whyNot } from '../api/why-not.ts'
import { State } from '../lists/value.tsx'
import { useMe } from '../session/session.ts'
import { Panel } from './panel.tsx'
import { EventTable } from './timeline.tsx'

const SHOWN = 8
/** What nobody can tell is not worse than what is known to be wrong. */
const WORST: readonly string[] = ['critical', 'degraded', 'warning', 'unknown']

export function Overview() {
  const me = useMe()
  const may = (operation: string): boolean => whyNot(me, operation) === null
  return (
    <>
      <h1>Overview</h1>
      <div className="panels">
        {may('fleetHealthRead') && <NodeHealth />}
        {may('networkAlertsList') && <NetworkAlerts />}
        {may('alertList') && <PlatformAlerts />}
        {may('vmMetricsAggregate') && <Machines />}
        {may('jobList') && <RunningJobs />}
        {may('appEventList') && <Failures />}
        {may('appEventList') && <Changes />}
      </div>
    </>
  )
}

function NodeHealth() {
  const query = useCall('fleetHealthRead', { query: { page_size: 100 } })
  return (
    <Panel title="Nodes" query={query}>
      {({ nodes, healthy, unknown, count }) => (
        <>
          <p>
            {healthy} of {count} healthy{unknown > 0 && `, ${unknown} not known yet`}
          </p>
          <ul className="findings">
            {nodes
              .filter(({ health }) => health !== 'healthy')
              .toSorted((one, other) => WORST.indexOf(one.health) - WORST.indexOf(other.health))
              .slice(0, SHOWN)
              .map(({ bmc_ip, fqdn, health, areas }) => (
                <li key={bmc_ip}>
                  <State text={health} /> <Link href={`/nodes/${encodeURIComponent(bmc_ip)}`}>{fqdn ?? bmc_ip}</Link>{' '}
                  {areas.flatMap(({ reasons }) => reasons)[0]}
                </li>
              ))}
          </ul>
        </>
      )}
    </Panel>
  )
}

function NetworkAlerts() {
  const query = useCall('networkAlertsList', {})
  return (
    <Panel title="Network alerts" query={query}>
      {({ alerts }) =>
        alerts.length === 0 ? (
          <p>None.</p>
        ) : (
          <ul className="findings">
            {alerts.slice(0, SHOWN).map((alert, at) => (
              <li key={at}>
                <State text={alert.severity} /> <strong>{alert.node}</strong> {alert.message}
              </li>
            ))}
          </ul>
        )
      }
    </Panel>
  )
}

function PlatformAlerts() {
  const query = useCall('alertList', { body: { page_size: SHOWN } })
  return (
    <Panel title="Platform alerts" query={query}>
      {({ alerts, count }) => (
        <>
          <p>{count === 0 ? 'None.' : `${count} open`}</p>
          <ul className="findings">
            {alerts.map(({ id, name, description }) => (
              <li key={id}>{description ?? name}</li>
            ))}
          </ul>
        </>
      )}
    </Panel>
  )
}

function Machines() {
  const query = useCall('vmMetricsAggregate', {})
  return (
    <Panel title="Virtual machines" query={query}>
      {({ virtual_machine_count, state_counts, averages }) => (
        <dl className="facts">
          <div>
            <dt>all</dt>
            <dd>
              <Link href="/vms">{virtual_machine_count.toLocaleString('en-GB')}</Link>
            </dd>
          </div>
          {(['running', 'stopped', 'other'] as const).map((state) => (
            <div key={state}>
              <dt>{state}</dt>
              <dd>{state_counts[state].toLocaleString('en-GB')}</dd>
            </div>
          ))}
          <Share title="CPU in use" percent={averages.cpu_used_percent} />
          <Share title="memory in use" percent={averages.memory_used_percent} />
        </dl>
      )}
    </Panel>
  )
}

function Share({ title, percent }: { title: string; percent: number }) {
  return (
    <div>
      <dt>{title}</dt>
      <dd>
        <meter min={0} max={100} value={percent} aria-label={title} /> {Math.round(percent)} %
      </dd>
    </div>
  )
}

function RunningJobs() {
  const query = useCall('jobList', { query: { job_status: 'running', page_size: SHOWN } })
  return (
    <Panel title="Running jobs" query={query}>
      {({ jobs }) =>
        jobs.length === 0 ? (
          <p>None.</p>
        ) : (
          <ul className="findings">
            {jobs.map(({ id, job_type, resource_name, status, progress }) => (
              <li key={id}>
                <Link href={`/jobs/${id}`}>
                  {job_type} {resource_name}
                </Link>{' '}
                {progress} % {status}
              </li>
            ))}
          </ul>
        )
      }
    </Panel>
  )
}

function Failures() {
  const query = useCall('appEventList', { body: { status: 'FAILED', page_size: SHOWN } })
  return (
    <Panel title="Newest failures" query={query}>
      {({ app_events }) => (app_events.length === 0 ? <p>None.</p> : <EventTable events={app_events} />)}
    </Panel>
  )
}

function Changes() {
  const query = useCall('appEventList', { body: { page_size: 12 } })
  return (
    <Panel title="What changed last" query={query}>
      {({ app_events }) => (app_events.length === 0 ? <p>Nothing yet.</p> : <EventTable events={app_events} />)}
    </Panel>
  )
}
