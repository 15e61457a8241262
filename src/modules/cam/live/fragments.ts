// What must be known of fragmented MP4 (ISO/IEC 14496-12) to let a viewer join in the middle: which track is video, and
// which fragments begin with a key frame.

const HEAD_BYTES = 8
const FULL_HEAD_BYTES = 4
const NOT_SYNC = 0x10000

export function isInitSegment(data: Buffer): boolean {
  return data.toString('latin1', 4, HEAD_BYTES) === 'ftyp'
}

/** Undefined where there is no video, or nothing that can be read. */
export function videoTrackOf(init: Buffer): number | undefined {
  const track = boxes(find(init, 'moov'), 'trak').find((trak) => {
    return find(find(trak, 'mdia'), 'hdlr')?.toString('latin1', 8, 12) === 'vide'
  })
  const header = find(track, 'tkhd')
  // Version 1 has times of eight bytes in front.
  return header === undefined ? undefined : uint32(header, header[0] === 1 ? 20 : 12)
}

/** Without video, every fragment is as good a beginning. */
export function beginsWithKeyFrame(fragment: Buffer, video_track: number | undefined): boolean {
  if (video_track === undefined) return true
  return boxes(find(fragment, 'moof'), 'traf').some((traf) => {
    const header = find(traf, 'tfhd')
    if (header === undefined || uint32(header, FULL_HEAD_BYTES) !== video_track) return false
    return (firstSampleFlags(find(traf, 'trun'), header) & NOT_SYNC) === 0
  })
}

/** Of the run's first sample, of each sample, or the default of the fragment: the first of these that is there. */
function firstSampleFlags(run: Buffer | undefined, header: Buffer): number {
  const has = run === undefined ? 0 : uint32(run, 0)
  const first = FULL_HEAD_BYTES + 4 + (has & 0x1 ? 4 : 0)
  if (run !== undefined && has & 0x4) return uint32(run, first)
  if (run !== undefined && has & 0x400) return uint32(run, first + (has & 0x100 ? 4 : 0) + (has & 0x200 ? 4 : 0))
  const set = uint32(header, 0)
  if ((set & 0x20) === 0) return NOT_SYNC
  // Behind an offset of eight bytes and three numbers of four, each where it is there.
  const before = (set & 0x1 ? 8 : 0) + 4 * [0x2, 0x8, 0x10].filter((bit) => set & bit).length
  return uint32(header, FULL_HEAD_BYTES + 4 + before)
}

function find(parent: Buffer | undefined, type: string): Buffer | undefined {
  return boxes(parent, type)[0]
}

/** What is inside of the boxes of this type. */
function boxes(parent: Buffer | undefined, type: string): Buffer[] {
  const found: Buffer[] = []
  if (parent === undefined) return found
  for (let at = 0; at + HEAD_BYTES <= parent.length; ) {
    const length = uint32(parent, at)
    // Lengths of eight bytes, and "to the end", are for files.
    if (length < HEAD_BYTES) return found
    if (parent.toString('latin1', at + 4, at + HEAD_BYTES) === type)
      found.push(parent.subarray(at + HEAD_BYTES, at + length))
    at += length
  }
  return found
}

function uint32(bytes: Buffer, at: number): number {
  return at + 4 <= bytes.length ? bytes.readUInt32BE(at) : 0
}
