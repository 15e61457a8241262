// The NVR as this service speaks to it: a client for each address and password that it has had, made when first needed.
import { createHash } from 'node:crypto'
import type { SocketUpstream } from '#src/contract/answers.ts'
import type { NvrSettings, Observe } from './settings.ts'
import { createTransport, type NvrTransport } from './transport.ts'

/** The name that the NVR's certificate is for: its address may change, and nobody else is signed by that CA. */
export const NVR_SERVER_NAME = 'nvr.groundplane.internal'

export interface Frigate {
  readonly transport: NvrTransport
  /**
   * A WebSocket below the NVR (`/ws`, `/live/mse/api/ws`), with the shared login. Nothing of a caller may become a part of `path` or
   * `query` unchecked.
   */
  socket(path: string, query?: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<SocketUpstream>
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
  return {
    transport,
    async socket(path, query = {}, signal) {
      const token = await transport.session.token(signal)
      const search = new URLSearchParams(query).toString()
      return {
        subsystem: 'NVR',
        url: `${settings.origin.replace(/^http/, 'ws')}${path}${search === '' ? '' : `?${search}`}`,
        headers: { authorization: `Bearer ${token}` },
        tls: settings.tls,
      }
    },
  }
}
