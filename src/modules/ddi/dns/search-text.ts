// Names and values of a zone as one text: a search runs through it once instead of through each record.
import type { RecordData } from '#src/drivers/ddi/dns-server.ts'

export interface SearchText {
  text: string
  /** Where each record begins in the text, and where the last one ends. */
  starts: Uint32Array
}

export function searchTextOf(records: readonly RecordData[]): SearchText {
  const lines = records.map(lineOf)
  const starts = new Uint32Array(lines.length + 1)
  for (const [index, line] of lines.entries()) starts[index + 1] = (starts[index] ?? 0) + line.length
  return { text: lines.join(''), starts }
}

/** The text after records `from` up to `to` gave way to others. */
export function patched(before: SearchText, from: number, to: number, records: readonly RecordData[]): SearchText {
  const part = searchTextOf(records)
  const [begin, end] = [before.starts[from] ?? 0, before.starts[to] ?? 0]
  const starts = new Uint32Array(before.starts.length - (to - from) + records.length)
  starts.set(before.starts.subarray(0, from))
  for (const [index, start] of part.starts.entries()) starts[from + index] = begin + start
  const moved = begin + part.text.length - end
  for (let index = to + 1; index < before.starts.length; index += 1)
    starts[index - (to - from) + records.length] = (before.starts[index] ?? 0) + moved
  return { text: before.text.slice(0, begin) + part.text + before.text.slice(end), starts }
}

/** The places of the records that have it, in their order. */
export function searched({ text, starts }: SearchText, wanted: string): number[] {
  const found: number[] = []
  const lower = wanted.toLowerCase()
  let record = 0
  let at = text.indexOf(lower)
  while (at >= 0) {
    while ((starts[record + 1] ?? text.length) <= at) record += 1
    const end = starts[record + 1] ?? text.length
    // Not across the border of two records.
    if (at + lower.length <= end) found.push(record)
    if (end >= text.length) break
    at = text.indexOf(lower, at + lower.length <= end ? end : at + 1)
  }
  return found
}

function lineOf({ fqdn, value }: RecordData): string {
  return `${fqdn}\n${value}\n`.toLowerCase()
}
