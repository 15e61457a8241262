// One camera in an element of a page: live video or a recording, detections drawn over it, and the timeline below.
// A console embeds this module as the page of this folder does.
import type { Api } from './api.ts'
import { followDetections } from './feed.ts'
import { type LiveState, showLive, type Way } from './live.ts'
import { createOverlay, type DetectSize, type Overlay } from './overlay.ts'
import { type HlsChoice, playRecording, type Recording } from './recording.ts'
import { createTimeline, type Timeline } from './timeline.ts'

export interface PlayerOptions {
  api: Api
  camera: string
  detect: DetectSize
  /** All where left out, in the order in which they are tried. */
  ways?: readonly Way[]
  hls?: HlsChoice
}

export interface PlayerState {
  /** `undefined`: live. Otherwise unix seconds. */
  at: number | undefined
  live: LiveState | undefined
  fault: string
}

const POSITION_MS = 500

export class Player {
  readonly state: PlayerState = { at: undefined, live: undefined, fault: '' }
  readonly #root: HTMLElement
  readonly #options: PlayerOptions
  readonly #parts: Parts
  readonly #overlay: Overlay
  readonly #timeline: Timeline
  /** What ends with the player. */
  readonly #ends: (() => void)[]
  #stopShown: () => void = () => {}
  #recording: Recording | undefined
  readonly #live_memory: { worked: Way | undefined } = { worked: undefined }

  constructor(root: HTMLElement, options: PlayerOptions) {
    this.#root = root
    this.#options = options
    this.#parts = build(root)
    const { overlay, timeline, live_button, screen } = this.#parts
    this.#overlay = createOverlay(overlay, options.detect, () => lateMs(screen.video))
    this.#timeline = createTimeline(timeline, options, (at) => void this.play(at))
    const stopFeed = followDetections(options.api, (camera, id, detection) => {
      if (camera === options.camera && this.state.at === undefined) this.#overlay.set(id, detection)
    })
    const timer = setInterval(() => this.#showPosition(), POSITION_MS)
    const onKey = (event: KeyboardEvent): void => pressed(event, this.#parts, () => void this.play())
    root.addEventListener('keydown', onKey)
    live_button.addEventListener('click', () => void this.play())
    this.#ends = [
      stopFeed,
      () => clearInterval(timer),
      () => root.removeEventListener('keydown', onKey),
      () => this.#overlay.stop(),
      () => this.#timeline.stop(),
    ]
    this.#timeline.refresh().catch((error: unknown) => this.#fail(String(error)))
    void this.play()
  }

  /** From a moment in the past, in unix seconds; without one live. */
  async play(at?: number): Promise<void> {
    this.#leave()
    Object.assign(this.state, { at, live: undefined, fault: '' })
    this.#timeline.show(at)
    this.#report()
    const { api, camera, hls = 'auto' } = this.#options
    const { screen } = this.#parts
    if (at === undefined) {
      this.#stopShown = showLive(screen, { ...this.#options, memory: this.#live_memory }, (live) => {
        this.state.live = live
        this.#report()
      })
      return
    }
    const control = new AbortController()
    const { signal } = control
    this.#stopShown = () => control.abort()
    // Somebody may go on to something else before it plays.
    const fail = (reason: string): void => {
      if (!signal.aborted) this.#fail(reason)
    }
    try {
      const recording = await playRecording(screen.video, { api, camera, from: at, hls, signal }, fail)
      if (!signal.aborted) this.#recording = recording
    } catch (error) {
      fail(error instanceof Error ? error.message : String(error))
    }
  }

  stop(): void {
    this.#leave()
    for (const end of this.#ends) end()
    this.#root.replaceChildren()
  }

  #leave(): void {
    this.#stopShown()
    this.#stopShown = () => {}
    this.#recording = undefined
    this.#overlay.clear()
    const { video } = this.#parts.screen
    video.removeAttribute('src')
    video.load()
  }

  #showPosition(): void {
    if (this.#recording === undefined) return
    this.state.at = this.#recording.now()
    this.#timeline.show(this.state.at)
    this.#report()
  }

  #fail(reason: string): void {
    this.state.fault = reason
    this.#report()
  }

  #report(): void {
    const { at, live, fault } = this.state
    const way = live?.is_shown === true ? `live (${live.way})` : `connecting (${live?.way ?? ''}) ${live?.reason ?? ''}`
    const shown = at === undefined ? way : new Date(at * 1000).toLocaleString()
    this.#parts.status.textContent = fault === '' ? shown : fault
    this.#parts.live_button.disabled = at === undefined
  }
}

/** How far the video is behind the newest frame that arrived. */
function lateMs({ buffered, currentTime, srcObject }: HTMLVideoElement): number {
  if (srcObject !== null || buffered.length === 0) return 0
  return Math.max(0, buffered.end(buffered.length - 1) - currentTime) * 1000
}

function pressed(event: KeyboardEvent, { screen: { video }, stage }: Parts, goLive: () => void): void {
  if (event.ctrlKey || event.altKey || event.metaKey) return
  const actions: Record<string, () => unknown> = {
    k: () => (video.paused ? video.play() : video.pause()),
    l: goLive,
    m: () => (video.muted = !video.muted),
    f: () => (document.fullscreenElement === null ? stage.requestFullscreen() : document.exitFullscreen()),
  }
  const action = actions[event.key]
  if (action === undefined) return
  event.preventDefault()
  Promise.resolve(action()).catch(() => {})
}

type Parts = ReturnType<typeof build>

function build(root: HTMLElement) {
  const add = <K extends keyof HTMLElementTagNameMap>(parent: HTMLElement, name: K, kind: string) => {
    const element = document.createElement(name)
    element.className = kind
    parent.append(element)
    return element
  }
  const stage = add(root, 'div', 'player-stage')
  const video = add(stage, 'video', 'player-video')
  video.muted = true
  video.playsInline = true
  const image = add(stage, 'img', 'player-image')
  image.alt = 'Newest frame of the camera'
  image.hidden = true
  const overlay = add(stage, 'canvas', 'player-overlay')
  const bar = add(root, 'div', 'player-bar')
  const live_button = add(bar, 'button', 'player-live')
  live_button.textContent = 'Live (L)'
  const status = add(bar, 'span', 'player-status')
  status.setAttribute('role', 'status')
  const timeline = add(root, 'canvas', 'player-timeline')
  timeline.tabIndex = 0
  timeline.setAttribute('role', 'slider')
  timeline.setAttribute('aria-label', 'Time: arrows 10 seconds, page keys 5 minutes, Home an hour ago, End live')
  return { stage, screen: { video, image }, overlay, live_button, status, timeline }
}
