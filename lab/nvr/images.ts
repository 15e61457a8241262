/** Still images of a frame as JPEG, WebP or PNG; the image library is loaded at the first one. */
import type { Frame, Rectangle } from './video/frame.ts'

export type ImageType = 'jpg' | 'jpeg' | 'webp' | 'png'

export const CONTENT_TYPES: Readonly<Record<ImageType, string>> = {
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  png: 'image/png',
}

export interface ImageOptions {
  type: ImageType
  height?: number
  /** 1 to 100. */
  quality?: number
  crop?: Rectangle
}

export async function encodeImage(frame: Frame, { type, height, quality = 70, crop }: ImageOptions): Promise<Buffer> {
  const { default: sharp } = await import('sharp')
  const raw = { width: frame.width, height: frame.height, channels: 3 as const }
  const whole = sharp(toRgb(frame), { raw })
  const part = crop === undefined ? whole : whole.extract(extracted(crop))
  const scaled = height === undefined || height === frame.height ? part : part.resize({ height })
  const level = Math.max(1, Math.min(100, quality))
  if (type === 'webp') return scaled.webp({ quality: level }).toBuffer()
  if (type === 'png') return scaled.png().toBuffer()
  return scaled.jpeg({ quality: level }).toBuffer()
}

function extracted({ left, top, right, bottom }: Rectangle) {
  return { left, top, width: right - left, height: bottom - top }
}

/** The usual conversion of video with limited range (BT.601), in whole numbers. */
function toRgb({ width, height, stride, y, u, v }: Frame): Buffer {
  const rgb = Buffer.alloc(width * height * 3)
  let at = 0
  for (let row = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      const colour = ((row >> 1) * stride) / 2 + (column >> 1)
      const light = 298 * ((y[row * stride + column] ?? 0) - 16) + 128
      const [blue, red] = [(u[colour] ?? 128) - 128, (v[colour] ?? 128) - 128]
      rgb[at++] = clamped((light + 409 * red) >> 8)
      rgb[at++] = clamped((light - 100 * blue - 208 * red) >> 8)
      rgb[at++] = clamped((light + 516 * blue) >> 8)
    }
  }
  return rgb
}

function clamped(value: number): number {
  return value < 0 ? 0 : value > 255 ? 255 : value
}
