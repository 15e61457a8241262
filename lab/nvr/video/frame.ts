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

/** Whether a block of 16 by 16 pixels is the same in both. */
export function sameBlock(a: Frame, b: Frame, column: number, row: number): boolean {
  return (
    samePlane(a.y, b.y, a.stride, column, row, 16) &&
    samePlane(a.u, b.u, a.stride / 2, column, row, 8) &&
    samePlane(a.v, b.v, a.stride / 2, column, row, 8)
  )
}

/** Whether every column of the block continues the pixel above it. */
export function blockRepeatsAbove({ y, u, v, stride }: Frame, column: number, row: number) {
  const repeats = (plane: Buffer, width: number, size: number): boolean =>
    follows(plane, width, column, row, size, (start, _line, at) => start - width + at)
  return { luma: repeats(y, stride, 16), chroma: repeats(u, stride / 2, 8) && repeats(v, stride / 2, 8) }
}

/** Whether every row of the block continues the pixel on its left. */
export function blockRepeatsLeft({ y, u, v, stride }: Frame, column: number, row: number) {
  const repeats = (plane: Buffer, width: number, size: number): boolean =>
    follows(plane, width, column, row, size, (start, line) => start + line * width - 1)
  return { luma: repeats(y, stride, 16), chroma: repeats(u, stride / 2, 8) && repeats(v, stride / 2, 8) }
}

function samePlane(a: Buffer, b: Buffer, stride: number, column: number, row: number, size: number): boolean {
  const start = row * size * stride + column * size
  for (let at = start; at < start + size * stride; at += stride) {
    for (let pixel = at; pixel < at + size; pixel++) if (a[pixel] !== b[pixel]) return false
  }
  return true
}

function follows(
  plane: Buffer,
  stride: number,
  column: number,
  row: number,
  size: number,
  neighbour: (start: number, line: number, at: number) => number,
): boolean {
  const start = row * size * stride + column * size
  for (let line = 0; line < size; line++) {
    for (let at = 0; at < size; at++) {
      if (plane[start + line * stride + at] !== plane[neighbour(start, line, at)]) return false
    }
  }
  return true
}
