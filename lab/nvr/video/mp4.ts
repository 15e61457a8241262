/** Puts H.264 frames into MP4: fragments for streaming (an `init` part, then pieces), and whole files that can be searched. */
import type { EncodedFrame, Encoder } from './h264.ts'

/** All times inside of a file are counted in these. */
export const TICKS_PER_S = 90_000

const IDENTITY_MATRIX = u32(0x10000, 0, 0, 0, 0x10000, 0, 0, 0, 0x40000000)
const KEY_FLAGS = 0x02000000 // depends on no other sample
const DELTA_FLAGS = 0x01010000 // depends on others, not a sync sample

/** `ftyp` and `moov` of a fragmented file: what the track is, without any frame. */
export function initSegment(encoder: Encoder): Buffer {
  const none = sampleTable(sampleEntry(encoder), {
    stts: u32(0),
    stsc: u32(0),
    stsz: u32(0, 0),
    stco: u32(0),
    stss: null,
  })
  const extends_ = box('mvex', fullBox('trex', 0, 0, u32(1, 1, 0, 0, 0)))
  return Buffer.concat([fileType('iso6', ['iso6', 'mp41', 'avc1', 'dash']), movie(encoder, 0, none, extends_)])
}

/** `moof` and `mdat`: frames in a row from `start_ticks` on; `sequence` counts the fragments of a stream. */
export function fragment(
  encoder: Encoder,
  sequence: number,
  start_ticks: number,
  frames: readonly EncodedFrame[],
): Buffer {
  const duration = TICKS_PER_S / encoder.frames_per_s
  const samples = frames.map(({ nal, key }) => u32(duration, nal.length + 4, key ? KEY_FLAGS : DELTA_FLAGS))
  const moof = (data_offset: number): Buffer =>
    box(
      'moof',
      fullBox('mfhd', 0, 0, u32(sequence)),
      box(
        'traf',
        fullBox('tfhd', 0, 0x20000, u32(1)), // offsets count from this moof
        fullBox('tfdt', 1, 0, u64(start_ticks)),
        fullBox('trun', 0, 0x701, u32(samples.length, data_offset), ...samples), // duration, size and flags of each
      ),
    )
  return Buffer.concat([moof(moof(0).length + 8), box('mdat', ...frames.flatMap(lengthAndUnit))])
}

/** A whole file with an index, for players that seek by ranges. */
export function wholeFile(encoder: Encoder, frames: readonly EncodedFrame[], ticks_per_frame: number): Buffer {
  const type = fileType('isom', ['isom', 'iso2', 'avc1', 'mp41'])
  const data = box('mdat', ...frames.flatMap(lengthAndUnit))
  const keys = frames.flatMap(({ key }, index) => (key ? [index + 1] : []))
  const index = (data_at: number): Buffer =>
    movie(
      encoder,
      frames.length * ticks_per_frame,
      sampleTable(sampleEntry(encoder), {
        stts: u32(1, frames.length, ticks_per_frame),
        stsc: u32(1, 1, frames.length, 1),
        stsz: u32(0, frames.length, ...frames.map(({ nal }) => nal.length + 4)),
        stco: u32(1, data_at),
        stss: u32(keys.length, ...keys),
      }),
    )
  const data_at = type.length + index(0).length + 8
  return Buffer.concat([type, index(data_at), data])
}

function lengthAndUnit({ nal }: EncodedFrame): Buffer[] {
  return [u32(nal.length), nal]
}

function fileType(major: string, compatible: string[]): Buffer {
  return box('ftyp', Buffer.from(major), u32(1), Buffer.from(compatible.join('')))
}

function movie(encoder: Encoder, duration_ticks: number, table: Buffer, ...more: Buffer[]): Buffer {
  const { width, height } = encoder
  const media = box(
    'mdia',
    fullBox('mdhd', 0, 0, u32(0, 0, TICKS_PER_S, duration_ticks), u16(0x55c4, 0)), // language: undetermined
    fullBox('hdlr', 0, 0, u32(0), Buffer.from('vide'), Buffer.alloc(12), Buffer.from('video\0')),
    box(
      'minf',
      fullBox('vmhd', 0, 1, Buffer.alloc(8)),
      box('dinf', fullBox('dref', 0, 0, u32(1), fullBox('url ', 0, 1))),
      table,
    ),
  )
  const header = fullBox(
    'tkhd',
    0,
    7, // enabled, in the movie, in its preview
    u32(0, 0, 1, 0, duration_ticks),
    Buffer.alloc(8),
    u16(0, 0, 0, 0),
    IDENTITY_MATRIX,
    u32(width << 16, height << 16),
  )
  const movieHeader = fullBox(
    'mvhd',
    0,
    0,
    u32(0, 0, TICKS_PER_S, duration_ticks, 0x10000),
    u16(0x100, 0),
    Buffer.alloc(8),
    IDENTITY_MATRIX,
    Buffer.alloc(24),
    u32(2),
  )
  return box('moov', movieHeader, box('trak', header, media), ...more)
}

function sampleTable(
  entry: Buffer,
  tables: { stts: Buffer; stsc: Buffer; stsz: Buffer; stco: Buffer; stss: Buffer | null },
): Buffer {
  return box(
    'stbl',
    fullBox('stsd', 0, 0, u32(1), entry),
    fullBox('stts', 0, 0, tables.stts),
    ...(tables.stss === null ? [] : [fullBox('stss', 0, 0, tables.stss)]),
    fullBox('stsc', 0, 0, tables.stsc),
    fullBox('stsz', 0, 0, tables.stsz),
    fullBox('stco', 0, 0, tables.stco),
  )
}

/** The track's description: size, and the decoder's parameter sets. */
function sampleEntry({ width, height, sps, pps }: Encoder): Buffer {
  const profile = sps.subarray(1, 4)
  const decoder = box(
    'avcC',
    Buffer.concat([Buffer.from([1]), profile, Buffer.from([0xff, 0xe1])]), // lengths have 4 bytes; one SPS
    u16(sps.length),
    sps,
    Buffer.from([1]),
    u16(pps.length),
    pps,
  )
  const fixed = [Buffer.alloc(6), u16(1), Buffer.alloc(16), u16(width, height), u32(0x480000, 0x480000, 0)]
  return box('avc1', ...fixed, u16(1), Buffer.alloc(32), u16(24, 0xffff), decoder)
}

export function box(type: string, ...parts: Uint8Array[]): Buffer {
  const content = Buffer.concat(parts)
  return Buffer.concat([u32(content.length + 8), Buffer.from(type, 'latin1'), content])
}

function fullBox(type: string, version: number, flags: number, ...parts: Uint8Array[]): Buffer {
  return box(type, u32(((version << 24) | flags) >>> 0), ...parts)
}

function u32(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 4)
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value >>> 0, index * 4)
  return bytes
}

function u16(...values: number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2)
  for (const [index, value] of values.entries()) bytes.writeUInt16BE(value, index * 2)
  return bytes
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64BE(BigInt(Math.round(value)))
  return bytes
}
