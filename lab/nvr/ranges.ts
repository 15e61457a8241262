/** Ranges of bytes as nginx serves them. */
import type { Answer } from './http-call.ts'
import { html } from './request-handler.ts'

const BOUNDARY = '00000000000000000042'

type Headers = Readonly<Record<string, string>> & { 'content-type': string }

/** All of it without a range, and where the header is none. */
export function ranged(bytes: Buffer, common: Headers, range: string | undefined): Answer {
  const whole = { status: 200, headers: common, bytes }
  const ranges = range === undefined ? null : parseRanges(range, bytes.length)
  if (ranges === null) return whole
  const [first, ...more] = ranges
  if (first === undefined) {
    const page = html(416)
    return { ...page, headers: { ...page.headers, 'content-range': `bytes */${bytes.length}` } }
  }
  if (more.length > 0) return severalRanges(ranges, common, bytes)
  const [from, to] = first
  return {
    status: 206,
    headers: { ...common, 'content-range': `bytes ${from}-${to}/${bytes.length}` },
    bytes: bytes.subarray(from, to + 1),
  }
}

function severalRanges(ranges: readonly [number, number][], common: Headers, bytes: Buffer): Answer {
  const parts = ranges.flatMap(([from, to]) => [
    Buffer.from(
      `\r\n--${BOUNDARY}\r\nContent-Type: ${common['content-type']}\r\nContent-Range: bytes ${from}-${to}/${bytes.length}\r\n\r\n`,
    ),
    bytes.subarray(from, to + 1),
  ])
  return {
    status: 206,
    headers: { ...common, 'content-type': `multipart/byteranges; boundary=${BOUNDARY}` },
    bytes: Buffer.concat([...parts, Buffer.from(`\r\n--${BOUNDARY}--\r\n`)]),
  }
}

/** First and last byte of each range that can be served; none when all lie beyond; null when it is no list of ranges. */
function parseRanges(header: string, length: number): [number, number][] | null {
  const list = /^bytes=(.+)$/.exec(header)?.[1]
  if (list === undefined) return null
  const ranges: [number, number][] = []
  for (const text of list.split(',')) {
    const [, from = '', to = ''] = /^\s*(\d*)-(\d*)\s*$/.exec(text) ?? []
    if (from === '' && to === '') return []
    const start = from === '' ? Math.max(0, length - Number(to)) : Number(from)
    const end = from === '' || to === '' ? length - 1 : Math.min(Number(to), length - 1)
    if (start <= end && start < length) ranges.push([start, end])
  }
  return ranges
}
