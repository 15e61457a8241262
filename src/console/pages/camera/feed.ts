// Counters of the cameras as the NVR tells them by its feed, while a page shows them; a switch that is turned elsewhere reads the list.
import { useEffect, useState } from 'react'
import { queries } from '../../api/queries.ts'

export interface Counters {
  camera_fps: number | null
  process_fps: number | null
  skipped_fps: number | null
  detection_fps: number | null
}

const NAMES = ['camera_fps', 'process_fps', 'skipped_fps', 'detection_fps'] as const
const PAUSE_MS = 2000

export function useCounters(): Readonly<Record<string, Counters>> {
  const [counters, setCounters] = useState<Readonly<Record<string, Counters>>>({})
  useEffect(() => {
    let socket: WebSocket | undefined
    let timer: ReturnType<typeof setTimeout> | undefined
    let ended = false
    const open = (): void => {
      socket = new WebSocket(`${location.origin.replace(/^http/, 'ws')}/cam/events/stream`)
      socket.addEventListener('message', ({ data }: MessageEvent<string>) => {
        const { topic, payload } = messageOf(data)
        if (topic === 'stats') setCounters(countersOf(payload))
        if (topic.endsWith('/state')) void queries.invalidateQueries({ queryKey: ['cameraList'] })
      })
      socket.addEventListener('close', () => {
        if (!ended) timer = setTimeout(open, PAUSE_MS)
      })
    }
    open()
    return () => {
      ended = true
      clearTimeout(timer)
      socket?.close()
    }
  }, [])
  return counters
}

function messageOf(text: string): { topic: string; payload: unknown } {
  const { topic, payload } = (parsed(text) ?? {}) as { topic?: unknown; payload?: unknown }
  return { topic: String(topic), payload: typeof payload === 'string' ? parsed(payload) : payload }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function countersOf(payload: unknown): Record<string, Counters> {
  const { cameras = {} } = (payload ?? {}) as { cameras?: Record<string, Record<string, unknown>> }
  return Object.fromEntries(
    Object.entries(cameras).map(([id, figures]) => [
      id,
      Object.fromEntries(
        NAMES.map((name) => [name, typeof figures[name] === 'number' ? figures[name] : null]),
      ) as unknown as Counters,
    ]),
  )
}
