// Request validation: bodies strictly as sent, queries and path parameters coerced from text; and sentences that say which
// field is wrong and what would do.
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import addFormatsModule from 'ajv-formats'
import { type TObject, type TSchema, Type } from 'typebox'
import type { FieldError } from '#src/contract/problem.ts'
import { type RouteSpec, routeEffect } from '#src/contract/route.ts'

const addFormats = addFormatsModule.default

/** What Fastify calls with one part of a request; it leaves its findings in `errors`. */
export interface PartValidator {
  (data: unknown): boolean
  errors?: ErrorObject[] | null
}

export interface Validators {
  compile(schema: TSchema, part: string): PartValidator
}

/** Two instances on purpose: coercion turns `{"n": null}` into 0, which a body must never suffer. */
export function createValidators(): Validators {
  const strict = ajv(false)
  const coercing = ajv('array')
  return { compile: (schema, part) => whenFirstUsed(() => (part === 'body' ? strict : coercing).compile(schema)) }
}

/** Compiled when a request first needs it, for the same reason as serializers are (answers.ts). */
function whenFirstUsed(compile: () => ValidateFunction): PartValidator {
  let validate: ValidateFunction | undefined
  const validator: PartValidator = (data) => {
    validate ??= compile()
    const valid = validate(data)
    validator.errors = validate.errors ?? null
    return valid
  }
  return validator
}

function ajv(coerceTypes: false | 'array'): Ajv {
  const instance = new Ajv({
    coerceTypes,
    useDefaults: true,
    removeAdditional: false,
    allErrors: true,
    strict: false,
    verbose: true,
  })
  addFormats(instance, { mode: 'full' })
  return instance
}

/**
 * The query schema as it is enforced: a change refuses unknown fields, because a mistyped `?dryrun=true` must not act;
 * a read ignores them (api-conventions.md, Names and forms).
 */
export function enforcedQuery(route: RouteSpec): TObject {
  const properties = { ...route.query?.properties }
  if (route.dry_run) properties.dry_run = Type.Optional(Type.Boolean({ default: false }))
  // A query that says it is open stays so: identity providers add members of their own to their answer.
  const open =
    routeEffect(route) === 'read' ||
    (route.query as { additionalProperties?: unknown } | undefined)?.additionalProperties === true
  return Type.Object(properties, { additionalProperties: open })
}

/** Ajv's findings as field errors: one a field, with what would do. */
export function fieldErrors(errors: readonly ErrorObject[], part: string): FieldError[] {
  const seen = new Map<string, FieldError>()
  for (const error of errors) {
    const path = pathOf(error, part)
    if (!seen.has(path)) seen.set(path, { path, message: sentence(error) })
  }
  return [...seen.values()]
}

const PART_NAMES: Record<string, string> = { querystring: 'query', params: 'path', headers: 'header', body: 'body' }

function pathOf(error: ErrorObject, part: string): string {
  const names = error.instancePath
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
  if (error.keyword === 'required') names.push(String(error.params.missingProperty))
  if (error.keyword === 'additionalProperties') names.push(String(error.params.additionalProperty))
  return [PART_NAMES[part] ?? part, ...names].join('.')
}

function sentence(error: ErrorObject): string {
  switch (error.keyword) {
    case 'required':
      return 'is required'
    case 'additionalProperties': {
      const known = Object.keys((error.parentSchema as { properties?: object } | undefined)?.properties ?? {})
      return known.length === 0
        ? 'is not a field of this request'
        : `is not a field of this request; known are ${known.join(', ')}`
    }
    case 'enum':
      return `must be one of ${(error.params.allowedValues as unknown[]).join(', ')}`
    case 'type':
      return `must be ${String(error.params.type).replace(',', ' or ')}`
    case 'format':
      return error.params.format === 'date-time' ? 'must be an RFC 3339 time' : `must be a valid ${error.params.format}`
    default:
      return error.message ?? 'is not valid'
  }
}
