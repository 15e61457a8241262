// Makes a kind of record as many as a large site has: copies of one record, put into the simulated platform's own tables.
import type { Kind, Records } from '../../lab/cloudstack/records.ts'
import type { SimulatorState } from '../../lab/cloudstack/state.ts'
import type { Table } from '../../lab/cloudstack/table.ts'

/** The same id for the same number in every kind. */
export function numberedId(number: number): string {
  return `00000000-0000-4000-9000-${String(number).padStart(12, '0')}`
}

/** Adds copies until there are `rows` of the kind; answers what takes them away again. */
export function multiply<K extends Kind>(
  state: SimulatorState,
  kind: K,
  rows: number,
  differing: (number: number) => Partial<Records[K]>,
  like: Records[K] | null = null,
): () => void {
  const table: Table<Records[K]> = state.tables[kind]
  const model = like ?? table.values().next().value
  if (model === undefined) throw new Error(`there are no ${kind} to copy`)
  const added: string[] = []
  quietly(state, () => {
    for (let number = table.size + 1; number <= rows; number += 1) {
      const id = numberedId(number)
      table.put({ ...model, ...differing(number), id })
      added.push(id)
    }
  })
  return () => quietly(state, () => added.forEach((id) => table.remove(id)))
}

/** The state file need not know. */
function quietly(state: SimulatorState, work: () => void): void {
  const { onChange } = state
  state.onChange = () => {}
  try {
    work()
  } finally {
    state.onChange = onChange
  }
}
