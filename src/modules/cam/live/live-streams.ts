// Viewers of live video by MediaSource: whoever watches the same stream with the same codecs shares a connection to the relay.
import type { SocketSource } from '#src/contract/answers.ts'
import { CLOSE, type SocketEnd } from '#src/kernel/http/socket-end.ts'
import type { Log } from '#src/kernel/log.ts'
import { mseOffer } from './mse-offer.ts'
import { notUnderstood } from './relay-message.ts'
import { type After, afterTime, SharedStream, SILENCE_MS } from './shared-stream.ts'

export interface LiveStreams {
  /**
   * A viewer of the stream of this name. Where nobody watches it yet the relay is connected first, so that the viewer's request can
   * be answered with the failure.
   */
  viewer(name: string, connect: (signal: AbortSignal) => Promise<SocketEnd>, signal: AbortSignal): Promise<SocketSource>
}

export function createLiveStreams(log: Log, after: After = afterTime): LiveStreams {
  /** By the name of the stream, then by the codecs that the relay was asked for. */
  const streams = new Map<string, Map<string, SharedStream>>()
  const streamOf = (name: string, offer: string, connect: () => Promise<SocketEnd>): SharedStream => {
    const by_offer = streams.get(name) ?? new Map<string, SharedStream>()
    streams.set(name, by_offer)
    const known = by_offer.get(offer)
    if (known !== undefined) return known
    const ended = (): void => {
      by_offer.delete(offer)
      if (by_offer.size === 0) streams.delete(name)
    }
    const relay = connect()
    relay.catch((err: unknown) => log.warn({ err }, 'relay of live video not reached'))
    const made = new SharedStream({ relay, offer, after, ended })
    by_offer.set(offer, made)
    return made
  }
  return {
    async viewer(name, connect, signal) {
      let spare = streams.has(name) ? undefined : await connect(signal)
      const takeSpare = (): SocketEnd | undefined => {
        const taken = spare
        spare = undefined
        return taken
      }
      return {
        open(client) {
          let stream: SharedStream | undefined
          const end = ({ code, reason }: { code: number; reason: string }): void => client.close(code, reason)
          const unoffered = after(SILENCE_MS, () => end(notUnderstood('No offer came.')))
          return {
            message(data, is_binary) {
              // The relay would send two streams into one another.
              if (stream !== undefined) return end(notUnderstood('Send one offer a connection.'))
              const offer = mseOffer(data, is_binary)
              if (typeof offer !== 'string') return end(offer)
              unoffered.stop()
              stream = streamOf(name, offer, async () => takeSpare() ?? connect(AbortSignal.timeout(SILENCE_MS)))
              takeSpare()?.close(CLOSE.going_away)
              stream.join(client)
            },
            closed() {
              unoffered.stop()
              takeSpare()?.close(CLOSE.going_away)
              stream?.leave(client)
            },
          }
        },
        unused: () => takeSpare()?.terminate(),
      }
    },
  }
}
