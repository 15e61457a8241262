// All rows that a filter matches, read page by page, as a file of CSV or JSON.
import { callAny } from '../api/call.ts'
import { operationRow } from '../api/contract.ts'
import type { Row } from './columns.tsx'

const PAGE = 500

export async function* readPages(
  operation: string,
  filter: Readonly<Record<string, unknown>>,
): AsyncGenerator<{ rows: Row[]; count: number }> {
  const { list, paged, method } = operationRow(operation)
  for (let page = 1, read = 0; ; page++) {
    const given = paged ? { ...filter, page, page_size: PAGE } : filter
    const answer = (await callAny(operation, method === 'GET' ? { query: given } : { body: given })) as {
      count?: number
    } & Record<string, Row[]>
    const rows = answer[list ?? ''] ?? []
    read += rows.length
    yield { rows, count: answer.count ?? rows.length }
    if (!paged || rows.length === 0 || read >= (answer.count ?? 0)) return
  }
}

export async function exportRows(
  operation: string,
  filter: Readonly<Record<string, unknown>>,
  names: readonly string[],
  format: 'csv' | 'json',
): Promise<void> {
  const rows: Row[] = []
  for await (const page of readPages(operation, filter)) rows.push(...page.rows)
  const at = new Date().toISOString()
  const text =
    format === 'json'
      ? JSON.stringify({ operation, filter, at, rows }, null, 2)
      : [
          `# ${operation} ${JSON.stringify(filter)} ${at}`,
          line(names),
          ...rows.map((row) => line(names.map((name) => row[name]))),
        ].join('\r\n')
  save(new Blob([text], { type: format === 'json' ? 'application/json' : 'text/csv' }), `${operation}.${format}`)
}

function line(values: readonly unknown[]): string {
  return values.map(cell).join(',')
}

/** A text that begins as a formula would is one in a spreadsheet. */
function cell(value: unknown): string {
  if (value === null || value === undefined) return ''
  const text = typeof value === 'object' ? JSON.stringify(value) : String(value)
  const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

function save(file: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(file)
  link.download = name
  link.click()
  // The browser has taken the file by the next turn.
  setTimeout(() => URL.revokeObjectURL(link.href), 0)
}
