/** The recorded commands of a captured host: reading them from their folder, and finding the one that is asked for. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'

export interface RecordedCommand {
  tool: string
  args: readonly string[]
  /** Other argument vectors with the same answer. */
  also: readonly (readonly string[])[]
  exit_code: number
  stdout: string
  stderr: string
  stdout_json: unknown
  stdout_file: string | undefined
  outcome: 'exited' | 'missing' | 'timeout' | 'too_big'
  lasts_ms: number
}

const Recorded = Compile(
  Type.Object(
    {
      tool: Type.String({ minLength: 1 }),
      args: Type.Array(Type.String()),
      also: Type.Optional(Type.Array(Type.Array(Type.String()))),
      exit_code: Type.Optional(Type.Integer()),
      stdout: Type.Optional(Type.String()),
      stderr: Type.Optional(Type.String()),
      stdout_json: Type.Optional(Type.Unknown()),
      stdout_file: Type.Optional(Type.String()),
      outcome: Type.Optional(
        Type.Union([Type.Literal('exited'), Type.Literal('missing'), Type.Literal('timeout'), Type.Literal('too_big')]),
      ),
      lasts_ms: Type.Optional(Type.Number({ minimum: 0 })),
    },
    { additionalProperties: false },
  ),
)

/** All of them are read at once: a broken recording is found when the host is opened, not when it is asked. */
export function readCommands(dir: string): RecordedCommand[] {
  const folder = join(dir, 'commands')
  const found: RecordedCommand[] = []
  for (const name of fileNames(folder)) {
    const parsed: unknown = JSON.parse(readFileSync(join(folder, name), 'utf8'))
    for (const one of Array.isArray(parsed) ? parsed : [parsed]) found.push(recorded(one, name))
  }
  return found
}

export function matchCommand(
  all: readonly RecordedCommand[],
  tool: string,
  args: readonly string[],
): RecordedCommand | 'unknown-tool' | 'unknown-args' {
  const ofTool = all.filter((one) => one.tool === tool)
  if (ofTool.length === 0) return 'unknown-tool'
  const fits = (one: RecordedCommand, wild: boolean): boolean =>
    [one.args, ...one.also].some(
      (own) => own.length === args.length && own.every((arg, at) => arg === args[at] || (wild && arg === '*')),
    )
  return ofTool.find((one) => fits(one, false)) ?? ofTool.find((one) => fits(one, true)) ?? 'unknown-args'
}

function recorded(value: unknown, name: string): RecordedCommand {
  if (!Recorded.Check(value)) {
    const [first] = Recorded.Errors(value)
    throw new Error(`commands/${name}: ${first?.instancePath ?? ''} ${first?.message ?? 'is not a recorded command'}`)
  }
  const { also = [], exit_code = 0, stdout = '', stderr = '', outcome = 'exited', lasts_ms = 0 } = value
  const { tool, args, stdout_json, stdout_file } = value
  return { tool, args, also, exit_code, stdout, stderr, outcome, lasts_ms, stdout_json, stdout_file }
}

function fileNames(folder: string): string[] {
  try {
    return readdirSync(folder)
      .filter((name) => name.endsWith('.json'))
      .sort()
  } catch {
    return []
  }
}
