// Schemas that several areas share: ids, times, pages, jobs accepted, and what is not known.
import { type Static, type TObject, type TProperties, type TSchema, Type } from 'typebox'

/** A request body or query: unknown members are refused, so that a typo cannot silently cost anything. */
export function Closed<P extends TProperties>(properties: P, options: Record<string, unknown> = {}): TObject<P> {
  return Type.Object(properties, { additionalProperties: false, ...options })
}

/** A value that is null while its source is missing; 0, "" and HEALTHY never stand for "not known". */
export function Nullable<T extends TSchema>(schema: T) {
  const { type, ...rest } = schema as T & { type?: string; title?: string; enum?: unknown[] }
  // An enumeration must list null itself: `type` alone does not let it pass.
  const words = rest.enum === undefined ? {} : { enum: [...rest.enum, null] }
  // What has a title stands once in the published document, so it is referred to and not repeated with a null in it.
  const apart = type === undefined || rest.title !== undefined
  return Type.Unsafe<Static<T> | null>(
    apart ? { anyOf: [schema, { type: 'null' }] } : { ...rest, ...words, type: [type, 'null'] },
  )
}

export const NullableText = (description?: string) =>
  Nullable(Type.String(description === undefined ? {} : { description }))
export const NullableInteger = (description: string) => Nullable(Type.Integer({ description }))
export const NullableNumber = (description: string) => Nullable(Type.Number({ description }))
export const NullableFlag = (description: string) => Nullable(Type.Boolean({ description }))

/** One of a fixed set of words. */
export function OneOf<const V extends string[]>(values: [...V], options: Record<string, unknown> = {}) {
  return Type.Unsafe<V[number]>({ type: 'string', enum: values, ...options })
}

/** A word of an open set: the values named are the ones known today. */
export function KnownText(values: readonly string[], description: string) {
  return Type.String({ description, 'x-known-values': values })
}

export const Id = Type.String({ minLength: 1, maxLength: 128, description: 'Opaque identifier (a UUID upstream).' })
export const OptionalId = Type.Optional(Id)
/** Optional fields of requests: a line of text, a flag, a number from 1. */
export const Words = (description: string) => Type.Optional(Type.String({ minLength: 1, maxLength: 255, description }))
export const Flag = (description: string) => Type.Optional(Type.Boolean({ description }))
export const Count = (maximum: number, description: string) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum, description }))

export const Time = Type.String({ format: 'date-time', description: 'RFC 3339 UTC with milliseconds.' })
/** A time that a caller gives. */
export const TimeGiven = (description: string) =>
  Type.Optional(
    Type.String({
      format: 'date-time',
      maxLength: 40,
      description: `${description} RFC 3339 of a real day, no leap second, offsets to ±14:00.`,
    }),
  )
export const NullableTime = Nullable(Time)
export const IpAddress = Type.String({ minLength: 2, maxLength: 45, description: 'IPv4 or IPv6 address.' })

/** Limits of numbers whose subject sets none: a page, and what the database and the platform keep in 32 and 64 bits. */
export const LAST_PAGE = 1_000_000
export const MAX_INT32 = 2_147_483_647
export const MAX_INT64 = Number.MAX_SAFE_INTEGER

/** Paging of lists that are not keyset lists: one place for the default 50 and the limit 500 (api-conventions.md). */
export const PageFields = {
  page: Type.Optional(
    Type.Integer({ minimum: 1, maximum: LAST_PAGE, default: 1, description: 'Page number, from 1.' }),
  ),
  page_size: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 500, default: 50, description: 'Rows a page, 500 at most.' }),
  ),
}

/** Of lists that the platform cannot order (drivers/cloudstack/long-list.ts). */
export const LONG_LIST_ORDER =
  'as the platform lists them; of 50,000 at most. Page 1 finds the order, which later pages follow for a minute'

/** The order of a list: what is not known stands at the end. */
export function SortFields<const V extends string[]>(columns: [...V], otherwise: string) {
  return {
    sort_by: Type.Optional(OneOf(columns, { description: `Otherwise ${otherwise}.`, 'x-extension': true })),
    sort_order: Type.Optional(
      OneOf(['asc', 'desc'], { description: 'Of sort_by; asc by default.', 'x-extension': true }),
    ),
  }
}

/** Paging of keyset lists: pass `next_id` of the previous answer as `after_id`. */
export const KeysetFields = {
  after_id: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: MAX_INT32,
      default: 0,
      description: 'Id of the last item of the previous page; 0 starts.',
    }),
  ),
  page: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: LAST_PAGE,
      default: 1,
      description: 'Kept for old clients; after_id decides.',
    }),
  ),
  page_size: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 500, default: 50, description: 'Rows a page, 500 at most.' }),
  ),
}

/** `{ "<plural>": [...], count, page, page_size }`: the shape of every list whose shape the documents do not show. */
export function ListOf<const Name extends string, T extends TSchema>(name: Name, item: T, title: string) {
  const paging = {
    count: Type.Integer({ minimum: 0, description: 'Rows that match, over all pages.' }),
    page: Type.Integer({ minimum: 1 }),
    page_size: Type.Integer({ minimum: 1 }),
  }
  // A computed key has no exact type of its own, so the list is named by the type alone.
  const list = { [name]: Type.Array(item) } as { [K in Name]: ReturnType<typeof Type.Array<T>> }
  return Type.Object({ ...list, ...paging }, { title })
}

/** What an operation that goes on after its answer says at once. Follow it at GET /jobs/{job_id} or /events/sse. */
export const ActionAccepted = Type.Object(
  {
    job_id: Type.String({ description: 'Id of the job; equals correlation_id.' }),
    correlation_id: Type.String({ description: 'Ties the answer to its application event.' }),
    status: OneOf(['IN_PROGRESS', 'SUCCESS', 'FAILED']),
    resource_id: Nullable(Type.String({ description: 'The thing acted on, as soon as it is known.' })),
    message: Type.String({ description: 'One sentence about now.' }),
  },
  { title: 'ActionAccepted' },
)
export type ActionAccepted = Static<typeof ActionAccepted>

/** Says why a field of the same answer is null. */
export const Unavailable = Type.Object(
  {
    field: Type.String({ description: 'Path of the field that is null.' }),
    reason: Type.String({ description: 'Why its source is missing.' }),
  },
  { title: 'Unavailable' },
)
export type Unavailable = Static<typeof Unavailable>

/** What a change that destroys would do: the answer with dry_run. */
export const DestructionPlan = Type.Object(
  {
    dry_run: Type.Literal(true),
    message: Type.String({ description: 'One sentence about what would be.' }),
    affected: Type.Array(
      Type.Object({
        kind: Type.String({ description: 'Kind of thing: virtual_machine, volume, public_ip, …' }),
        id: Nullable(Type.String()),
        name: Type.String(),
      }),
      { description: 'What else would be lost, or cut off.' },
    ),
  },
  { title: 'DestructionPlan' },
)
export type DestructionPlan = Static<typeof DestructionPlan>

export const Done = Type.Object({ message: Type.String() }, { title: 'Done' })

/** Page number and size with the defaults filled in. */
export function pageOf(query: { page?: number; page_size?: number } | undefined): { page: number; page_size: number } {
  return { page: query?.page ?? 1, page_size: query?.page_size ?? 50 }
}
