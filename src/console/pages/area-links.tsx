// Links to operations or lists, a panel for each area of the contract.
import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { asHeading } from '../api/contract.ts'
import type { OperationRow } from '../api/contract-types.ts'

interface AreaLinksProps {
  found: readonly [operation: string, row: OperationRow][]
  /** Where the page of each begins: its name follows. */
  path: string
  beside?: (operation: string) => ReactNode
}

export function AreaLinks({ found, path, beside }: AreaLinksProps) {
  const areas = [...new Set(found.map(([, { area }]) => area))]
  return (
    <div className="panels">
      {areas.map((area) => (
        <section key={area} className="panel" aria-label={asHeading(area)}>
          <h2>{asHeading(area)}</h2>
          <ul className="links">
            {found
              .filter(([, row]) => row.area === area)
              .map(([name, { summary }]) => (
                <li key={name}>
                  <Link href={`${path}/${name}`}>{summary}</Link> {beside?.(name)}
                </li>
              ))}
          </ul>
        </section>
      ))}
    </div>
  )
}
