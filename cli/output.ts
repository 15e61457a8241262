// Answers on the screen: tables for people, the raw answer for programs, bare ids for scripts.
import { cellText, isPlain } from './cells.ts'
import { chooseColumns, recordTitle } from './columns.ts'
import { headingOf } from './units.ts'
import { bareText, isRecord, isRecordList, type Json, listOf, parseJson, textOf, valueAt } from './records.ts'
import { note, oneLine, printLine, type Terminal } from './terminal.ts'

export interface OutputOptions {
  json: boolean
  quiet: boolean
  utc: boolean
  columns: readonly string[] | undefined
  /** Column that stands before those that are chosen. */
  lead?: string | undefined
}

interface ShownAnswer {
  text: string
  value: unknown
}

/** Cells of a terminal are cut so that a row stays a line; a pipe gets them whole. */
const CELL_WIDTH = 60
const GAP = 2

export async function printAnswer(
  terminal: Terminal,
  answer: ShownAnswer,
  schema: unknown,
  options: OutputOptions,
): Promise<void> {
  if (options.json) return printRaw(terminal, answer)
  if (options.quiet) return printIds(terminal, answer.value)
  const { value } = answer
  const list = listOf(value)
  if (list !== undefined) {
    await printList(terminal, list.rows, recordTitle(schema, list.member), options)
    return listFooter(terminal, list.frame, list.rows.length)
  }
  if (isRecord(value)) return printRecord(terminal, value, options)
  if (value === null || value === undefined) return note(terminal, '(nothing)')
  printLine(terminal, cellText(value, { utc: options.utc, max_width: 0 }))
}

/** As the service sent it; indented only where a person reads it. */
function printRaw(terminal: Terminal, answer: ShownAnswer): void {
  const pretty = terminal.stdout.isTTY === true && answer.text.trim() !== ''
  printLine(terminal, pretty ? JSON.stringify(parseJson(answer.text), null, 2) : answer.text.trimEnd() || 'null')
}

function printIds(terminal: Terminal, value: unknown): void {
  const list = listOf(value)
  const rows = list === undefined ? [value] : list.rows
  for (const row of rows) {
    const id = isRecord(row) ? identity(row) : row
    if (typeof id === 'string' || typeof id === 'number') printLine(terminal, oneLine(String(id)))
  }
}

function identity(record: Json): string | undefined {
  const inner = isRecord(record.data) ? identity(record.data) : undefined
  const names = [
    'id',
    'resource_id',
    'job_id',
    'virtual_machine_id',
    'ip_id',
    'name',
    'mac_address',
    'hostname',
    'fqdn',
  ]
  return inner ?? names.map((name) => idText(record[name])).find((text) => text !== undefined)
}

function idText(value: unknown): string | undefined {
  return typeof value === 'number' ? String(value) : textOf(value)
}

async function printList(
  terminal: Terminal,
  rows: readonly unknown[],
  title: string | undefined,
  options: OutputOptions,
): Promise<void> {
  if (rows.length === 0) return
  if (!isRecordList(rows)) {
    for (const row of rows) printLine(terminal, cellText(row, { utc: options.utc, max_width: 0 }))
    return
  }
  const tty = terminal.stdout.isTTY === true
  const lead = options.lead === undefined ? [] : [options.lead]
  const columns = options.columns ?? [...lead, ...chooseColumns(rows, title).filter((name) => name !== options.lead)]
  const style = { utc: options.utc, max_width: tty && options.columns === undefined ? CELL_WIDTH : 0 }
  const cells = rows.map((row) => columns.map((column) => cellText(valueAt(row, column), style, column)))
  const fitting =
    tty && options.columns === undefined ? fit(columns, cells, terminal.stdout.columns ?? 80) : columns.length
  await printTable(
    terminal,
    columns.slice(0, fitting).map((column) => oneLine(headingOf(column)).toUpperCase()),
    cells.map((row) => row.slice(0, fitting)),
  )
}

/** How many columns, from the left, go beside each other; at least one. */
function fit(columns: readonly string[], cells: readonly string[][], width: number): number {
  let used = 0
  for (const [at, column] of columns.entries()) {
    used += Math.max(column.length, ...cells.map((row) => row[at]?.length ?? 0)) + (at === 0 ? 0 : GAP)
    if (used > width) return Math.max(1, at)
  }
  return columns.length
}

export async function printTable(
  terminal: Terminal,
  head: readonly string[],
  rows: readonly string[][],
): Promise<void> {
  const { default: Table } = await import('cli-table3')
  const none = {
    top: '', 'top-mid': '', 'top-left': '', 'top-right': '', bottom: '', 'bottom-mid': '', 'bottom-left': '',
    'bottom-right': '', left: '', 'left-mid': '', mid: '', 'mid-mid': '', right: '', 'right-mid': '',
    middle: ' '.repeat(GAP),
  } // biome-ignore format: a table without lines
  const table = new Table({
    chars: none,
    style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
    ...(head.length === 0 ? {} : { head: [...head] }),
  })
  table.push(...rows)
  printLine(terminal, table.toString().replace(/[ ]+$/gm, ''))
}

/** A single record: its plain members as lines, records within as dotted lines, lists of records as tables below. */
async function printRecord(terminal: Terminal, record: Json, options: OutputOptions): Promise<void> {
  // The address envelope: its data is the answer (Part 1, 7).
  if (isRecord(record.data) && typeof record.success === 'boolean') {
    return printRecord(terminal, record.data, options)
  }
  const style = { utc: options.utc, max_width: 0 }
  const lines = options.columns?.map((path): [string, unknown] => [path, valueAt(record, path)]) ?? flatten(record, '')
  const plain = lines.filter(([, value]) => !isRecordList(value))
  if (plain.length > 0) {
    await printTable(
      terminal,
      [],
      plain.map(([path, value]) => [headingOf(path), cellText(value, style, path)]),
    )
  }
  for (const [path, value] of lines) {
    if (!isRecordList(value)) continue
    printLine(terminal, `\n${oneLine(path)}:`)
    await printList(terminal, value, undefined, { ...options, columns: undefined, lead: undefined })
  }
}

const DEPTH = 3

function flatten(record: Json, prefix: string, depth = 1): [string, unknown][] {
  return Object.entries(record).flatMap(([name, value]): [string, unknown][] => {
    const path = `${prefix}${oneLine(name)}`
    if (!isRecord(value) || depth >= DEPTH || Object.keys(value).length === 0) return [[path, value]]
    return isPlain(value) ? [[path, value]] : flatten(value, `${path}.`, depth + 1)
  })
}

/** Says when there is more than is shown. */
function listFooter(terminal: Terminal, frame: Json, shown: number): void {
  const count = typeof frame.count === 'number' ? frame.count : undefined
  if (shown === 0) return note(terminal, '(none)')
  if (frame.has_more === true)
    return note(terminal, `${shown} of ${count ?? 'more'}; next: --after-id ${bareText(frame.next_id)}, or --all`)
  if (count !== undefined && count > shown) {
    const about = frame.count_exact === false ? 'about ' : ''
    note(terminal, `${shown} of ${about}${count}, page ${bareText(frame.page ?? 1)}; --page N or --all shows more`)
  }
}
