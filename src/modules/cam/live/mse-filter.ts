// What may pass between a player and the relay for MediaSource: one offer, its answer, and media.
import type { SocketFilter } from '#src/contract/answers.ts'
import { notUnderstood, relayFailed, relayMessage } from './relay-message.ts'

/** H.264 in the one spelling that the relay compares; an offer of which it knows nothing counts as H.265 too. */
const VIDEO = 'avc1.640029'
const AUDIO: readonly string[] = ['mp4a.40.2', 'flac', 'opus']

export function mseFilter(): SocketFilter {
  let is_offered = false
  return {
    fromClient(data, is_binary) {
      const message = relayMessage(data, is_binary)
      if (message?.type !== 'mse') return notUnderstood('Send {"type":"mse","value":"<codecs>"}.')
      // The relay would send two streams into one another.
      if (is_offered) return notUnderstood('Send one offer a connection.')
      is_offered = true
      const offered = message.value.split(',').map((codec) => codec.trim())
      return JSON.stringify({ type: 'mse', value: [VIDEO, ...AUDIO.filter((codec) => offered.includes(codec))].join() })
    },
    fromUpstream(data, is_binary) {
      if (is_binary) return data
      const message = relayMessage(data, is_binary)
      if (message?.type === 'error') return relayFailed(message.value)
      return message?.type === 'mse' ? data : undefined
    },
  }
}
