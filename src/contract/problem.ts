// The two shapes of an error answer (api-conventions.md, Errors).
import { type Static, Type } from 'typebox'

const FieldError = Type.Object(
  {
    path: Type.String({ description: 'Where: `body.name`, `query.page_size`.' }),
    message: Type.String({ description: 'What is wrong and what would do.' }),
  },
  { title: 'FieldError' },
)
export type FieldError = Static<typeof FieldError>

const Code = Type.String({ description: 'Stable code in SCREAMING_SNAKE; see the error reference.' })
const RequestId = Type.String({ description: 'Quote it when you report a problem; the log carries it.' })

export const UpstreamMessage = Type.Optional(
  Type.String({
    description:
      'What the compute platform itself said, without secrets and inner addresses; where no host had a place for a machine, also what each has free and what rules it out. Only admins and operators without tenant see it.',
    'x-extension': true,
  }),
)

/** RFC 9457, with our `code`, `request_id` and `errors`. */
export const Problem = Type.Object(
  {
    type: Type.String({ description: 'URI reference of the error page.' }),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String(),
    instance: Type.String({ description: 'Path of the request.' }),
    code: Code,
    request_id: RequestId,
    errors: Type.Optional(Type.Array(FieldError)),
    upstream_message: UpstreamMessage,
  },
  { title: 'Problem' },
)
export type Problem = Static<typeof Problem>

/** The address-management envelope (Part 1, 7) of a failure. */
export const FailureEnvelope = Type.Object(
  {
    success: Type.Literal(false),
    message: Type.String(),
    code: Code,
    request_id: RequestId,
    errors: Type.Optional(Type.Array(FieldError)),
    upstream_message: UpstreamMessage,
  },
  { title: 'FailureEnvelope' },
)
export type FailureEnvelope = Static<typeof FailureEnvelope>
