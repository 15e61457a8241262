// One camera: its live video or a recording with the timeline, by the player that the service has for every page.
import { useEffect, useRef, useState } from 'react'
import { useSearchParams } from 'wouter'
import type { Camera } from '#src/contract/cam/cameras.ts'
import { useCall } from '../../api/queries.ts'
import { Problem } from '../../form/problem.tsx'
import { columnOf } from '../../lists/columns.tsx'
import { Table } from '../../lists/table.tsx'
import { Facts, Loaded, Panel } from '../panel.tsx'
import { DetectionTable } from './detections.tsx'

export function CameraPage({ id }: { id: string }) {
  const query = useCall('cameraList', {})
  const camera = query.data?.find((one) => one.id === id)
  return (
    <>
      <h1>{camera?.name ?? id}</h1>
      <Loaded query={query}>
        {() =>
          camera === undefined ? (
            <p>The NVR has no camera {id}.</p>
          ) : (
            <>
              <PlayerOf camera={camera} />
              <Recorded id={id} />
              <Facts thing={{ ...camera, zones: camera.zones.join(', '), labels: camera.labels.join(', ') }} />
            </>
          )
        }
      </Loaded>
    </>
  )
}

/** What of the player's files is used here: src/player/player.ts and api.ts. */
interface PlayerFiles {
  createApi(): unknown
  Player: new (
    root: HTMLElement,
    options: Record<string, unknown>,
  ) => { play(at?: number): Promise<void>; stop(): void }
}

/** The files themselves, as every page gets them: they are not part of this bundle, so that they are there once. */
const FILES = '/cam/player'

async function loadPlayer(): Promise<PlayerFiles> {
  const [api, player] = await Promise.all(
    ['api.ts', 'player.ts'].map((name) => import(`${FILES}/${name}`) as Promise<Partial<PlayerFiles>>),
  )
  return { ...api, ...player } as PlayerFiles
}

function PlayerOf({ camera }: { camera: Camera }) {
  const { id, detect_width, detect_height } = camera
  const root = useRef<HTMLDivElement>(null)
  const [search] = useSearchParams()
  const at = search.get('at')
  const [problem, setProblem] = useState<unknown>()
  useEffect(() => {
    let player: { play(at?: number): Promise<void>; stop(): void } | undefined
    let ended = false
    loadPlayer().then(({ Player, createApi }) => {
      if (ended || root.current === null) return
      const detect = { width: detect_width ?? 1280, height: detect_height ?? 720 }
      player = new Player(root.current, { api: createApi(), camera: id, detect })
      if (at !== null) void player.play(Number(at))
    }, setProblem)
    return () => {
      ended = true
      player?.stop()
    }
  }, [id, detect_width, detect_height, at])
  return (
    <>
      <link rel="stylesheet" href={`${FILES}/player.css`} />
      {problem !== undefined && <Problem error={problem} />}
      <div ref={root} role="region" aria-label="Video" className="video" />
    </>
  )
}

const DAY_COLUMNS = [columnOf('day'), columnOf('events'), columnOf('hours')]

function Recorded({ id }: { id: string }) {
  const days = useCall('cameraRecordingSummaryGet', { params: { id }, query: {} })
  const events = useCall('cameraEventList', { query: { cameras: id, limit: 50 } })
  return (
    <div className="panels">
      <Panel title="Recorded days" query={days}>
        {(found) => (
          <Table
            label="Recorded days"
            rows={found.map(({ day, events: count, hours }) => ({ day, events: count, hours: hours.length }))}
            columns={DAY_COLUMNS}
            empty="Nothing was recorded yet."
          />
        )}
      </Panel>
      <Panel title="Newest detections" query={events}>
        {(found) => <DetectionTable events={found} />}
      </Panel>
    </div>
  )
}
