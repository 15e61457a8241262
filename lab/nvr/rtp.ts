/** Cuts H.264 units into what fits into a network packet (RFC 6184). */
const MAX_BYTES = 1150
/** The type that says: a part of a unit. */
const FU_A = 28

/** Small units go as they are; parts of a large one carry its header in two bytes, with marks for the first and the last. */
export function rtpPayloads(nal: Buffer): { payload: Buffer; end: boolean }[] {
  if (nal.length <= MAX_BYTES) return [{ payload: nal, end: true }]
  const header = nal[0] ?? 0
  const parts: { payload: Buffer; end: boolean }[] = []
  for (let at = 1; at < nal.length; at += MAX_BYTES) {
    const [first, end] = [at === 1, at + MAX_BYTES >= nal.length]
    const marks = (first ? 0x80 : 0) | (end ? 0x40 : 0) | (header & 0x1f)
    const payload = Buffer.concat([Buffer.from([(header & 0xe0) | FU_A, marks]), nal.subarray(at, at + MAX_BYTES)])
    parts.push({ payload, end })
  }
  return parts
}
