// Cameras: what each does at the moment with its switches, what was detected, what is to be reviewed, faces, and the NVR itself.
import { useState } from 'react'
import { Link } from 'wouter'
import type { Camera } from '#src/contract/cam/cameras.ts'
import { callAny } from '../../api/call.ts'
import { queries, useCall } from '../../api/queries.ts'
import { whyNot } from '../../api/why-not.ts'
import { Problem } from '../../form/problem.tsx'
import { type Column, columnOf, type Row } from '../../lists/columns.tsx'
import { Table } from '../../lists/table.tsx'
import { useMe } from '../../session/session.ts'
import { OperationButtons } from '../operation-buttons.tsx'
import { Loaded } from '../panel.tsx'
import { Tabs } from '../tabs.tsx'
import { Detections } from './detections.tsx'
import { Faces } from './faces.tsx'
import { useCounters } from './feed.ts'
import { Nvr } from './nvr.tsx'
import { Reviews } from './reviews.tsx'

const TABS = [
  { path: '', title: 'Cameras', shows: CameraTable },
  { path: 'events', title: 'Events', shows: Detections },
  { path: 'reviews', title: 'Reviews', shows: Reviews },
  { path: 'faces', title: 'Faces', shows: Faces },
  { path: 'nvr', title: 'NVR', shows: Nvr },
] as const

export function CamerasPage({ part = '' }: { part?: string | undefined }) {
  const tab = TABS.find(({ path }) => path === part)
  const hrefOf = (path: string): string => (path === '' ? '/cameras' : `/cameras/${path}`)
  return (
    <>
      <h1>Cameras</h1>
      <Tabs label="Parts of the NVR" tabs={TABS.map(({ path, title }) => ({ href: hrefOf(path), title }))} />
      {tab === undefined ? <p>There is no part {part}.</p> : <tab.shows />}
    </>
  )
}

const COLUMNS: readonly Column[] = [
  {
    name: 'name',
    title: 'camera',
    cell: ({ id, name }) => <Link href={`/camera/${encodeURIComponent(String(id))}`}>{String(name)}</Link>,
  },
  columnOf('camera_fps', 'frames/s'),
  columnOf('process_fps', 'processed/s'),
  columnOf('skipped_fps', 'left out/s'),
  columnOf('detection_fps', 'detections/s'),
  { name: 'switches', title: 'switches', cell: (row) => <Switches camera={cameraOf(row)} /> },
]
const cameraOf = (row: Row): Camera => row as unknown as Camera

function CameraTable() {
  const query = useCall('cameraList', {})
  const counters = useCounters()
  return (
    <>
      <OperationButtons operations={[{ operation: 'cameraProbe' }, { operation: 'cameraCreate' }]} />
      <Loaded query={query}>
        {(cameras) => (
          <Table
            label="Cameras"
            rows={cameras.map((camera) => ({ ...camera, ...counters[camera.id] }))}
            columns={COLUMNS}
            empty="The NVR has no camera, or there is no NVR."
            actions={(row) => <CameraOperations camera={cameraOf(row)} />}
          />
        )}
      </Loaded>
    </>
  )
}

/** Its recording is written into the configuration, so that the NVR restarts: this is asked for in a dialog. */
function CameraOperations({ camera: { id, name, record_configured } }: { camera: Camera }) {
  return (
    <OperationButtons
      operations={[
        {
          operation: 'cameraRecordingSet',
          label: record_configured ? 'Stop recording' : 'Record',
          given: { id, enabled: String(!record_configured) },
        },
        { operation: 'cameraDelete', label: 'Remove', given: { id }, confirm: name },
      ]}
    />
  )
}

/** They act at once: what they change is seen, and changed back by the same click. */
function Switches({ camera }: { camera: Camera }) {
  const me = useMe()
  const [problem, setProblem] = useState<unknown>()
  const switches = [
    { operation: 'cameraDetectSet', title: 'detect', is_on: camera.detect_enabled, why: null },
    { operation: 'cameraMotionSet', title: 'motion', is_on: camera.motion_enabled, why: null },
    {
      operation: 'cameraAudioSet',
      title: 'sound',
      is_on: camera.audio_enabled,
      why: camera.audio_configured ? null : 'It has no stream with sound.',
    },
  ]
  const change = (operation: string, enabled: boolean): void => {
    setProblem(undefined)
    callAny(operation, { params: { id: camera.id }, body: { enabled } })
      .then(() => queries.invalidateQueries({ queryKey: ['cameraList'] }))
      .catch(setProblem)
  }
  return (
    <>
      <div className="actions">
        {switches.map(({ operation, title, is_on, why: own }) => {
          const why = whyNot(me, operation) ?? own
          return (
            <button
              key={operation}
              type="button"
              role="switch"
              aria-checked={is_on}
              aria-disabled={why !== null}
              aria-label={`${title} of ${camera.name}`}
              onClick={() => {
                if (why === null) change(operation, !is_on)
              }}
            >
              {title} {is_on ? 'on' : 'off'}
              {why !== null && <small>{why}</small>}
            </button>
          )
        })}
      </div>
      {problem !== undefined && <Problem error={problem} />}
    </>
  )
}
