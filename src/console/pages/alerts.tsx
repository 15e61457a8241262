// What alerts: of the networks of the nodes, and of the platform, each with where it comes from.
import { useCall } from '../api/queries.ts'
import { whyNot } from '../api/why-not.ts'
import { columnOf } from '../lists/columns.tsx'
import { Table } from '../lists/table.tsx'
import { useMe } from '../session/session.ts'
import { Panel } from './panel.tsx'
import { Link } from 'wouter'

const MOST = 500

export function AlertsPage() {
  const me = useMe()
  return (
    <>
      <h1>Alerts</h1>
      {whyNot(me, 'networkAlertsList') === null && <NetworkAlerts />}
      {whyNot(me, 'alertList') === null && <PlatformAlerts />}
    </>
  )
}

const NETWORK_COLUMNS = [
  columnOf('severity', 'weight'),
  columnOf('category', 'what'),
  columnOf('node'),
  columnOf('device'),
  columnOf('message', 'in words'),
]

function NetworkAlerts() {
  const query = useCall('networkAlertsList', { body: { page_size: MOST } })
  return (
    <Panel title="Networks of the nodes" query={query}>
      {({ alerts, summary, has_more }) => (
        <>
          <p role="status">
            {summary.critical} critical, {summary.warning} warnings, {summary.info} notes
          </p>
          <Table label="Network alerts" rows={alerts} columns={NETWORK_COLUMNS} />
          {has_more && <p>These are of the first {MOST} nodes.</p>}
        </>
      )}
    </Panel>
  )
}

const PLATFORM_COLUMNS = [columnOf('name'), columnOf('description', 'in words'), columnOf('sent_at', 'at')]

function PlatformAlerts() {
  const query = useCall('alertList', { body: { page_size: 50 } })
  return (
    <Panel title="Platform" query={query}>
      {({ alerts, count }) => (
        <>
          <p>
            {count} open. <Link href="/lists/alertList">Filter and archive them</Link>
          </p>
          <Table label="Platform alerts" rows={alerts} columns={PLATFORM_COLUMNS} />
        </>
      )}
    </Panel>
  )
}
