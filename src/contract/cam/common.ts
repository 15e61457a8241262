// Schemas that several parts of the camera module share: ids, time windows, filters and media.
import { Type } from 'typebox'
import { Closed } from '../common.ts'

/** Seconds since 1970 that any caller could mean: until the year 2100. */
const LAST_SECOND = 4_102_444_800

export const Seconds = (description: string) =>
  Type.Number({ minimum: 0, maximum: LAST_SECOND, description: `${description} Unix seconds.` })

export const WindowQuery = {
  after: Type.Optional(Seconds('Start of the window; a day before its end where left out.')),
  before: Type.Optional(Seconds('End of the window; now where left out.')),
}

/** Comma-separated names; an empty one would match nothing. */
export const NameList = (what: string) =>
  Type.Optional(
    Type.String({ minLength: 1, maxLength: 1000, description: `${what}, separated by commas; all where left out.` }),
  )

/**
 * Upstream names are checked against the list of cameras before they are used; this only keeps out what cannot be one. The NVR's
 * configuration has cameras as keys of an object, where __proto__ means something else to every program in JavaScript.
 */
export const CameraId = Type.String({
  minLength: 1,
  maxLength: 64,
  pattern: '^(?!__proto__$)[A-Za-z0-9_-]+$',
  description: 'Camera id, as GET /cam/cameras lists it.',
})
export const CameraParams = Closed({ id: CameraId })

export const EventId = Type.String({
  minLength: 3, maxLength: 64, pattern: '^[0-9]{1,12}(\\.[0-9]{1,9})?-[a-z0-9]{1,16}$', description: 'Id of a detection event or review segment.',
}) // biome-ignore format: one record
export const EventParams = Closed({ id: EventId })

/** An answer of bytes, with its media type. */
export const Media = (contentMediaType: string, description: string) => Type.String({ contentMediaType, description })
/** Of a route that passes ranges and conditions on. */
export const PartOfMedia = (contentMediaType: string) =>
  Type.String({ contentMediaType, description: 'The range that was asked for.', 'x-extension': true })
export const NotModified = Type.String({ description: 'What the client has is still right.', 'x-extension': true })

export const Limit500 = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: 1_000_000,
    default: 100,
    description: 'Rows at most; more than 500 counts as 500.',
  }),
)
export const EXAMPLE_EVENT_ID = '1763610000.123456-a1b2c3'
