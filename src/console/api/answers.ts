// What an answer of a list holds, wherever it stands: at the top, or in the envelope of the addresses.
import { operationRow } from './contract.ts'

export type ListRow = Record<string, unknown>

export interface Listed {
  rows: readonly ListRow[]
  count: number
}

export function listed(operation: string, answer: unknown): Listed | undefined {
  if (answer === undefined || answer === null) return undefined
  const whole = answer as Record<string, unknown>
  const members = ('success' in whole ? whole.data : whole) as Record<string, unknown>
  const rows = (members[operationRow(operation).list ?? ''] ?? []) as ListRow[]
  return { rows, count: Number(members.count ?? members.total_count ?? rows.length) }
}
