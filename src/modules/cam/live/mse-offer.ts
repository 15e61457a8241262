// What a player may ask the relay for: H.264 for MediaSource, with the sound that it can play.
import type { SocketClose } from '#src/contract/answers.ts'
import { notUnderstood, relayMessage } from './relay-message.ts'

/** H.264 in the one spelling that the relay compares; an offer of which it knows nothing counts as H.265 too. */
const VIDEO = 'avc1.640029'
const AUDIO: readonly string[] = ['mp4a.40.2', 'flac', 'opus']

/** The offer in the relay's words: equal for all players that can play the same. */
export function mseOffer(data: Buffer, is_binary: boolean): string | SocketClose {
  const message = relayMessage(data, is_binary)
  if (message?.type !== 'mse') return notUnderstood('Send {"type":"mse","value":"<codecs>"}.')
  const offered = message.value.split(',').map((codec) => codec.trim())
  return JSON.stringify({ type: 'mse', value: [VIDEO, ...AUDIO.filter((codec) => offered.includes(codec))].join() })
}
