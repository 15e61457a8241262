// Lists that belong together, each at an address of its own below one page.
import type { ReactNode } from 'react'
import { whyNot } from '../api/why-not.ts'
import { useDetails } from '../api/details.ts'
import type { ThingOperation } from '../form/operation-form.tsx'
import { Problem } from '../form/problem.tsx'
import type { Column, Row } from '../lists/columns.tsx'
import { useMe } from '../session/session.ts'
import { GenericList } from './lists.tsx'
import { Tabs } from './tabs.tsx'

export interface Part {
  path: string
  title: string
  /** The list it shows, unless it is drawn otherwise. */
  operation?: string
  shows?: () => ReactNode
  /** Sent with every request. */
  fixed?: Record<string, string>
  columns?: readonly Column[]
  operationsOf?(row: Row): ThingOperation[]
}

interface Props {
  title: string
  /** Address of the page: its first part stands there itself. */
  base: string
  parts: readonly Part[]
  part: string | undefined
}

export function PartLists({ title, base, parts, part = '' }: Props) {
  const chosen = parts.find(({ path }) => path === part)
  return (
    <>
      <h1>{title}</h1>
      <Tabs
        label={`Parts of ${title}`}
        tabs={parts.map(({ path, title: name }) => ({ href: path === '' ? base : `${base}/${path}`, title: name }))}
      />
      {chosen === undefined ? (
        <p>There is no part {part}.</p>
      ) : chosen.operation === undefined ? (
        chosen.shows?.()
      ) : (
        <PartList key={part} {...chosen} operation={chosen.operation} />
      )}
    </>
  )
}

function PartList({ operation, fixed, columns, operationsOf }: Part & { operation: string }) {
  const why = whyNot(useMe(), operation)
  const { details, error } = useDetails(operation)
  if (why !== null) return <p>{why}</p>
  if (error !== undefined) return <Problem error={error} />
  if (details === undefined) return <p className="waiting">Loading …</p>
  return <GenericList operation={operation} details={details} {...{ fixed, columns, operationsOf }} />
}
