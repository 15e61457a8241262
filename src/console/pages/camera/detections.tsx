// What was detected, newest first: each leads to its recording.
import { Link } from 'wouter'
import type { DetectionEvent } from '#src/contract/cam/events.ts'
import { useCall } from '../../api/queries.ts'
import { type Column, columnOf } from '../../lists/columns.tsx'
import { Table } from '../../lists/table.tsx'
import { Time } from '../../lists/value.tsx'
import { FilterBar } from '../filter-bar.tsx'
import { useFilter } from '../../lists/filter.ts'
import { Loaded } from '../panel.tsx'

/** Unix seconds, as the NVR counts. */
export function At({ seconds }: { seconds: unknown }) {
  return typeof seconds === 'number' ? <Time at={new Date(seconds * 1000).toISOString()} /> : <>–</>
}

export const hrefOfMoment = (camera: string, seconds: number): string =>
  `/camera/${encodeURIComponent(camera)}?at=${Math.floor(seconds)}`

const COLUMNS: readonly Column[] = [
  { name: 'start_time', title: 'at', cell: ({ start_time }) => <At seconds={start_time} /> },
  {
    name: 'label',
    title: 'what',
    cell: ({ camera, label, sub_label, start_time }) => (
      <Link href={hrefOfMoment(String(camera), Number(start_time))}>
        {String(label)} {typeof sub_label === 'string' && sub_label}
      </Link>
    ),
  },
  columnOf('camera'),
  { name: 'zones', title: 'zones', cell: ({ zones }) => <>{(zones as string[]).join(', ')}</> },
  {
    name: 'top_score',
    title: 'certain',
    cell: ({ top_score }) => <>{typeof top_score === 'number' ? `${Math.round(top_score * 100)} %` : '–'}</>,
  },
  { name: 'end_time', title: 'until', cell: ({ end_time }) => <At seconds={end_time} /> },
]

export function DetectionTable({ events }: { events: readonly DetectionEvent[] }) {
  return <Table label="Detections" rows={events} columns={COLUMNS} empty="Nothing was detected." />
}

const MOST = 200

export function Detections() {
  const [filter, setFilter] = useFilter()
  const query = useCall('cameraEventList', { query: { ...filter, limit: MOST } })
  return (
    <>
      <FilterBar
        filter={filter}
        set={setFilter}
        fields={[
          { name: 'cameras', label: 'Camera' },
          { name: 'labels', label: 'What' },
          { name: 'zones', label: 'Zone' },
        ]}
      />
      <Loaded query={query}>
        {(events) => (
          <>
            <DetectionTable events={events} />
            {events.length === MOST && <p>These are the newest {MOST}.</p>}
          </>
        )}
      </Loaded>
    </>
  )
}
