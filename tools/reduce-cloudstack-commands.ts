/** Cuts the full command catalogue of the compute platform down to what the simulator checks and what the contract check compares. */
import { readFileSync, writeFileSync } from 'node:fs'
import { COMMANDS } from '../lab/cloudstack/commands/table.ts'

interface Param {
  name: string
  type: string
  required: boolean
  of?: string
  length?: number
}

interface Command {
  name: string
  isasync: boolean
  iscreate: boolean
  paged: boolean
  authorized: string[]
  params: Param[]
  wrapperKey: string
  responseKey: string | null
  responseIsList: boolean
}

const [source] = process.argv.slice(2)
if (source === undefined) throw new Error('usage: node tools/reduce-cloudstack-commands.ts cloudstack-commands.json')
const catalogue = readCatalogue(readFileSync(source, 'utf8'))
write(
  new URL('../lab/cloudstack/commands.json', import.meta.url),
  catalogue.filter((command) => Object.hasOwn(COMMANDS, command.name)),
  (command) => command,
)
write(
  new URL('../test/fixtures/cloudstack-commands.json', import.meta.url),
  catalogue,
  ({ isasync, iscreate, paged, params, wrapperKey, responseKey, responseIsList }) => ({
    isasync,
    iscreate,
    paged,
    params: params.map(({ name, type, required }) => ({ name, type, required })),
    wrapperKey,
    responseKey,
    responseIsList,
  }),
)
const missing = Object.keys(COMMANDS).filter((name) => !catalogue.some((command) => command.name === name))
if (missing.length > 0) throw new Error(`not in the catalogue: ${missing.join(', ')}`)

/** One command a line, so that a change of one command is a change of one line. */
function write(file: URL, commands: Command[], shape: (command: Command) => unknown): void {
  const lines = commands.map((command) => `${JSON.stringify(command.name)}: ${JSON.stringify(shape(command))}`)
  writeFileSync(file, `{\n${lines.join(',\n')}\n}\n`)
}

function readCatalogue(text: string): Command[] {
  const parsed: unknown = JSON.parse(text)
  const commands: unknown[] = isObject(parsed) && Array.isArray(parsed['commands']) ? parsed['commands'] : []
  return commands.map(readCommand).sort((a, b) => (a.name < b.name ? -1 : 1))
}

function readCommand(value: unknown): Command {
  if (
    !isObject(value) ||
    typeof value['name'] !== 'string' ||
    typeof value['wrapperKey'] !== 'string' ||
    !Array.isArray(value['params'])
  )
    throw new Error('a command without name, wrapperKey or params')
  const { responseKey, authorized } = value
  return {
    name: value['name'],
    isasync: value['isasync'] === true,
    iscreate: value['iscreate'] === true,
    paged: value['paged'] === true,
    authorized: Array.isArray(authorized) ? authorized.filter((role) => typeof role === 'string') : [],
    params: value['params'].map(readParam),
    wrapperKey: value['wrapperKey'],
    responseKey: typeof responseKey === 'string' ? responseKey : null,
    responseIsList: value['responseIsList'] === true,
  }
}

function readParam(value: unknown): Param {
  if (!isObject(value) || typeof value['name'] !== 'string' || typeof value['type'] !== 'string')
    throw new Error('a parameter without name or type')
  return {
    name: value['name'],
    type: value['type'],
    required: value['required'] === true,
    ...(typeof value['of'] === 'string' ? { of: value['of'] } : {}),
    ...(typeof value['length'] === 'number' ? { length: value['length'] } : {}),
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
