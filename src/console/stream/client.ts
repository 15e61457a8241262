// This tab's end of the shared stream: its state for the lamp, its events for the cache.
import { useEffect, useState, useSyncExternalStore } from 'react'
import { metaContent } from '../api/contract.ts'
import type { FromWorker, StreamEvent, StreamState, ToWorker } from './worker.ts'

export interface Stream {
  state: StreamState
  /** Milliseconds since 1970. */
  since: number
}

/** So long a page waits for its stream, which a proxy may hold back, before it loads without. */
const LONGEST_WAIT_MS = 5000

let stream: Stream = { state: 'starting', since: Date.now() }
let port: MessagePort | undefined
const state_listeners = new Set<() => void>()
const event_listeners = new Set<(events: readonly StreamEvent[]) => void>()

export function onEvents(listener: (events: readonly StreamEvent[]) => void): () => void {
  event_listeners.add(listener)
  return () => event_listeners.delete(listener)
}

export function onStream(listener: () => void): () => void {
  state_listeners.add(listener)
  return () => state_listeners.delete(listener)
}

export const currentStream = (): Stream => stream
export const useStream = (): Stream => useSyncExternalStore(onStream, currentStream)

/** False until the stream is live or known to have failed. What is loaded from then on is never behind the stream. */
export function useStreamAnswered(): boolean {
  const { state } = useStream()
  const [answered, setAnswered] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setAnswered(true), state === 'starting' ? LONGEST_WAIT_MS : 0)
    return () => clearTimeout(timer)
  }, [state])
  return answered || state !== 'starting'
}

export function startStream(username: string, signedOutElsewhere: () => void): void {
  port ??= connect(signedOutElsewhere)
  post({ kind: 'start', username })
}

/** In every tab. */
export function announceSignOut(): void {
  post({ kind: 'signed-out' })
}

function connect(signedOutElsewhere: () => void): MessagePort {
  const worker = new SharedWorker(scriptAddress() as string, { type: 'module', name: 'groundplane stream' })
  worker.port.onmessage = ({ data }: MessageEvent<FromWorker>) => {
    if (data.kind === 'signed-out') return signedOutElsewhere()
    if (data.kind === 'events') {
      for (const listener of event_listeners) listener(data.events)
      return
    }
    stream = { state: data.state, since: data.since }
    for (const listener of state_listeners) listener()
  }
  worker.port.start()
  addEventListener('pagehide', ({ persisted }) => {
    if (!persisted) post({ kind: 'bye' })
  })
  return worker.port
}

function post(message: ToWorker): void {
  port?.postMessage(message)
}

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL(text: string): string },
  ): {
    createScriptURL(text: string): unknown
  }
}

/** The only script that this page starts; the policy of the page lets no other text become one. */
function scriptAddress(): unknown {
  const address = metaContent('console-stream')
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypes }
  if (trustedTypes === undefined) return address
  const check = (text: string): string => {
    if (!/^\/console\/assets\/stream-\w+\.js$/.test(text)) throw new TypeError(`not a script of the console: ${text}`)
    return text
  }
  return trustedTypes.createPolicy('console', { createScriptURL: check }).createScriptURL(address)
}
