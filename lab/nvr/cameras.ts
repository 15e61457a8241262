/** The cameras that the simulated NVR draws, what moves before them and when: everything follows from the time alone. */
import { noise } from '../site.ts'
import type { Colour, Rectangle } from './video/frame.ts'

/** Video frames in a second of every stream. */
export const FRAMES_PER_S = 10

export interface Scenery {
  sky: Colour
  ground: Colour
  /** The size of the main stream. */
  width: number
  height: number
}

export type Label = 'person' | 'car'

/** Something that crosses the frame once. */
export interface Pass {
  /** As the NVR names events: when it began, and six characters. */
  id: string
  review_id: string
  camera: string
  label: Label
  start_s: number
  end_s: number
  /** Who it is, when a face was recognised. */
  sub_label: string | null
  score: number
  /** Some events have no snapshot, as with the real program. */
  has_snapshot: boolean
}

export interface Timetable {
  person_every_s: number
  car_every_s: number
}

export const DEFAULT_TIMETABLE: Timetable = { person_every_s: 90, car_every_s: 300 }

const KINDS: Readonly<
  Record<Label, { duration_s: number; width: number; height: number; top: number; colour: Colour }>
> = {
  person: { duration_s: 12, width: 0.06, height: 0.28, top: 0.36, colour: { y: 200, u: 90, v: 200 } },
  car: { duration_s: 8, width: 0.16, height: 0.14, top: 0.68, colour: { y: 180, u: 190, v: 90 } },
}
const LABELS: readonly Label[] = ['person', 'car']
/** Every so many persons look into the camera. */
const FACE_EVERY = 3

const SCENERIES: readonly Scenery[] = [
  { sky: { y: 150, u: 140, v: 110 }, ground: { y: 90, u: 110, v: 120 }, width: 1280, height: 720 },
  { sky: { y: 120, u: 120, v: 120 }, ground: { y: 70, u: 118, v: 134 }, width: 640, height: 360 },
  { sky: { y: 170, u: 130, v: 124 }, ground: { y: 110, u: 124, v: 118 }, width: 1280, height: 720 },
]

/** Cameras of any name have a scenery of their own; those of the lab in the order of their configuration. */
export function sceneryOf(index: number): Scenery {
  const scenery = SCENERIES[index % SCENERIES.length]
  if (scenery === undefined) throw new Error('there are no sceneries')
  return scenery
}

export function colourOf(label: Label): Colour {
  return KINDS[label].colour
}

/** All passes that touch the time between two moments, oldest first. */
export function passesBetween(camera: string, from_s: number, to_s: number, timetable: Timetable): Pass[] {
  const found: Pass[] = []
  for (const label of LABELS) {
    const period = periodOf(label, timetable)
    const first = Math.floor((from_s - period) / period)
    for (let index = first; index * period <= to_s; index++) {
      const pass = passOf(camera, label, index, timetable)
      if (pass.end_s >= from_s && pass.start_s <= to_s) found.push(pass)
    }
  }
  return found.toSorted((a, b) => a.start_s - b.start_s)
}

export function passById(cameras: readonly string[], id: string, timetable: Timetable): Pass | null {
  const start_s = Number(id.split('-')[0])
  if (!Number.isFinite(start_s)) return null
  for (const camera of cameras) {
    const pass = passesBetween(camera, start_s - 2, start_s + 2, timetable).find(
      (one) => one.id === id || one.review_id === id,
    )
    if (pass !== undefined) return pass
  }
  return null
}

/** Where it is at a moment, as parts of the width and the height: from the left edge to the right, with a stop in the middle. */
export function boxAt(pass: Pass, time_s: number): Rectangle {
  const { width, height, top } = KINDS[pass.label]
  const left = way(elapsed(pass, time_s)) * (1 - width)
  return { left, top, right: left + width, bottom: top + height }
}

/** Whether it stands in the middle: then a frame and a message that are a second apart still show the same. */
export function standsStill(pass: Pass, time_s: number): boolean {
  return way(elapsed(pass, time_s)) === 0.5
}

function elapsed({ start_s, end_s }: Pass, time_s: number): number {
  return Math.min(1, Math.max(0, (time_s - start_s) / (end_s - start_s)))
}

/** How far along its way it is after a part of its time: half of the time it stands. */
function way(part: number): number {
  if (part < 0.25) return 2 * part
  return part < 0.75 ? 0.5 : 2 * part - 1
}

function passOf(camera: string, label: Label, index: number, timetable: Timetable): Pass {
  const period = periodOf(label, timetable)
  const seed = seedOf(`${camera}/${label}`)
  // The quarter makes a start like the NVR's: not a whole second.
  const start_s = index * period + Math.floor(noise(seed, 1) * period) + 0.25
  const suffix = Math.floor(noise(seed, index) * 36 ** 5)
  const code = suffix.toString(36).padStart(5, '0')
  const face = label === 'person' && index % FACE_EVERY === 0
  return {
    id: `${start_s}-${label.charAt(0)}${code}`,
    review_id: `${start_s - 0.125}-r${code}`,
    camera,
    label,
    start_s,
    end_s: start_s + Math.min(KINDS[label].duration_s, period - 2),
    sub_label: face ? 'alice' : null,
    has_snapshot: index % 7 !== 3,
    score: Math.round((0.72 + noise(seed, index + 7) * 0.25) * 1000) / 1000,
  }
}

function periodOf(label: Label, timetable: Timetable): number {
  return label === 'person' ? timetable.person_every_s : timetable.car_every_s
}

export function seedOf(text: string): number {
  let seed = 7
  for (const character of text) seed = (Math.imul(seed, 31) + (character.codePointAt(0) ?? 0)) | 0
  return seed
}
