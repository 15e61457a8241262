// A request as something to take away: a command of groundplane, curl, or a program. The token is left to its variable.
import { addressOf, type AnyInput } from '../api/call.ts'
import { objectFields, operationRow } from '../api/contract.ts'
import type { OperationDetails } from '../api/contract-types.ts'

export interface CopiedRequest {
  operation: string
  input: AnyInput
  /** Management address of the node that answers. */
  node?: string | undefined
}

export const COPIES = {
  CLI: asCommand,
  curl: asCurl,
  TypeScript: asProgram,
} as const satisfies Record<string, (request: CopiedRequest, details: OperationDetails) => string>

const quote = (text: string): string => (/^[\w./:@%+,=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`)

function asCommand({ input, node }: CopiedRequest, details: OperationDetails): string {
  const { words, fields } = details.command
  const places: Record<string, Record<string, unknown>> = {
    params: input.params ?? {},
    query: input.query ?? {},
    headers: node === undefined ? {} : { 'X-Target-Node': node },
    body: objectFields(details.body) === null ? {} : ((input.body ?? {}) as Record<string, unknown>),
  }
  const given = fields.flatMap(({ at, option }) => {
    const [place = '', ...name] = at.split('.')
    const value = places[place]?.[name.join('.')]
    return value === undefined || value === null ? [] : [{ option, value, secret: isSecret(details, name.join('.')) }]
  })
  const positional = given.filter(({ option }) => option === null).map(({ value }) => quote(textOf(value)))
  const options = given.flatMap(({ option, value, secret }) =>
    option === null ? [] : optionTexts(option, value, secret),
  )
  const whole = input.body !== undefined && objectFields(details.body) === null
  const line = ['groundplane', words, ...positional, ...options, ...(whole ? ['--body', '-'] : [])].join(' ')
  return whole ? `${line} <<'END'\n${JSON.stringify(input.body, null, 2)}\nEND` : line
}

/** A secret is asked for: on a command line every process could read it. */
function optionTexts(option: string, value: unknown, secret: boolean): string[] {
  if (secret) return [option, '-']
  if (typeof value === 'boolean') return [value ? option : option.replace(/^--/, '--no-')]
  if (!Array.isArray(value)) return [option, quote(textOf(value))]
  return value.flatMap((one) => [option, quote(textOf(one))])
}

const textOf = (value: unknown): string => (typeof value === 'object' ? JSON.stringify(value) : String(value))

function asCurl({ operation, input, node }: CopiedRequest, details: OperationDetails): string {
  const body = input.body === undefined ? undefined : JSON.stringify(withoutSecrets(details, input.body))
  return [
    `curl -sS -X ${operationRow(operation).method} ${quote(location.origin + addressOf(operation, input))}`,
    '-H "Authorization: Bearer $GROUNDPLANE_TOKEN"',
    ...(node === undefined ? [] : [`-H ${quote(`X-Target-Node: ${node}`)}`]),
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'", `-d ${quote(body)}`]),
  ].join(' \\\n  ')
}

/** Runs as it stands with Node: what it needs of the contract is written out. */
function asProgram({ operation, input, node }: CopiedRequest, details: OperationDetails): string {
  const headers = [
    '    authorization: `Bearer ${process.env.GROUNDPLANE_TOKEN}`,',
    ...(node === undefined ? [] : [`    'x-target-node': ${JSON.stringify(node)},`]),
    ...(input.body === undefined ? [] : [`    'content-type': 'application/json',`]),
  ]
  const body =
    input.body === undefined
      ? []
      : [`  body: JSON.stringify(${indented(JSON.stringify(withoutSecrets(details, input.body), null, 2))}),`]
  return [
    `const response = await fetch(${JSON.stringify(location.origin + addressOf(operation, input))}, {`,
    `  method: '${operationRow(operation).method}',`,
    '  headers: {',
    ...headers,
    '  },',
    ...body,
    '})',
    'if (!response.ok) throw new Error(await response.text())',
    'console.log(await response.text())',
  ].join('\n')
}

const indented = (json: string): string => json.replaceAll('\n', '\n  ')

function isSecret(details: OperationDetails, name: string): boolean {
  return objectFields(details.body)?.[name]?.['x-secret'] === true
}

function withoutSecrets(details: OperationDetails, body: unknown): unknown {
  if (objectFields(details.body) === null || typeof body !== 'object' || body === null) return body
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [name, isSecret(details, name) ? '…' : value]))
}
