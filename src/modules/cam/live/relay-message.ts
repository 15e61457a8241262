// The messages of the relay: JSON with a type and a value, and what its errors mean.
import type { SocketClose } from '#src/contract/answers.ts'

export interface RelayMessage {
  type: string
  value: string
}

const NOT_UNDERSTOOD = 1008
const RELAY_FAILED = 1011

/** Undefined where it is none. */
export function relayMessage(data: Buffer, is_binary: boolean): RelayMessage | undefined {
  if (is_binary) return undefined
  try {
    const message: unknown = JSON.parse(data.toString())
    if (typeof message !== 'object' || message === null || !('type' in message)) return undefined
    const { type, value = '' } = message as { type: unknown; value?: unknown }
    return typeof type === 'string' && typeof value === 'string' ? { type, value } : undefined
  } catch {
    return undefined
  }
}

export function notUnderstood(reason: string): SocketClose {
  return { code: NOT_UNDERSTOOD, reason }
}

/** The relay's own words may hold addresses and passwords of cameras, and its socket stays open although nothing comes any more. */
export function relayFailed(words: string): SocketClose {
  const reason = /codecs not matched/.test(words)
    ? 'No stream of the camera is in a codec that was asked for.'
    : /stream not found/.test(words)
      ? 'The relay has no stream of the camera.'
      : 'The relay gets no stream from the camera.'
  return { code: RELAY_FAILED, reason }
}
