// How answers become text: fast in production; in tests each is checked against its schema first, because the fast
// serializer turns null into "" and drops what it does not know without a word.
import { Ajv } from 'ajv'
import addFormatsModule from 'ajv-formats'
import fastJson, { type Schema } from 'fast-json-stringify'
import type { FastifySerializerCompiler } from 'fastify/types/schema.js'

const addFormats = addFormatsModule.default

type Serialize = (answer: unknown) => string

/** Built when an answer is first sent: hundreds of serializers that nobody needs would cost start-up time and memory. */
function whenFirstUsed(build: () => Serialize): Serialize {
  let serialize: Serialize | undefined
  return (answer) => {
    serialize ??= build()
    return serialize(answer)
  }
}

/** Text joined of thousands of pieces costs more in garbage than it saves: the engine's own function writes long lists. */
const LONG_LISTS = { largeArrayMechanism: 'json-stringify', largeArraySize: 50 } as const

export const fastSerializer: FastifySerializerCompiler<unknown> = ({ schema }) =>
  whenFirstUsed(() => {
    const serialize = fastJson(schema as Schema, LONG_LISTS) as Serialize
    return (answer) => (answer instanceof WrittenAnswer ? answer.text : serialize(answer))
  })

class WrittenAnswer {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** An answer as the text that it becomes, for handlers that keep a long one to give it again. It has no fields any more. */
export function written<Body extends object>(body: Body): Body {
  return new WrittenAnswer(JSON.stringify(body)) as unknown as Body
}

export const validatingSerializer: FastifySerializerCompiler<unknown> = ({ schema, method, url, httpStatus }) =>
  whenFirstUsed(() => {
    // The schemas themselves are checked once, by the tests of the contract; here that would cost more than the answer.
    const ajv = new Ajv({ strict: false, allErrors: true, validateSchema: false })
    addFormats(ajv, { mode: 'full' })
    const validate = ajv.compile(closed(schema) as object)
    return (answer) => {
      const text = answer instanceof WrittenAnswer ? answer.text : JSON.stringify(answer)
      if (!validate(JSON.parse(text))) {
        throw new Error(
          `answer ${httpStatus} of ${method} ${url} breaks its schema: ${ajv.errorsText(validate.errors)}`,
        )
      }
      return text
    }
  })

/** Objects that do not say otherwise accept no members beyond the documented ones. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed)
  if (typeof schema !== 'object' || schema === null) return schema
  const out = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closed(value)]))
  const open = 'additionalProperties' in out || 'patternProperties' in out || !('properties' in out)
  return open ? out : { ...out, additionalProperties: false }
}
