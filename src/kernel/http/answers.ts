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

export const fastSerializer: FastifySerializerCompiler<unknown> = ({ schema }) =>
  whenFirstUsed(() => fastJson(schema as Schema) as Serialize)

export const validatingSerializer: FastifySerializerCompiler<unknown> = ({ schema, method, url, httpStatus }) =>
  whenFirstUsed(() => {
    const ajv = new Ajv({ strict: false, allErrors: true })
    addFormats(ajv, { mode: 'full' })
    const validate = ajv.compile(closed(schema) as object)
    return (answer) => {
      const text = JSON.stringify(answer)
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
