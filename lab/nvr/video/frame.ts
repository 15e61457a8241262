/** A frame as video stores it: brightness per pixel (y), colour per square of two by two pixels (u, v). */
export interface Frame {
  width: number
  height: number
  /** Pixels in a row of memory: the width rounded up to whole blocks of 16; the height is rounded up likewise. */
  stride: number
  y: Buffer
  u: Buffer
  v: Buffer
}

/** Brightness 16 (black) to 235 (white); u and v are 128 for grey. */
export interface Colour {
  y: number
  u: number
  v: number
}

export interface Rectangle {
  left: number
  top: number
  right: number
  bottom: number
}

export function createFrame(width: number, height: number, { y, u, v }: Colour): Frame {
  const stride = Math.ceil(width / 16) * 16
  const pixels = stride * Math.ceil(height / 16) * 16
  return {
    width,
    height,
    stride,
    y: Buffer.alloc(pixels, y),
    u: Buffer.alloc(pixels / 4, u),
    v: Buffer.alloc(pixels / 4, v),
  }
}

export function copyFrame(frame: Frame): Frame {
  return { ...frame, y: Buffer.from(frame.y), u: Buffer.from(frame.u), v: Buffer.from(frame.v) }
}

/** Edges are moved to even pixels, because colour has half the resolution. */
export function fill(frame: Frame, area: Rectangle, colour: Colour): void {
  const { left, top, right, bottom } = evenWithin(area, frame)
  const { stride } = frame
  for (let row = top; row < bottom; row++) frame.y.fill(colour.y, row * stride + left, row * stride + right)
  for (let row = top / 2; row < bottom / 2; row++) {
    frame.u.fill(colour.u, (row * stride + left) / 2, (row * stride + right) / 2)
    frame.v.fill(colour.v, (row * stride + left) / 2, (row * stride + right) / 2)
  }
}

export function evenWithin(area: Rectangle, size: { width: number; height: number }): Rectangle {
  const even = (value: number, limit: number): number => Math.max(0, Math.min(limit, value)) & ~1
  return {
    left: even(area.left, size.width),
    top: even(area.top, size.height),
    right: even(area.right, size.width),
    bottom: even(area.bottom, size.height),
  }
}

/** Whether a whole row of blocks is the same in both; most are, and this is the fastest way to know. */
export function sameRow(a: Frame, b: Frame, row: number): boolean {
  const [luma, chroma] = [row * 16 * a.stride, row * 4 * a.stride]
  const same = (one: Buffer, other: Buffer, start: number, end: number): boolean =>
    one.compare(other, start, end, start, end) === 0
  return (
    same(a.y, b.y, luma, luma + 16 * a.stride) &&
    same(a.u, b.u, chroma, chroma + 4 * a.stride) &&
    same(a.v, b.v, chroma, chroma + 4 * a.stride)
  )
}

/** Whether a block of 16 by 16 pixels is the same in both. */
export function sameBlock(a: Frame, b: Frame, column: number, row: number): boolean {
  const half = a.stride / 2
  return (
    samePixels(a.y, b.y, row * 16 * a.stride + column * 16, a.stride, 16) &&
    samePixels(a.u, b.u, row * 8 * half + column * 8, half, 8) &&
    samePixels(a.v, b.v, row * 8 * half + column * 8, half, 8)
  )
}

export type Direction = 'above' | 'left'

/** From where a block's brightness can be continued without an error; null when from nowhere. */
export function lumaContinues({ y, stride }: Frame, column: number, row: number): Direction | null {
  if (row > 0 && continuesAbove(y, stride, column * 16, row * 16, 16)) return 'above'
  return column > 0 && continuesLeft(y, stride, column * 16, row * 16, 16) ? 'left' : null
}

/** The same for both planes of colour together. */
export function chromaContinues({ u, v, stride }: Frame, column: number, row: number): Direction | null {
  const [width, left, top] = [stride / 2, column * 8, row * 8]
  if (row > 0 && continuesAbove(u, width, left, top, 8) && continuesAbove(v, width, left, top, 8)) return 'above'
  return column > 0 && continuesLeft(u, width, left, top, 8) && continuesLeft(v, width, left, top, 8) ? 'left' : null
}

function samePixels(a: Buffer, b: Buffer, start: number, width: number, size: number): boolean {
  for (let at = start; at < start + size * width; at += width) {
    for (let pixel = at; pixel < at + size; pixel++) if (a[pixel] !== b[pixel]) return false
  }
  return true
}

function continuesAbove(plane: Buffer, width: number, left: number, top: number, size: number): boolean {
  const above = (top - 1) * width + left
  for (let line = top; line < top + size; line++) {
    const at = line * width + left
    for (let pixel = 0; pixel < size; pixel++) if (plane[at + pixel] !== plane[above + pixel]) return false
  }
  return true
}

function continuesLeft(plane: Buffer, width: number, left: number, top: number, size: number): boolean {
  for (let line = top; line < top + size; line++) {
    const at = line * width + left
    const value = plane[at - 1]
    for (let pixel = at; pixel < at + size; pixel++) if (plane[pixel] !== value) return false
  }
  return true
}
