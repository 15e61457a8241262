/**
 * A small writer of H.264 video for drawn frames: every decoder shows exactly the pixels that were drawn.
 *
 * H.264 cuts a frame into macroblocks of 16 by 16 pixels and says for each how to make it. Of the many ways the standard
 * has, three are enough here, and none of them loses anything:
 *
 * - P_Skip: "as in the last frame". Costs next to nothing; almost all of a frame in which little moves.
 * - Intra 16x16 without residual: "continue the row of pixels above downwards" (vertical) or "the column on the left to the
 *   right" (horizontal). About one byte; flat areas and long edges.
 * - I_PCM: the 384 bytes of the block as they are. Everything else: text, corners, edges inside a block.
 *
 * A frame that uses no earlier one (IDR, a key frame) has the last two only; players can start there. The names in
 * comments are those of the standard (ITU-T H.264, sections 7.3 and 9).
 */
import { BitWriter } from './bit-writer.ts'
import { chromaContinues, type Frame, lumaContinues, sameBlock, sameRow } from './frame.ts'

export interface EncodedFrame {
  /** One NAL unit, without start code or length. */
  nal: Buffer
  key: boolean
}

export interface Encoder {
  width: number
  height: number
  frames_per_s: number
  /** The parameter sets SPS and PPS: what a decoder must know before the first frame. */
  sps: Buffer
  pps: Buffer
  /** As in `video/mp4; codecs="…"`. */
  codec: string
  /** A frame refers to the one encoded before it, so frames must not be changed afterwards. */
  encode(frame: Frame, key: boolean): EncodedFrame
}

/** NAL header bytes: importance and type of a unit. */
const NAL = { sps: 0x67, pps: 0x68, key_slice: 0x65, slice: 0x41 }
/** mb_type of blocks in a key frame; in other frames the same types start five later. */
const MB_TYPE = { vertical: 1, horizontal: 2, pcm: 25 }
const FIRST_INTRA_TYPE_IN_P = 5
/** How many coefficients a neighbour counts as having (9.2.1): I_PCM counts as full. */
const PCM_COEFFICIENTS = 16

export function createEncoder(width: number, height: number, frames_per_s: number): Encoder {
  const columns = Math.ceil(width / 16)
  const rows = Math.ceil(height / 16)
  const sps = sequenceParameters({ width, height, columns, rows, frames_per_s })
  const slice = new BitWriter(columns * rows * 400 + 1024)
  let previous: Frame | null = null
  let frame_number = 0
  let key_number = 0
  return {
    width,
    height,
    frames_per_s,
    sps,
    pps: frameParameters(),
    codec: `avc1.${sps.subarray(1, 4).toString('hex').toUpperCase()}`,
    encode: (frame, wanted_key) => {
      const reference = wanted_key ? null : previous
      const key = reference === null
      if (key) frame_number = 0
      sliceHeader(slice, key, frame_number, key_number)
      if (key) key_number = (key_number + 1) & 0xf
      writeMacroblocks(slice, frame, reference, columns, rows)
      frame_number = (frame_number + 1) & 0xff
      previous = frame
      return { nal: nalUnit(key ? NAL.key_slice : NAL.slice, slice.finish()), key }
    },
  }
}

function writeMacroblocks(out: BitWriter, frame: Frame, reference: Frame | null, columns: number, rows: number): void {
  const coefficients = new Uint8Array(columns * rows)
  const type_offset = reference === null ? 0 : FIRST_INTRA_TYPE_IN_P
  let skipped = 0
  for (let row = 0; row < rows; row++) {
    if (reference !== null && sameRow(frame, reference, row)) {
      skipped += columns
      continue
    }
    for (let column = 0; column < columns; column++) {
      if (reference !== null && sameBlock(frame, reference, column, row)) {
        skipped++
        continue
      }
      if (reference !== null) out.unsigned(skipped) // mb_skip_run
      skipped = 0
      const luma = lumaContinues(frame, column, row)
      const chroma = luma === null ? null : chromaContinues(frame, column, row)
      if (luma !== null && chroma !== null) {
        out.unsigned(type_offset + (luma === 'above' ? MB_TYPE.vertical : MB_TYPE.horizontal))
        out.unsigned(chroma === 'above' ? 2 : 1) // intra_chroma_pred_mode: 2 vertical, 1 horizontal
        out.signed(0) // mb_qp_delta
        noCoefficients(out, expectedCoefficients(coefficients, columns, column, row))
      } else {
        out.unsigned(type_offset + MB_TYPE.pcm)
        out.align()
        writePixels(out, frame, column, row)
        coefficients[row * columns + column] = PCM_COEFFICIENTS
      }
    }
  }
  if (reference !== null && skipped > 0) out.unsigned(skipped)
}

function writePixels(out: BitWriter, { y, u, v, stride }: Frame, column: number, row: number): void {
  const half = stride / 2
  for (let line = row * 16; line < row * 16 + 16; line++) out.raw(rowOf(y, line * stride + column * 16, 16))
  for (let line = row * 8; line < row * 8 + 8; line++) out.raw(rowOf(u, line * half + column * 8, 8))
  for (let line = row * 8; line < row * 8 + 8; line++) out.raw(rowOf(v, line * half + column * 8, 8))
}

function rowOf(plane: Uint8Array, start: number, length: number): Uint8Array {
  return plane.subarray(start, start + length)
}

