// Any operation of the contract: its form, what it answers, and the same call for a shell. Nothing here is written for one of them.
import { operations } from '../api/contract.ts'
import { useDetails } from '../api/details.ts'
import { whyNot } from '../api/why-not.ts'
import { OperationForm } from '../form/operation-form.tsx'
import { Problem } from '../form/problem.tsx'
import { Prose } from '../form/prose.tsx'
import { useMe } from '../session/session.ts'
import { AreaLinks } from './area-links.tsx'
import { FilterBar } from './filter-bar.tsx'
import { useFilter } from '../lists/filter.ts'

export function OperationsPage() {
  const me = useMe()
  const [filter, setFilter] = useFilter()
  const text = (filter.text ?? '').toLowerCase()
  const found = Object.entries(operations).filter(([name, { summary, area }]) =>
    `${name} ${summary} ${area}`.toLowerCase().includes(text),
  )
  return (
    <>
      <h1>Operations</h1>
      <FilterBar filter={filter} set={setFilter} fields={[{ name: 'text', label: 'Text' }]} />
      <p role="status" className="help">
        {found.length} operations
      </p>
      <AreaLinks found={found} path="/operations" beside={(name) => <span className="help">{whyNot(me, name)}</span>} />
    </>
  )
}

export function OperationPage({ operation }: { operation: string }) {
  const { details, error } = useDetails(operation)
  const row = operations[operation]
  if (row === undefined) return <h1>There is no operation {operation}</h1>
  return (
    <>
      <h1>{row.summary}</h1>
      <p className="help">
        <code>
          {row.method} {row.path}
        </code>{' '}
        {operation}, for {row.access}
        {row.tenant === 'own' && ', also within a tenant'}
      </p>
      {details?.description && (
        <p>
          <Prose text={details.description} />
        </p>
      )}
      {error !== undefined && <Problem error={error} />}
      {details !== undefined && <OperationForm key={operation} {...{ operation, row, details }} />}
    </>
  )
}
