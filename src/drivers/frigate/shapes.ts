// What the NVR answers, as far as it is read. Everything else in its answers is left alone; its versions differ there.
import { type Static, type TSchema, Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { Nullable } from '#src/contract/common.ts'
import { UpstreamError } from '#src/kernel/errors.ts'

const Optional = <T extends TSchema>(schema: T) => Type.Optional(Nullable(schema))
const Text = Type.String()
const Figure = Type.Number()
const Names = Type.Array(Text)
/** Free figures: what they mean is for people to read. */
const Figures = Type.Record(Text, Type.Unknown())
const Switch = Type.Object({ enabled: Type.Boolean(), enabled_in_config: Optional(Type.Boolean()) })

export const CameraConfig = Type.Object({
  enabled: Type.Boolean(),
  friendly_name: Optional(Text),
  detect: Type.Object({
    enabled: Type.Boolean(),
    width: Optional(Figure),
    height: Optional(Figure),
    fps: Optional(Figure),
  }),
  motion: Optional(Type.Object({ enabled: Type.Boolean() })),
  record: Switch,
  audio: Optional(Switch),
  snapshots: Optional(Type.Object({ enabled: Type.Boolean() })),
  zones: Optional(Figures),
  objects: Optional(Type.Object({ track: Optional(Names) })),
})
export type CameraConfig = Static<typeof CameraConfig>

export const NvrConfig = Type.Object({
  version: Optional(Text),
  /** The configuration file is not valid; no camera runs. */
  safe_mode: Optional(Type.Boolean()),
  cameras: Type.Record(Text, CameraConfig),
  go2rtc: Optional(Type.Object({ streams: Optional(Figures) })),
  face_recognition: Optional(Type.Object({ enabled: Optional(Type.Boolean()) })),
})
export type NvrConfig = Static<typeof NvrConfig>

export const CameraStats = Type.Object({
  camera_fps: Optional(Figure),
  process_fps: Optional(Figure),
  skipped_fps: Optional(Figure),
  detection_fps: Optional(Figure),
})
export const StatsAnswer = Type.Object({
  cameras: Optional(Type.Record(Text, CameraStats)),
  detectors: Optional(Figures),
  processes: Optional(Figures),
  cpu_usages: Optional(Figures),
  gpu_usages: Optional(Figures),
  service: Optional(
    Type.Object({
      uptime: Optional(Figure),
      version: Optional(Text),
      last_updated: Optional(Figure),
      storage: Optional(Figures),
    }),
  ),
})
export type StatsAnswer = Static<typeof StatsAnswer>

export const EventRow = Type.Object({
  id: Text,
  camera: Text,
  label: Text,
  sub_label: Type.Optional(Type.Unknown()),
  zones: Optional(Names),
  start_time: Figure,
  end_time: Optional(Figure),
  has_clip: Optional(Type.Boolean()),
  has_snapshot: Optional(Type.Boolean()),
  retain_indefinitely: Optional(Type.Boolean()),
  top_score: Optional(Figure),
  data: Optional(Figures),
})
export type EventRow = Static<typeof EventRow>

export const ReviewRow = Type.Object({
  id: Text,
  camera: Text,
  start_time: Figure,
  end_time: Optional(Figure),
  severity: Text,
  thumb_path: Text,
  has_been_reviewed: Optional(Type.Boolean()),
  data: Optional(Figures),
})
export type ReviewRow = Static<typeof ReviewRow>

export const SegmentRow = Type.Object({
  id: Text,
  start_time: Figure,
  end_time: Figure,
  duration: Optional(Figure),
  segment_size: Optional(Figure),
  motion: Optional(Figure),
  objects: Optional(Figure),
})
export const SummaryDay = Type.Object({
  day: Type.String({ pattern: '^\\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\\d|3[01])$' }),
  events: Optional(Figure),
  hours: Type.Array(
    Type.Object({
      hour: Type.String({ pattern: '^([01]\\d|2[0-3])$' }),
      events: Optional(Figure),
      motion: Optional(Figure),
      objects: Optional(Figure),
      duration: Optional(Figure),
    }),
  ),
})
export type SummaryDay = Static<typeof SummaryDay>
export const PreviewRow = Type.Object({ camera: Text, src: Text, type: Text, start: Figure, end: Figure })
export const MotionRow = Type.Object({ start_time: Figure, motion: Figure, camera: Text })
export const FaceLibrary = Type.Record(Text, Names)
/** Of every change that was made, and of most that were not. */
export const MessageAnswer = Type.Object({ message: Text })

/** Reads an answer; one of another form is a failure of the NVR, and never half an answer of ours. */
export function reader<T extends TSchema>(schema: T): (operation: string, bytes: Buffer) => Static<T> {
  const checker = Compile(schema)
  return (operation, bytes) => {
    const value = jsonOf(bytes)
    if (checker.Check(value)) return value as Static<T>
    const [problem] = checker.Errors(value)
    const detail = `the answer has another form: ${problem?.instancePath ?? ''} ${problem?.message ?? 'is no JSON'}`
    throw new UpstreamError({ upstream: 'NVR', operation, failure: 'error', detail })
  }
}

function jsonOf(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString()) as unknown
  } catch {
    return undefined
  }
}
