// Request validation: bodies strictly as sent, queries and path parameters read from text; and sentences that say which
// field is wrong and what would do.
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import addFormatsModule from 'ajv-formats'
import { type TObject, type TSchema, Type } from 'typebox'
import type { FieldError } from '#src/contract/problem.ts'
import { type RouteSpec, routeEffect } from '#src/contract/route.ts'
import { isTime, TIME_FORM } from '#src/contract/time.ts'

const addFormats = addFormatsModule.default

/** What Fastify calls with one part of a request; it leaves its findings in `errors`. */
export interface PartValidator {
  (data: unknown): boolean
  errors?: ErrorObject[] | null
}

export interface Validators {
  compile(schema: TSchema, part: string): PartValidator
}

/** Two instances: the first stops at the first error, whatever is sent; all errors are looked for in small input alone. */
export function createValidators(): Validators {
  const [first, all] = [createAjv(false), createAjv(true)]
  return {
    compile(schema, part) {
      const [isValid, findAll] = [whenFirstUsed(() => first.compile(schema)), whenFirstUsed(() => all.compile(schema))]
      const validator: PartValidator = (data) => {
        if (part !== 'body') readTexts(schema, data)
        const validate = isValid()
        validator.errors = validate(data) ? null : (validate.errors ?? null)
        if (validator.errors !== null && isSmall(data)) {
          const thorough = findAll()
          thorough(data)
          validator.errors = thorough.errors ?? null
        }
        return validator.errors === null
      }
      return validator
    },
  }
}

/** Compiled when a request first needs it, for the same reason as serializers are (answers.ts). */
function whenFirstUsed(compile: () => ValidateFunction): () => ValidateFunction {
  let validate: ValidateFunction | undefined
  return () => (validate ??= compile())
}

function createAjv(allErrors: boolean): Ajv {
  // The schemas themselves are checked by the tests of the contract; here that would cost every start.
  const instance = new Ajv({ useDefaults: true, allErrors, strict: false, verbose: true, validateSchema: false })
  addFormats(instance, { mode: 'full' })
  instance.addFormat('date-time', isTime)
  return instance
}

const FEW_MEMBERS = 1000

function isSmall(data: unknown): boolean {
  let left = FEW_MEMBERS
  const count = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || left < 0) return
    for (const name in value) {
      left -= 1
      if (left < 0) return
      count((value as Record<string, unknown>)[name])
    }
  }
  count(data)
  return left >= 0
}

/**
 * Paths and queries are text: what their schema says is a number or a flag becomes one. Ajv's own coercion also takes
 * `0x10` and ` 7`.
 */
function readTexts(schema: TSchema, data: unknown): void {
  const fields = (schema as { properties?: Record<string, FieldSchema> }).properties ?? {}
  const texts = data as Record<string, unknown>
  for (const [name, field] of Object.entries(fields)) {
    const text = texts[name]
    if (text === undefined) continue
    if (field.type === 'array') texts[name] = [text].flat().map((item) => valueOf(field.items?.type, item))
    else texts[name] = valueOf(field.type, text)
  }
}

interface FieldSchema {
  type?: string | string[]
  items?: FieldSchema
}

const DECIMAL = /^-?\d+(\.\d+)?([eE][+-]?\d+)?$/

function valueOf(type: FieldSchema['type'], text: unknown): unknown {
  const wanted = [type].flat()
  if (typeof text !== 'string') return text
  if (wanted.includes('boolean') && (text === 'true' || text === 'false')) return text === 'true'
  if ((wanted.includes('integer') || wanted.includes('number')) && DECIMAL.test(text)) return Number(text)
  return text
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

/** As many as a person reads; the rest shows when these are mended. */
export const MAX_FIELD_ERRORS = 20

/** Ajv's findings as field errors: one a field, with what would do. */
export function fieldErrors(errors: readonly ErrorObject[], part: string): FieldError[] {
  const seen = new Map<string, FieldError>()
  for (const error of errors) {
    const path = pathOf(error, part)
    if (!seen.has(path)) seen.set(path, { path, message: sentence(error) })
    if (seen.size === MAX_FIELD_ERRORS) break
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
      return `must be one of ${(error.params.allowedValues as unknown[]).join(', ')}${notThis(error.data)}`
    case 'minLength':
      return `must have at least ${counted(error.params.limit)}`
    case 'maxLength':
      return `must have at most ${counted(error.params.limit)}`
    case 'minimum':
      return `must be at least ${String(error.params.limit)}${notThis(error.data)}`
    case 'maximum':
      return `must be at most ${String(error.params.limit)}${notThis(error.data)}`
    case 'type':
      return `must be ${String(error.params.type).replace(',', ' or ')}`
    case 'format':
      return error.params.format === 'date-time' ? `must be ${TIME_FORM}` : `must be a valid ${error.params.format}`
    default:
      return error.message ?? 'is not valid'
  }
}

function counted(limit: unknown): string {
  return `${String(limit)} character${limit === 1 ? '' : 's'}`
}

const LONGEST_VALUE = 40

/** Numbers and words of a list are no secrets, as other texts may be. */
function notThis(value: unknown): string {
  if (typeof value === 'number') return `, not ${value}`
  return typeof value === 'string' && /^[\w.:-]+$/.test(value) && value.length <= LONGEST_VALUE ? `, not ${value}` : ''
}
