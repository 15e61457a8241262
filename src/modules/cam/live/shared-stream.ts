// One connection to the relay for all viewers of a stream: each frame is read and encoded once, and a viewer that cannot keep up
// goes without frames, never the others.
import type { SocketClient } from '#src/contract/answers.ts'
import { CLOSE, encodeMessage, type SocketEnd } from '#src/kernel/http/socket-end.ts'
import { closeAsUpstream, SILENT, TOO_SLOW } from '#src/kernel/http/socket-upstream.ts'
import { beginsWithKeyFrame, isInitSegment, videoTrackOf } from './fragments.ts'
import { relayFailed, relayMessage } from './relay-message.ts'

/** A group of more bytes is not kept: who joins waits for the next key frame. */
const MAX_GROUP_BYTES = 4 * 1024 * 1024

/**
 * The relay stops sending for good to a reader that was slow for 5 seconds, and closes nothing; a source that is re-encoded may
 * take 3 seconds to begin, and a camera 10 until its next key frame.
 */
export const SILENCE_MS = 15_000

/** Runs something after a time unless it is stopped; tests turn the clock by hand. */
export type After = (time_ms: number, run: () => void) => { begin_again(): void; stop(): void }

export const afterTime: After = (time_ms, run) => {
  const timer = setTimeout(run, time_ms)
  return { begin_again: () => void timer.refresh(), stop: () => clearTimeout(timer) }
}

export interface SharedStreamOptions {
  relay: Promise<SocketEnd>
  offer: string
  after: After
  /** Nobody may join any more. */
  ended: () => void
}

export class SharedStream {
  readonly #viewers = new Map<SocketClient, Viewer>()
  readonly #options: SharedStreamOptions
  #relay: SocketEnd | undefined
  #silence: ReturnType<After> | undefined
  #has_ended = false
  /** The relay's answer to the offer. */
  #media_type: string | undefined
  #init: Buffer | undefined
  #video_track: number | undefined
  /** From the newest key frame on, encoded; undefined until there is one. */
  #group: Buffer[] | undefined
  #group_bytes = 0

  constructor(options: SharedStreamOptions) {
    this.#options = options
    options.relay.then(
      (relay) => this.#follow(relay),
      () => this.#lost(CLOSE.lost),
    )
  }

  join(client: SocketClient): void {
    const viewer = new Viewer(client, this.#options.after)
    this.#viewers.set(client, viewer)
    if (this.#media_type !== undefined) client.send(this.#media_type)
    if (this.#init !== undefined) viewer.join(this.#init, this.#group ?? [])
  }

  leave(client: SocketClient): void {
    this.#viewers.delete(client)
    if (this.#viewers.size === 0) this.#end(() => {})
  }

  #follow(relay: SocketEnd): void {
    this.#relay = relay
    if (this.#has_ended) return relay.close(CLOSE.going_away)
    const silent = (): void => this.#end((client) => client.close(CLOSE.bad_gateway, SILENT))
    this.#silence = this.#options.after(SILENCE_MS, silent)
    relay.onClose((code) => this.#lost(code))
    relay.read((data, is_binary) => {
      this.#silence?.begin_again()
      if (is_binary) this.#receiveMedia(data)
      else this.#receiveText(data)
    })
    if (relay.is_open) relay.send(this.#options.offer)
    else this.#lost(CLOSE.lost)
  }

  #receiveText(data: Buffer): void {
    const message = relayMessage(data, false)
    if (message?.type === 'error') {
      const { code, reason } = relayFailed(message.value)
      this.#end((client) => client.close(code, reason))
    } else if (message?.type === 'mse') {
      this.#media_type = data.toString()
      for (const client of this.#viewers.keys()) client.send(this.#media_type)
    }
  }

  #receiveMedia(data: Buffer): void {
    const encoded = encodeMessage(data)
    if (this.#init === undefined || isInitSegment(data)) {
      this.#init = encoded
      this.#video_track = videoTrackOf(data)
      this.#group = undefined
      for (const viewer of this.#viewers.values()) viewer.join(encoded, [])
      return
    }
    const is_key = beginsWithKeyFrame(data, this.#video_track)
    this.#keep(encoded, is_key)
    for (const viewer of this.#viewers.values()) viewer.send(encoded, is_key)
  }

  #keep(encoded: Buffer, is_key: boolean): void {
    if (is_key) {
      this.#group = []
      this.#group_bytes = 0
    }
    this.#group_bytes += encoded.length
    if (this.#group_bytes > MAX_GROUP_BYTES) this.#group = undefined
    this.#group?.push(encoded)
  }

  #lost(code: number): void {
    this.#end((client) => closeAsUpstream(client, code))
  }

  #end(close: (client: SocketClient) => void): void {
    if (this.#has_ended) return
    this.#has_ended = true
    this.#silence?.stop()
    this.#options.ended()
    this.#relay?.close(CLOSE.going_away)
    for (const client of this.#viewers.keys()) close(client)
  }
}

/** What one viewer was sent: nothing while too much waits for it, and then again from a key frame on. */
class Viewer {
  readonly #client: SocketClient
  readonly #after: After
  #waits_for_key = true
  #is_behind = false

  constructor(client: SocketClient, after: After) {
    this.#client = client
    this.#after = after
  }

  join(init: Buffer, group: readonly Buffer[]): void {
    this.#client.sendEncoded(init)
    for (const encoded of group) this.#client.sendEncoded(encoded)
    this.#waits_for_key = group.length === 0
    this.#checkRoom()
  }

  send(encoded: Buffer, is_key: boolean): void {
    if (this.#is_behind || (this.#waits_for_key && !is_key)) return
    this.#waits_for_key = false
    this.#client.sendEncoded(encoded)
    this.#checkRoom()
  }

  #checkRoom(): void {
    const drained = this.#client.drained()
    if (drained === undefined) return
    this.#is_behind = true
    this.#waits_for_key = true
    const too_slow = this.#after(SILENCE_MS, () => this.#client.close(CLOSE.try_again_later, TOO_SLOW))
    void drained.then(() => {
      too_slow.stop()
      this.#is_behind = false
    })
  }
}
