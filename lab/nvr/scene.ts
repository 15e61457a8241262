/** What a camera sees at a moment: sky and ground, who passes, and the time as text. Drawn alike for live view and recordings. */
import { boxAt, colourOf, type Scenery, type Pass } from './cameras.ts'
import { copyFrame, createFrame, evenWithin, fill, type Frame, type Rectangle } from './video/frame.ts'

const STRIP = { y: 16, u: 128, v: 128 }
const INK = 235
const HORIZON = 0.35

/** Three by five points of each character, a row as three bits. */
const GLYPHS: Readonly<Record<string, readonly number[]>> = {
  '0': [7, 5, 5, 5, 7],
  '1': [2, 6, 2, 2, 7],
  '2': [7, 1, 7, 4, 7],
  '3': [7, 1, 7, 1, 7],
  '4': [5, 5, 7, 1, 1],
  '5': [7, 4, 7, 1, 7],
  '6': [7, 4, 7, 5, 7],
  '7': [7, 1, 1, 1, 1],
  '8': [7, 5, 7, 5, 7],
  '9': [7, 5, 7, 1, 7],
  ':': [0, 2, 0, 2, 0],
  '-': [0, 0, 7, 0, 0],
}

export interface Scene {
  width: number
  height: number
  /** The frame at a moment, with those who pass at that moment. */
  draw(time_s: number, passes: readonly Pass[]): Frame
}

export function createScene(scenery: Scenery, size: { width: number; height: number }): Scene {
  const { width, height } = size
  const background = createFrame(width, height, scenery.ground)
  // Along the borders of blocks, so that the area costs nothing to encode (video/h264.ts).
  fill(background, { left: 0, top: 0, right: width, bottom: wholeBlocks(height * HORIZON) }, scenery.sky)
  return {
    width,
    height,
    draw: (time_s, passes) => {
      const frame = copyFrame(background)
      writeTime(frame, time_s)
      for (const pass of passes) {
        if (time_s < pass.start_s || time_s > pass.end_s) continue
        fill(frame, pixelsOf(boxAt(pass, time_s), size), colourOf(pass.label))
      }
      return frame
    },
  }
}

/** The very pixels that are drawn for a box given in parts of the frame. */
export function pixelsOf(box: Rectangle, size: { width: number; height: number }): Rectangle {
  const scaled = {
    left: Math.round(box.left * size.width),
    top: Math.round(box.top * size.height),
    right: Math.round(box.right * size.width),
    bottom: Math.round(box.bottom * size.height),
  }
  return evenWithin(scaled, size)
}

/** The frame of an object, drawn as the NVR draws it into snapshots. */
export function outline(frame: Frame, box: Rectangle): void {
  const { left, top, right, bottom } = pixelsOf(box, frame)
  const red = { y: 82, u: 90, v: 240 }
  const line = 2
  fill(frame, { left: left - line, top: top - line, right: right + line, bottom: top }, red)
  fill(frame, { left: left - line, top: bottom, right: right + line, bottom: bottom + line }, red)
  fill(frame, { left: left - line, top, right: left, bottom }, red)
  fill(frame, { left: right, top, right: right + line, bottom }, red)
}

function writeTime(frame: Frame, time_s: number): void {
  const text = new Date(time_s * 1000).toISOString().slice(0, 19).replace('T', ' ')
  const dot = 2 * Math.max(1, Math.round(frame.width / 640))
  const right = 16 + wholeBlocks(text.length * 4 * dot + 15)
  fill(frame, { left: 16, top: 16, right, bottom: 16 + wholeBlocks(5 * dot + 15) }, STRIP)
  for (const [index, character] of text.split('').entries()) writeCharacter(frame, character, 16 + index * 4 * dot, dot)
}

function writeCharacter(frame: Frame, character: string, left: number, dot: number): void {
  const rows = GLYPHS[character] ?? []
  for (const [row, bits] of rows.entries()) {
    for (let column = 0; column < 3; column++) {
      if (((bits >> (2 - column)) & 1) === 0) continue
      for (let line = 0; line < dot; line++) {
        const start = (16 + row * dot + line) * frame.stride + left + column * dot
        frame.y.fill(INK, start, Math.min(start + dot, frame.y.length))
      }
    }
  }
}

function wholeBlocks(pixels: number): number {
  return Math.floor(pixels / 16) * 16
}
