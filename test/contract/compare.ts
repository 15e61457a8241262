// Compares one operation of two OpenAPI documents and says every difference in a sentence.

export type Json = Record<string, unknown>
export interface Operation {
  'x-extension'?: boolean
  'x-status-not-shown'?: boolean
  'x-request-not-shown'?: boolean
  'x-protocol'?: string
  parameters?: Json[]
  requestBody?: Json
  responses: Record<string, Json>
}
export interface Document {
  paths: Record<string, Record<string, Operation>>
  components: Json
}

const METHODS = ['get', 'post', 'put', 'delete']
/** Every non-public route may answer these although the documents do not list them (api-conventions). */
const ALWAYS_ALLOWED = ['206', '304', '400', '401', '403', '409', '416', '426', '429', '431', '500']
const WITHOUT_STATUS = ['200', '400', '401', '404', '409', '422', '500']

export function operationsOf(document: Document): Map<string, Operation> {
  return new Map(
    Object.entries(document.paths).flatMap(([path, methods]) =>
      METHODS.flatMap((method) => {
        const operation = methods[method]
        return operation === undefined ? [] : [[`${method.toUpperCase()} ${path}`, operation] as const]
      }),
    ),
  )
}

export function compareOperation(
  model: Operation,
  ours: Operation,
  reference: Document,
  published: Document,
): string[] {
  return [
    ...compareParameters(model, ours, reference, published),
    ...compareBody(model, ours, reference, published),
    ...compareStatuses(model, ours, published),
    ...compareAnswers(model, ours, reference, published),
  ]
}

function resolve(value: unknown, document: Document): Json {
  let at = (value ?? {}) as Json
  while (typeof at.$ref === 'string') {
    let target: unknown = document
    for (const name of at.$ref.split('/').slice(1)) target = (target as Json)[name.replaceAll('~1', '/')]
    at = target as Json
  }
  if (Array.isArray(at.allOf) && at.allOf.length > 0) {
    const parts = at.allOf.map((part) => resolve(part, document))
    const properties = Object.assign({}, ...parts.map((part) => part.properties ?? {}), at.properties ?? {}) as Json
    return { ...Object.assign({}, ...parts), ...at, properties, allOf: undefined }
  }
  return at
}

function compareParameters(model: Operation, ours: Operation, reference: Document, published: Document): string[] {
  const key = (parameter: Json): string => `${String(parameter.in)}:${String(parameter.name).toLowerCase()}`
  const wanted = new Map((model.parameters ?? []).map((raw) => [key(resolve(raw, reference)), resolve(raw, reference)]))
  const found = new Map((ours.parameters ?? []).map((raw) => [key(resolve(raw, published)), resolve(raw, published)]))
  const problems: string[] = []
  for (const [name, parameter] of wanted) {
    const mine = found.get(name)
    if (mine === undefined) {
      problems.push(`parameter ${name} is missing`)
      continue
    }
    if ((parameter.required ?? false) !== (mine.required ?? false)) problems.push(`parameter ${name}: required differs`)
    problems.push(...compareSchema(parameter.schema, mine.schema, `parameter ${name}`, reference, published, 'request'))
  }
  const open = model['x-request-not-shown'] === true || model['x-protocol'] !== undefined
  for (const [name, parameter] of found) {
    if (!wanted.has(name) && !open && parameter['x-extension'] !== true && parameter.in !== 'header') {
      problems.push(`parameter ${name} is not in the reference`)
    }
  }
  return problems
}

function compareBody(model: Operation, ours: Operation, reference: Document, published: Document): string[] {
  const wanted = schemaOfBody(model.requestBody, reference)
  const found = schemaOfBody(ours.requestBody, published)
  if (wanted === undefined) return []
  if (found === undefined) return hasFields(wanted, reference) ? ['the request body is missing'] : []
  const problems = compareSchema(wanted, found, 'body', reference, published, 'request')
  const required = (model.requestBody?.required ?? false) === true
  if (required && ours.requestBody?.required !== true) problems.push('the request body is not required')
  return problems
}

function schemaOfBody(body: Json | undefined, document: Document): unknown {
  const content = (resolve(body, document).content ?? {}) as Record<string, Json>
  return Object.values(content)[0]?.schema
}

function hasFields(schema: unknown, document: Document): boolean {
  return Object.keys((resolve(schema, document).properties ?? {}) as Json).length > 0
}

function compareStatuses(model: Operation, ours: Operation, published: Document): string[] {
  const wanted = Object.keys(model.responses).filter((status) => status !== 'default')
  const found = Object.keys(ours.responses)
  const marked = (status: string): boolean => resolve(ours.responses[status], published)['x-extension'] === true
  const problems: string[] = []
  if (model['x-status-not-shown'] === true && (wanted.length === 0 || 'default' in model.responses)) {
    for (const status of wanted) if (!found.includes(status)) problems.push(`status ${status} is missing`)
    for (const status of found) {
      if (!WITHOUT_STATUS.includes(status) && !ALWAYS_ALLOWED.includes(status))
        problems.push(`status ${status} is not allowed here`)
    }
    return problems
  }
  for (const status of wanted) {
    // An upgrade has no place in a document of answers: streams describe it beside.
    if (!found.includes(status) && status !== '101') problems.push(`status ${status} is missing`)
  }
  for (const status of found) {
    if (wanted.includes(status)) {
      if (marked(status)) problems.push(`status ${status} is documented, but marked as an extension`)
      continue
    }
    if (!ALWAYS_ALLOWED.includes(status)) problems.push(`status ${status} is not in the reference`)
    else if (!marked(status)) problems.push(`status ${status} is not marked as an extension`)
  }
  return problems
}

