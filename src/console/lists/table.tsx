// A short list that was read as a whole: parts of a thing, findings, counts.
import type { ReactNode } from 'react'
import type { Column, Row } from './columns.tsx'

interface TableProps {
  label: string
  rows: readonly object[]
  columns: readonly Column[]
  /** What can be done with a row. */
  actions?: ((row: Row) => ReactNode) | undefined
  empty?: string
}

export function Table({ label, rows, columns, actions, empty = 'None.' }: TableProps) {
  if (rows.length === 0) return <p>{empty}</p>
  return (
    <div className="table" tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map(({ name, title }) => (
              <th key={name} scope="col">
                {title}
              </th>
            ))}
            {actions && <th scope="col">actions</th>}
          </tr>
        </thead>
        <tbody>
          {(rows as readonly Row[]).map((row, at) => (
            <tr key={at}>
              {columns.map((column) => (
                <td key={column.name} data-title={column.title}>
                  {column.cell(row)}
                </td>
              ))}
              {actions && <td data-title="actions">{actions(row)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
