// Changes of records on a server without transactions: what the zone shall hold is computed first, then reached step by
// step, and when a step is refused the zone is brought back to what it held.
import type { RecordChange, RecordData } from '../ddi/dns-server.ts'
import { keyOf } from './record-form.ts'

export interface RecordSteps {
  remove: RecordData[]
  update: { old: RecordData; record: RecordData }[]
  add: RecordData[]
}

/** What there is after the changes; a record that would be there twice is answered instead. */
export function afterChanges(
  before: readonly RecordData[],
  changes: readonly RecordChange[],
): { records: RecordData[] } | { twice: RecordData } {
  let records = [...before]
  for (const change of changes) {
    if (change.action === 'update' || change.action === 'delete') {
      const gone = keyOf(change.old)
      records = records.filter((one) => keyOf(one) !== gone)
    }
    if (change.action === 'delete') continue
    const { record } = change
    if (change.action === 'replace') records = records.filter((one) => !sameSet(one, record))
    if (records.some((one) => keyOf(one) === keyOf(record))) return { twice: record }
    // Records of one name and type live equally long.
    records = records.map((one) => (sameSet(one, record) ? { ...one, ttl: record.ttl } : one))
    records.push(record)
  }
  return { records }
}

/** Removals come first: an alias may take the place of what is removed. A value that changes is never away in between. */
export function stepsBetween(from: readonly RecordData[], to: readonly RecordData[]): RecordSteps {
  const [had, has] = [from, to].map((rows) => new Map(rows.map((row) => [keyOf(row), row]))) as [Rows, Rows]
  const steps: RecordSteps = { remove: [], update: [], add: [] }
  const gone = [...had.values()].filter((row) => !has.has(keyOf(row)))
  for (const record of has.values()) {
    const same = had.get(keyOf(record))
    if (same !== undefined) {
      if (same.ttl !== record.ttl || same.comment !== record.comment) steps.update.push({ old: same, record })
      continue
    }
    const at = gone.findIndex((row) => sameSet(row, record))
    const [old] = at === -1 ? [] : gone.splice(at, 1)
    if (old === undefined) steps.add.push(record)
    else steps.update.push({ old, record })
  }
  steps.remove = gone
  return steps
}

type Rows = Map<string, RecordData>

function sameSet(a: RecordData, b: RecordData): boolean {
  return a.fqdn === b.fqdn && a.type === b.type
}
