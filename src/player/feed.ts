// What the cameras see as it happens: the feed of topics, opened again whenever it is lost.
import type { Api } from './api.ts'

export interface Detection {
  id: string
  label: string
  /** Left, top, right and bottom in pixels of the image that objects are detected in. */
  box: readonly [number, number, number, number]
}

/** `undefined` as detection: the object is gone. */
export type Heard = (camera: string, id: string, detection: Detection | undefined) => void

const PAUSE_MS = 2_000

/** Answers how to stop. */
export function followDetections(api: Api, heard: Heard): () => void {
  let socket: WebSocket | undefined
  let timer: number | undefined
  let is_stopped = false
  const open = (): void => {
    socket = api.socket('/cam/events/stream')
    socket.addEventListener('message', ({ data }: MessageEvent<string>) => read(data, heard))
    socket.addEventListener('close', () => {
      if (!is_stopped) timer = window.setTimeout(open, PAUSE_MS)
    })
  }
  open()
  return () => {
    is_stopped = true
    clearTimeout(timer)
    socket?.close()
  }
}

interface TopicMessage {
  topic: string
  /** Of `events`: text that is JSON once more. */
  payload: unknown
}

interface EventChange {
  type: 'new' | 'update' | 'end'
  after: { id: string; camera: string; label: string; box: [number, number, number, number] | null }
}

function read(data: string, heard: Heard): void {
  const { topic, payload } = JSON.parse(data) as TopicMessage
  if (topic !== 'events' || typeof payload !== 'string') return
  const { type, after } = JSON.parse(payload) as EventChange
  const { id, camera, label, box } = after
  heard(camera, id, type === 'end' || box === null ? undefined : { id, label, box })
}