function compareAnswers(model: Operation, ours: Operation, reference: Document, published: Document): string[] {
  const problems: string[] = []
  for (const [status, answer] of Object.entries(model.responses)) {
    const code = status === 'default' ? '200' : status
    if (Number(code) >= 300 || Number(code) < 200) continue
    const wanted = schemaOfBody(answer, reference)
    const found = schemaOfBody(ours.responses[code], published)
    if (wanted === undefined || !hasSubstance(wanted, reference)) continue
    if (found === undefined) problems.push(`answer ${code} has no body`)
    else problems.push(...compareSchema(wanted, found, `answer ${code}`, reference, published, 'answer'))
  }
  return problems
}

function hasSubstance(schema: unknown, document: Document): boolean {
  const at = resolve(schema, document)
  return at.type !== undefined || at.properties !== undefined || at.enum !== undefined
}

type Direction = 'request' | 'answer'
const LIMITS = ['minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems', 'default'] as const

/** Everything the reference says must be said by ours; ours may say more about what the reference leaves open. */
function compareSchema(
  wanted: unknown,
  found: unknown,
  at: string,
  reference: Document,
  published: Document,
  direction: Direction,
): string[] {
  const model = resolve(wanted, reference)
  const mine = withoutNull(resolve(found, published), published)
  const problems: string[] = []
  const type = typeName(model.type)
  if (type !== undefined && !typesOf(mine).some((name) => name === type || (type === 'number' && name === 'integer'))) {
    problems.push(`${at}: type is ${typesOf(mine).join('|')}, the reference says ${type}`)
  }
  if (Array.isArray(model.enum)) {
    const values = (mine.enum ?? (mine.const === undefined ? [] : [mine.const])) as unknown[]
    const known = values.filter((value) => value !== null)
    if (wordsOf(known) !== wordsOf(model.enum)) problems.push(`${at}: enum differs`)
  }
  for (const limit of LIMITS) {
    if (model[limit] !== undefined && JSON.stringify(model[limit]) !== JSON.stringify(mine[limit])) {
      problems.push(
        `${at}: ${limit} is ${JSON.stringify(mine[limit])}, the reference says ${JSON.stringify(model[limit])}`,
      )
    }
  }
  if (model.items !== undefined)
    problems.push(...compareSchema(model.items, mine.items, `${at}[]`, reference, published, direction))
  problems.push(...compareProperties(model, mine, at, reference, published, direction))
  return problems
}

function compareProperties(
  model: Json,
  mine: Json,
  at: string,
  reference: Document,
  published: Document,
  direction: Direction,
): string[] {
  const wanted = (model.properties ?? {}) as Json
  const found = (mine.properties ?? {}) as Json
  const problems: string[] = []
  for (const [name, schema] of Object.entries(wanted)) {
    if (found[name] === undefined) problems.push(`${at}.${name} is missing`)
    else problems.push(...compareSchema(schema, found[name], `${at}.${name}`, reference, published, direction))
  }
  if (direction === 'answer') return problems
  const required = new Set((model.required ?? []) as string[])
  for (const name of (mine.required ?? []) as string[]) {
    if (name in wanted && !required.has(name)) problems.push(`${at}.${name} is required here, but not in the reference`)
  }
  for (const name of required) {
    if (!((mine.required ?? []) as string[]).includes(name)) problems.push(`${at}.${name} is not required here`)
  }
  return problems
}

/** `null` is how this API says "not known"; the reference does not show it (api-conventions, Names and forms). */
function withoutNull(schema: Json, document: Document): Json {
  if (!Array.isArray(schema.anyOf)) return schema
  const rest = schema.anyOf.map((part) => resolve(part, document)).filter((part) => part.type !== 'null')
  return rest.length === 1 ? { ...schema, ...rest[0] } : schema
}

/** The values as one text, whatever order they stand in. */
function wordsOf(values: readonly unknown[]): string {
  return values
    .map((value) => JSON.stringify(value))
    .toSorted((a, b) => (a < b ? -1 : 1))
    .join()
}

function typesOf(schema: Json): string[] {
  const types = Array.isArray(schema.type) ? schema.type : [schema.type]
  if (schema.type === undefined && Array.isArray(schema.anyOf))
    return schema.anyOf.flatMap((part) => typesOf(part as Json))
  return types.filter((name): name is string => typeof name === 'string' && name !== 'null')
}

function typeName(type: unknown): string | undefined {
  return typeof type === 'string' ? type : undefined
}
