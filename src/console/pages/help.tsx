// Help without a network: what each error code means, what the stream tells, keys, and where the reference is.
import { useEffect } from 'react'
import { ERRORS } from '#src/contract/errors.ts'
import { KeyList } from '../frame/key-list.tsx'
import { Table } from '../lists/table.tsx'
import { columnOf, type Row } from '../lists/columns.tsx'
import { type Part, PartLists } from './part-lists.tsx'

const PARTS: readonly Part[] = [
  { path: '', title: 'Errors', shows: () => <Errors /> },
  { path: 'keys', title: 'Keys', shows: () => <KeyList /> },
  { path: 'events', title: 'Events', operation: 'eventTypes' },
]

export function HelpPage({ part }: { part?: string | undefined }) {
  return (
    <>
      <PartLists title="Help" base="/help" parts={PARTS} part={part === 'errors' ? '' : part} />
      <p>
        <a href="/docs" target="_blank" rel="noreferrer">
          Reference of all operations
        </a>
      </p>
    </>
  )
}

const ERROR_COLUMNS = [
  { name: 'code', title: 'code', cell: ({ code }: Row) => <code id={String(code)}>{String(code)}</code> },
  { name: 'status', title: 'status', cell: ({ status }: Row) => <>{String(status)}</> },
  columnOf('title', 'meaning'),
]

function Errors() {
  const wanted = location.hash.slice(1)
  useEffect(() => {
    document.getElementById(wanted)?.scrollIntoView({ block: 'center' })
  }, [wanted])
  const rows = Object.entries(ERRORS).map(([code, { status, title }]) => ({ code, status, title }))
  const first = rows.filter(({ code }) => code === wanted)
  return (
    <>
      {first.map(({ code, title }) => (
        <p key={code} role="status">
          <code>{code}</code>: {title}.
        </p>
      ))}
      <Table label="Error codes" rows={rows} columns={ERROR_COLUMNS} />
    </>
  )
}
