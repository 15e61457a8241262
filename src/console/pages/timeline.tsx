// The timeline: what was done, by whom, and how it ended; and the chain of one operation with its steps.
import { Link } from 'wouter'
import type { AppEvent } from '#src/contract/app-events.ts'
import type { TimelineEntry } from '#src/contract/timeline.ts'
import { useCall } from '../api/queries.ts'
import { columnOf, type Row } from '../lists/columns.tsx'
import { Rows } from '../lists/rows.tsx'
import { State, Time } from '../lists/value.tsx'
import { FilterBar } from './filter-bar.tsx'
import { useFilter } from '../lists/filter.ts'
import { Loaded } from './panel.tsx'

const COLUMNS = [
  columnOf('description', 'what'),
  columnOf('status'),
  columnOf('created_at', 'began'),
  columnOf('username', 'by'),
  columnOf('resource_type', 'about'),
  columnOf('error_message', 'why it failed'),
]

export function TimelinePage() {
  const [filter, setFilter] = useFilter()
  return (
    <>
      <h1>Timeline</h1>
      <FilterBar
        filter={filter}
        set={setFilter}
        fields={[
          { name: 'keyword', label: 'Text' },
          { name: 'status', label: 'Status', options: ['IN_PROGRESS', 'SUCCESS', 'FAILED'] },
          { name: 'resource_type', label: 'About' },
          { name: 'username', label: 'By' },
          { name: 'created_at_from', label: 'From' },
          { name: 'created_at_to', label: 'To' },
        ]}
      />
      {filter.created_at_to !== undefined && (
        <p role="status">
          You see what was known until {filter.created_at_to}, not now: nothing can be changed from here.{' '}
          <Link href="/timeline">Show up to now</Link>
        </p>
      )}
      <Rows
        label="Timeline"
        operation="appEventList"
        filter={filter}
        columns={COLUMNS}
        hrefOf={hrefOfEvent}
        empty={<p>{Object.keys(filter).length > 0 ? 'Nothing matches.' : 'Nothing was done yet.'}</p>}
      />
    </>
  )
}

function hrefOfEvent(event: Row): string {
  return typeof event.correlation_id === 'string' ? `/timeline/${event.correlation_id}` : '/timeline'
}

export function EventTable({ events }: { events: readonly AppEvent[] }) {
  return (
    <ul className="findings">
      {events.map((event) => (
        <li key={event.id}>
          <Time at={event.created_at} /> <State text={event.status} />{' '}
          <Link href={hrefOfEvent(event)}>{event.description}</Link> {event.username}{' '}
          <span className="error">{event.error_message}</span>
        </li>
      ))}
    </ul>
  )
}

/** All that belongs to one operation: who asked, its steps, and the platform's own events. */
export function ChainPage({ id }: { id: string }) {
  const query = useCall('timelineList', { query: { correlation_id: id, sort_order: 'asc', page_size: 200 } })
  return (
    <>
      <h1>One operation</h1>
      <p className="help">
        <code>{id}</code> <Link href={`/jobs/${id}`}>its job</Link>
      </p>
      <Loaded query={query}>
        {({ entries }) => (
          <>
            <Entries entries={entries} />
            <Before id={id} entries={entries} />
          </>
        )}
      </Loaded>
    </>
  )
}

const BEFORE_MS = 5 * 60_000

/** What else touched the same thing shortly before. */
function Before({ id, entries }: { id: string; entries: readonly TimelineEntry[] }) {
  const first = entries.find(({ source, resource_id }) => source === 'operation' && UUID.test(resource_id))
  const to = first === undefined ? 0 : Date.parse(first.at)
  const query = useCall(
    'timelineList',
    {
      query: {
        resource_id: first?.resource_id ?? '',
        from: new Date(to - BEFORE_MS).toISOString(),
        to: new Date(to).toISOString(),
        page_size: 50,
      },
    },
    first !== undefined,
  )
  if (first === undefined) return null
  return (
    <section aria-label="Shortly before">
      <h2>What else touched it in the five minutes before</h2>
      <Loaded query={query}>
        {(answer) => {
          const others = answer.entries.filter(({ correlation_id }) => correlation_id !== id)
          return others.length === 0 ? <p>Nothing that this service knows of.</p> : <Entries entries={others} />
        }}
      </Loaded>
    </section>
  )
}

const UUID = /^[0-9a-f]{8}-[0-9a-f-]{27}$/i

export function Entries({ entries }: { entries: readonly TimelineEntry[] }) {
  if (entries.length === 0) return <p>Nothing is known of it: events are kept for a limited time.</p>
  return (
    <div className="table" tabIndex={0} role="region" aria-label="Entries">
      <table>
        <thead>
          <tr>
            {['at', 'source', 'what', 'status', 'seconds', 'by'].map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {entries.map((entry) => (
            <tr key={`${entry.source} ${entry.id}`}>
              <td data-title="at">
                <Time at={entry.at} />
              </td>
              <td data-title="source">{entry.source}</td>
              <td data-title="what">
                {entry.correlation_id === null ? (
                  entry.text || entry.what
                ) : (
                  <Link href={`/timeline/${entry.correlation_id}`}>{entry.text || entry.what}</Link>
                )}{' '}
                <span className="error">{entry.error_message}</span>
              </td>
              <td data-title="status">
                <State text={entry.status} />
              </td>
              <td data-title="seconds">{entry.duration_s?.toFixed(1) ?? '–'}</td>
              <td data-title="by">{entry.username}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
