// What runs and what failed, as the stream tells it: for the line at the foot of every page.
import { useSyncExternalStore } from 'react'

export interface Operation {
  correlation_id: string
  action: string
  description: string
  status: string
  progress: number
  error_message: string
  resource_uuid: string
  username: string
  created_at: string
}

/** Newest first. */
let known: readonly Operation[] = []
const listeners = new Set<() => void>()
const CAPACITY = 200

export function noteActivity(data: Record<string, unknown>): void {
  const operation = data as unknown as Operation
  if (!operation.correlation_id) return
  const others = known.filter(({ correlation_id }) => correlation_id !== operation.correlation_id)
  known = [operation, ...others].slice(0, CAPACITY)
  for (const listener of listeners) listener()
}

export function clearActivity(): void {
  known = []
  for (const listener of listeners) listener()
}

export function useActivity(): readonly Operation[] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => known,
  )
}
