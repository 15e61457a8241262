// Parts that pages share: a panel that waits and fails by itself, facts of a thing, and the state of the address.
import type { UseQueryResult } from '@tanstack/react-query'
import type { ReactNode } from 'react'
import { inWords } from '../api/contract.ts'
import { Problem } from '../form/problem.tsx'
import { columnOf, type Row, titleOf } from '../lists/columns.tsx'
import { Table } from '../lists/table.tsx'
import { State, Time, Value, whyNull } from '../lists/value.tsx'

interface PanelProps<T> {
  title: string
  query: UseQueryResult<T>
  children(answer: T): ReactNode
}

export function Panel<T>({ title, query, children }: PanelProps<T>) {
  return (
    <section className="panel" aria-label={title}>
      <h2>{title}</h2>
      <Loaded query={query}>{children}</Loaded>
    </section>
  )
}

/** What is known is shown, even where asking again has just failed. */
export function Loaded<T>({ query, children }: Pick<PanelProps<T>, 'query' | 'children'>) {
  const { data, error, refetch, dataUpdatedAt, errorUpdatedAt } = query
  return (
    <>
      {error !== null && <Problem error={error} retry={() => void refetch()} />}
      {error !== null && (
        <p className="help">
          Failed at <Time at={new Date(errorUpdatedAt).toISOString()} />
          {data !== undefined && (
            <>
              ; what is shown was read at <Time at={new Date(dataUpdatedAt).toISOString()} />
            </>
          )}
        </p>
      )}
      {data === undefined && error === null && <p className="waiting">Loading …</p>}
      {data !== undefined && children(data)}
    </>
  )
}

const STATES = /^(state|status|health|job_status|provision_status)$/

/** What has parts is facts again, or a table of its own; only what is deeper than that is JSON. */
function Fact({ name, value, why }: { name: string; value: unknown; why: string | undefined }) {
  if (Array.isArray(value)) {
    if (value.length === 0) return <>none</>
    if (value.every((one) => typeof one !== 'object')) return <>{value.join(', ')}</>
    return <Parts name={name} rows={value as readonly Row[]} />
  }
  if (typeof value !== 'object' || value === null) return <Value name={name} value={value} why={why} />
  return Object.keys(value).length === 0 ? <>none</> : <Facts thing={value as Record<string, unknown>} />
}

const MOST_COLUMNS = 8

/** Plain values of each alone: what is deeper has a page of its own. */
function Parts({ name, rows }: { name: string; rows: readonly Row[] }) {
  const is_plain = (field: string): boolean => rows.every((row) => typeof (row[field] ?? '') !== 'object')
  const names = Object.keys(rows[0] ?? {}).filter(is_plain)
  return <Table label={inWords(name)} rows={rows} columns={names.slice(0, MOST_COLUMNS).map((one) => columnOf(one))} />
}

/** Plain values first, what has parts last; ids stand between, for names are what people read. */
export function Facts({ thing }: { thing: Readonly<Record<string, unknown>> }) {
  const rank = ([name, value]: [string, unknown]): number =>
    typeof value === 'object' && value !== null ? 2 : /(^|_)id$/.test(name) ? 1 : 0
  const entries = Object.entries(thing).toSorted((one, other) => rank(one) - rank(other))
  return (
    <dl className="facts">
      {entries.map(([name, value]) => (
        <div key={name}>
          <dt>{titleOf(name)}</dt>
          <dd>
            {STATES.test(name) ? (
              <State text={value} why={whyNull(thing, name)} />
            ) : (
              <Fact name={name} value={value} why={whyNull(thing, name)} />
            )}
          </dd>
        </div>
      ))}
    </dl>
  )
}
