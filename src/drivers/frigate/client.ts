// The NVR as this service speaks to it: a client for each address and password that it has had, made when first needed.
import { createHash } from 'node:crypto'
import type { SocketUpstream } from '#src/contract/answers.ts'
import { type FrigateReads, readsOf } from './reads.ts'
import type { NvrSettings, Observe } from './settings.ts'
import { createTransport, type NvrTransport } from './transport.ts'
import { type FrigateWrites, writesOf } from './writes.ts'

/** The name that the NVR's certificate is for: its address may change, and nobody else is signed by that CA. */
export const NVR_SERVER_NAME = 'nvr.groundplane.internal'

export interface Frigate extends FrigateReads, FrigateWrites {
  readonly transport: NvrTransport
  /** Ids of its cameras: a few seconds old, unless `wanted` is none of them. */
  cameraIds(signal: AbortSignal, wanted?: string): Promise<readonly string[]>
  /** Headers with the shared login, and how to renew it when they were rejected. */
  authorize(signal: AbortSignal): Promise<Authorization>
  /**
   * A WebSocket below the NVR (`/ws`, `/live/mse/api/ws`), with the shared login. Nothing of a caller may become a part of `path` or
   * `query` unchecked.
   */
  socket(path: string, query?: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<SocketUpstream>
}

export interface Authorization {
  headers: Record<string, string>
  renew(): Promise<Record<string, string>>
}

export interface FrigateClients {
  /** The client of these settings; the one of earlier settings is closed. */
  at(settings: NvrSettings): Frigate
  close(): Promise<void>
}

export function createFrigateClients(observe: Observe): FrigateClients {
  let current: { key: string; client: Frigate } | undefined
  return {
    at(settings) {
      const key = createHash('sha256').update(JSON.stringify(settings)).digest('hex')
      if (current?.key === key) return current.client
      // Requests under way on the earlier one end by themselves, or fail as the NVR that they were meant for is gone.
      void current?.client.transport.close()
      current = { key, client: createFrigate(settings, observe) }
      return current.client
    },
    close: () => current?.client.transport.close() ?? Promise.resolve(),
  }
}

export function createFrigate(settings: NvrSettings, observe: Observe): Frigate {
  const transport = createTransport(settings, observe)
  const { session } = transport
  const reads = readsOf(transport)
  const headersOf = (token: string): Record<string, string> => ({ authorization: `Bearer ${token}` })
  return {
    ...reads,
    ...writesOf(transport),
    transport,
    cameraIds: createCameraIds(reads),
    async authorize(signal) {
      const token = await session.token(signal)
      return { headers: headersOf(token), renew: async () => headersOf(await session.renew(token, signal)) }
    },
    async socket(path, query = {}, signal) {
      const token = await session.token(signal)
      const search = new URLSearchParams(query).toString()
      return {
        subsystem: 'NVR',
        url: `${settings.origin.replace(/^http/, 'ws')}${path}${search === '' ? '' : `?${search}`}`,
        headers: headersOf(token),
        tls: settings.tls,
        renewHeaders: async () => headersOf(await session.renew(token, signal)),
      }
    },
  }
}

const IDS_MS = 10_000
/** However often an unknown camera is asked for, the NVR is not asked more often than this. */
const IDS_AGAIN_MS = 1_000

function createCameraIds(reads: FrigateReads): Frigate['cameraIds'] {
  let known: { ids: readonly string[]; at: number } | undefined
  return async (signal, wanted) => {
    const age = known === undefined ? Infinity : performance.now() - known.at
    const is_missed = wanted !== undefined && known?.ids.includes(wanted) === false && age > IDS_AGAIN_MS
    if (known !== undefined && age < IDS_MS && !is_missed) return known.ids
    const { cameras } = await reads.config({ no_cache: true, signal })
    known = { ids: Object.keys(cameras), at: performance.now() }
    return known.ids
  }
}
