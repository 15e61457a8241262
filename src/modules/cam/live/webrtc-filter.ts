// What may pass between a player and the relay for WebRTC: one offer, its answer, and candidates. The media take another way.
import type { SocketFilter } from '#src/contract/answers.ts'
import { notUnderstood, relayFailed, relayMessage } from './relay-message.ts'

const MAX_CANDIDATES = 100
const MAX_LENGTH = 64 * 1024

export function webrtcFilter(): SocketFilter {
  let is_offered = false
  let candidates = 0
  return {
    fromClient(data, is_binary) {
      const message = data.length > MAX_LENGTH ? undefined : relayMessage(data, is_binary)
      if (message?.type === 'webrtc/candidate') {
        candidates += 1
        return candidates > MAX_CANDIDATES ? notUnderstood('There are too many candidates.') : JSON.stringify(message)
      }
      if (message?.type !== 'webrtc/offer') return notUnderstood('Send {"type":"webrtc/offer","value":"<sdp>"}.')
      if (is_offered) return notUnderstood('Send one offer a connection.')
      is_offered = true
      return JSON.stringify(message)
    },
    fromUpstream(data, is_binary) {
      const message = relayMessage(data, is_binary)
      if (message?.type === 'error') return relayFailed(message.value)
      return message?.type === 'webrtc/answer' || message?.type === 'webrtc/candidate' ? data : undefined
    },
  }
}
