/** Counters of a captured host that grow with time, so that rates and dashboards have life (format: lab/hosts/README.md). */
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'

export interface Motion {
  file: string | undefined
  line: string | undefined
  column: number | undefined
  tool: string | undefined
  json_path: readonly string[] | undefined
  per_second: number
  swing: number
  period_s: number
}

const Motions = Compile(
  Type.Array(
    Type.Object(
      {
        file: Type.Optional(Type.String()),
        line: Type.Optional(Type.String()),
        column: Type.Optional(Type.Integer({ minimum: 0 })),
        tool: Type.Optional(Type.String()),
        json_path: Type.Optional(Type.Array(Type.String())),
        per_second: Type.Number(),
        swing: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
        period_s: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
      },
      { additionalProperties: false },
    ),
  ),
)

export function parseMotion(value: unknown): Motion[] {
  if (!Motions.Check(value)) {
    const [first] = Motions.Errors(value)
    throw new Error(`motion.json: ${first?.instancePath ?? ''} ${first?.message ?? 'is not a list of counters'}`)
  }
  return value.map((one) => ({
    file: one.file,
    line: one.line,
    column: one.column,
    tool: one.tool,
    json_path: one.json_path,
    per_second: one.per_second,
    swing: one.swing ?? 0,
    period_s: one.period_s ?? 600,
  }))
}

export function advanceFile(text: string, path: string, motion: readonly Motion[], seconds: number): string {
  let answer = text
  for (const one of motion) {
    if (one.file !== path) continue
    const gain = growth(one, seconds)
    const { line, column } = one
    answer =
      line === undefined || column === undefined
        ? answer.replace(/\d+/, (number) => String(Number(number) + gain))
        : answer
            .split('\n')
            .map((row) => (row.split(/\s+/).includes(line) ? advanceWord(row, column, gain) : row))
            .join('\n')
  }
  return answer
}

export function advanceJson(value: unknown, tool: string, motion: readonly Motion[], seconds: number): unknown {
  const mine = motion.filter((one) => one.tool === tool && one.json_path !== undefined)
  if (mine.length === 0) return value
  const copy: unknown = structuredClone(value)
  for (const one of mine) advanceAt(copy, one.json_path ?? [], growth(one, seconds))
  return copy
}

/** Integral of rate * (1 + swing * sin), so the counter never runs backwards. */
function growth(one: Motion, seconds: number): number {
  const turn = (2 * Math.PI) / one.period_s
  return Math.round(one.per_second * (seconds + (one.swing / turn) * (1 - Math.cos(turn * seconds))))
}

function advanceWord(row: string, column: number, gain: number): string {
  let at = -1
  return row.replace(/\S+/g, (word) => {
    at += 1
    return at === column && /^\d+$/.test(word) ? String(Number(word) + gain) : word
  })
}

function advanceAt(value: unknown, path: readonly string[], gain: number): void {
  const [step, ...rest] = path
  if (step === undefined || typeof value !== 'object' || value === null) return
  for (const key of keysOf(value, step)) {
    const inner: unknown = Reflect.get(value, key)
    if (rest.length === 0 && typeof inner === 'number') Reflect.set(value, key, inner + gain)
    else advanceAt(inner, rest, gain)
  }
}

function keysOf(value: object, step: string): string[] {
  if (step === '*') return Object.keys(value)
  if (!Array.isArray(value)) return step in value ? [step] : []
  const [name = '', wanted] = step.split('=')
  return Object.keys(value).filter((key) => {
    const item: unknown = Reflect.get(value, key)
    return typeof item === 'object' && item !== null && String(Reflect.get(item, name)) === wanted
  })
}