/** A block has about as many coefficients as its neighbours left and above; the code for "none" depends on that. */
function expectedCoefficients(coefficients: Uint8Array, columns: number, column: number, row: number): number {
  const at = row * columns + column
  const left = coefficients[at - 1] ?? 0
  const above = coefficients[at - columns] ?? 0
  if (column > 0 && row > 0) return (left + above + 1) >> 1
  return column > 0 ? left : above
}

/** coeff_token for zero coefficients (table 9-5): the more were expected, the longer. */
function noCoefficients(out: BitWriter, expected: number): void {
  if (expected < 2) out.bits(1, 1)
  else if (expected < 4) out.bits(2, 3)
  else if (expected < 8) out.bits(4, 15)
  else out.bits(6, 3)
}

function sliceHeader(out: BitWriter, key: boolean, frame_number: number, key_number: number): void {
  out.unsigned(0) // first_mb_in_slice: one slice makes the frame
  out.unsigned(key ? 7 : 5) // slice_type: all I, or all P
  out.unsigned(0) // pic_parameter_set_id
  out.bits(8, frame_number)
  if (key) out.unsigned(key_number) // idr_pic_id: differs between neighbouring key frames
  out.bit(0) // key: no_output_of_prior_pics; else num_ref_idx_active_override
  out.bit(0) // key: long_term_reference; else ref_pic_list_modification
  if (!key) out.bit(0) // adaptive_ref_pic_marking
  out.signed(0) // slice_qp_delta
  out.unsigned(1) // disable_deblocking_filter_idc: smoothing would change pixels
}

function sequenceParameters(size: {
  width: number
  height: number
  columns: number
  rows: number
  frames_per_s: number
}): Buffer {
  const out = new BitWriter(64)
  out.bits(8, 66) // profile_idc: Baseline
  out.bits(8, 0xe0) // constraint flags: Constrained Baseline, which every browser plays
  out.bits(8, 31) // level 3.1: up to 1280x720 at 30 frames per second
  out.unsigned(0) // seq_parameter_set_id
  out.unsigned(4) // log2_max_frame_num - 4: frame_num has 8 bits
  out.unsigned(2) // pic_order_cnt_type: frames are shown in the order of decoding
  out.unsigned(1) // max_num_ref_frames
  out.bit(0) // gaps_in_frame_num_allowed
  out.unsigned(size.columns - 1)
  out.unsigned(size.rows - 1)
  out.bit(1) // frame_mbs_only: no interlacing
  out.bit(1) // direct_8x8_inference
  cropping(out, size.columns * 16 - size.width, size.rows * 16 - size.height)
  timing(out, size.frames_per_s)
  return nalUnit(NAL.sps, out.finish())
}

/** Frames whose size is no multiple of 16 are cut at the right and at the bottom, counted in pairs of pixels. */
function cropping(out: BitWriter, right: number, bottom: number): void {
  out.bit(right > 0 || bottom > 0 ? 1 : 0)
  if (right === 0 && bottom === 0) return
  for (const pixels of [0, right, 0, bottom]) out.unsigned(pixels / 2)
}

/** VUI: a fixed rate of frames, and that none is shown later than decoded, so that a player need not wait for more. */
function timing(out: BitWriter, frames_per_s: number): void {
  out.bit(1) // vui_parameters_present
  for (let absent = 0; absent < 4; absent++) out.bit(0) // aspect ratio, overscan, video signal type, chroma location
  out.bit(1) // timing_info_present
  out.bits(32, 1) // num_units_in_tick
  out.bits(32, frames_per_s * 2) // time_scale: two ticks a frame
  out.bit(1) // fixed_frame_rate
  for (let absent = 0; absent < 3; absent++) out.bit(0) // two HRD parameter sets, pic_struct
  out.bit(1) // bitstream_restriction
  out.bit(1) // motion_vectors_over_pic_boundaries
  for (const value of [0, 0, 10, 10, 0, 1]) out.unsigned(value) // … max_num_reorder_frames 0, max_dec_frame_buffering 1
}

function frameParameters(): Buffer {
  const out = new BitWriter(32)
  out.unsigned(0) // pic_parameter_set_id
  out.unsigned(0) // seq_parameter_set_id
  out.bit(0) // entropy_coding_mode: CAVLC
  out.bit(0) // bottom_field_pic_order_in_frame
  for (let zero = 0; zero < 3; zero++) out.unsigned(0) // slice groups, reference indices
  out.bits(3, 0) // weighted prediction
  for (let zero = 0; zero < 3; zero++) out.signed(0) // quantisation
  out.bit(1) // deblocking_filter_control_present
  out.bits(2, 0) // constrained_intra_pred, redundant_pic_cnt_present
  return nalUnit(NAL.pps, out.finish())
}

/** A 3 is put after every two zeros that a number up to 3 follows: decoders look for that pattern as the start of a unit. */
function nalUnit(header: number, payload: Uint8Array): Buffer {
  const out = Buffer.allocUnsafe(Math.ceil(payload.length * 1.5) + 2)
  let length = 0
  let zeros = 0
  out[length++] = header
  for (const byte of payload) {
    if (zeros >= 2 && byte <= 3) {
      out[length++] = 3
      zeros = 0
    }
    out[length++] = byte
    zeros = byte === 0 ? zeros + 1 : 0
  }
  return Buffer.from(out.subarray(0, length))
}
