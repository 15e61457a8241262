// Rows of a list of any length: the service pages, and only the pages on the screen are asked for, once the scroller rests.
import { keepPreviousData, useQueries, useQuery } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { type CSSProperties, type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { listed } from '../api/answers.ts'
import { type AnyInput, callAny } from '../api/call.ts'
import { operationRow } from '../api/contract.ts'
import { Problem } from '../form/problem.tsx'
import { type Column, nameOf, type Row } from './columns.tsx'
import type { View } from './view.ts'

const PAGE = 100
const ROW_HEIGHT = 32
const REST_MS = 80

export interface RowsProps {
  label: string
  operation: string
  /** Without the page. */
  filter: Record<string, unknown>
  columns: readonly Column[]
  hrefOf(row: Row): string
  /** Opens what can be done with a row. */
  menu?: ((row: Row) => void) | undefined
  selection?: { has(id: string): boolean; toggle(row: Row): void; all?(): void } | undefined
  /** Headers of columns that the service can sort by are buttons. */
  view?: Pick<View, 'sort' | 'sortBy'>
  empty: ReactNode
}

export function pageInput(operation: string, filter: Record<string, unknown>, page: number): AnyInput {
  const { method, paged } = operationRow(operation)
  const given = paged ? { ...filter, page, page_size: PAGE } : filter
  return method === 'GET' ? { query: given } : { body: given }
}

export function useCount(operation: string, filter: Record<string, unknown>) {
  const input = pageInput(operation, filter, 1)
  const first = useQuery({
    queryKey: [operation, input],
    queryFn: ({ signal }) => callAny(operation, input, { signal }),
    placeholderData: keepPreviousData,
  })
  return { count: listed(operation, first.data)?.count, error: first.error, refetch: first.refetch }
}

export function Rows(props: RowsProps) {
  const { operation, filter, empty } = props
  const { count, error, refetch } = useCount(operation, filter)
  if (error !== null) return <Problem error={error} retry={() => void refetch()} />
  if (count === undefined) return <p className="waiting">Loading …</p>
  if (count === 0) return <div className="empty">{empty}</div>
  return <Scroller {...props} count={count} />
}

function Scroller({ count, ...props }: RowsProps & { count: number }) {
  const { label, columns, hrefOf, menu, selection } = props
  const [, go] = useLocation()
  const scroller = useRef<HTMLDivElement>(null)
  const [at, setAt] = useState(0)
  const rows = useVirtualizer({
    count,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 12,
    paddingStart: ROW_HEIGHT,
    scrollPaddingStart: ROW_HEIGHT,
    useFlushSync: false,
  })
  const items = rows.getVirtualItems()
  const rowAt = usePages(props, items[0]?.index ?? 0, items.at(-1)?.index ?? 0)
  const keys = (event: KeyboardEvent): void => {
    if (event.target !== scroller.current || event.altKey || event.metaKey) return
    if (event.ctrlKey) {
      if (event.key !== 'a' || selection?.all === undefined) return
      selection.all()
      return event.preventDefault()
    }
    const move = MOVES[event.key]?.(at, count)
    const row = rowAt(at)
    if (move !== undefined) {
      const next = Math.min(Math.max(move, 0), count - 1)
      setAt(next)
      rows.scrollToIndex(next)
    } else if (event.key === 'Enter' && row) go(hrefOf(row))
    else if (event.key === '.' && row) menu?.(row)
    else if (event.key === 'x' && row) selection?.toggle(row)
    else return
    event.preventDefault()
  }
  return (
    <div
      ref={scroller}
      className="rows"
      role="grid"
      aria-label={label}
      aria-rowcount={count + 1}
      aria-colcount={columns.length + (selection ? 1 : 0) + (menu ? 1 : 0)}
      aria-activedescendant={`row-${at}`}
      tabIndex={0}
      style={{ '--columns': columnWidths(props), '--height': `${rows.getTotalSize()}px` } as CSSProperties}
      onKeyDown={keys}
    >
      <div role="rowgroup" style={{ height: rows.getTotalSize() }}>
        <div role="row" aria-rowindex={1} className="head">
          {selection && <span role="columnheader" aria-label="Selected" className="narrow" />}
          {columns.map((column) => (
            <Heading key={column.name} column={column} {...props} />
          ))}
          {menu && <span role="columnheader" aria-label="Actions" className="narrow" />}
        </div>
        {items.map(({ index, start }) => (
          <RowLine
            key={index % 64}
            {...{ index, start, columns, hrefOf, menu, selection }}
            row={rowAt(index)}
            current={index === at}
          />
        ))}
      </div>
    </div>
  )
}

function Heading({ column: { name, title }, operation, view }: RowsProps & { column: Column }) {
  if (view === undefined || !operationRow(operation).sorts.includes(name))
    return (
      <span role="columnheader" title={title}>
        {title}
      </span>
    )
  const { sort, sortBy } = view
  const order = sort?.column !== name ? 'none' : sort.descending ? 'descending' : 'ascending'
  return (
    <span role="columnheader" aria-sort={order}>
      <button type="button" className="quiet" onClick={() => sortBy(name)}>
        {title} {order === 'ascending' ? '↑' : order === 'descending' ? '↓' : ''}
      </button>
    </span>
  )
}

/** Texts that are longer than others. */
const LONG = new Set(['fqdn', 'value', 'description', 'message', 'url', 'path', 'memory'])
const STATES = new Set(['state', 'status', 'health'])

function columnWidths({ columns, selection, menu }: RowsProps): string {
  const widthOf = (name: string): string => (LONG.has(name) ? '2fr' : STATES.has(name) ? '1.3fr' : '1fr')
  const widths = columns.map(({ name }, at) => `minmax(0, ${at === 0 ? 'var(--first)' : widthOf(name)})`)
  return [...(selection ? ['36px'] : []), ...widths, ...(menu ? ['44px'] : [])].join(' ')
}

const MOVES: Record<string, (at: number, count: number) => number> = {
  ArrowDown: (at) => at + 1,
  j: (at) => at + 1,
  ArrowUp: (at) => at - 1,
  k: (at) => at - 1,
  PageDown: (at) => at + 20,
  PageUp: (at) => at - 20,
  Home: () => 0,
  End: (_at, count) => count - 1,
}

/** A drag over 20,000 rows asks for the pages that it ends on. */
function usePages({ operation, filter }: RowsProps, from: number, to: number): (index: number) => Row | undefined {
  const { paged } = operationRow(operation)
  const shown = paged ? { first: Math.floor(from / PAGE) + 1, last: Math.floor(to / PAGE) + 1 } : { first: 1, last: 1 }
  const [rested, setRested] = useState(shown)
  useEffect(() => {
    const timer = setTimeout(() => setRested({ first: shown.first, last: shown.last }), REST_MS)
    return () => clearTimeout(timer)
  }, [shown.first, shown.last])
  const wanted = Array.from({ length: shown.last - shown.first + 1 }, (_none, at) => shown.first + at)
  const pages = useQueries({
    queries: wanted.map((page) => {
      const input = pageInput(operation, filter, page)
      return {
        queryKey: [operation, input],
        queryFn: ({ signal }: { signal: AbortSignal }) => callAny(operation, input, { signal }),
        enabled: page >= rested.first && page <= rested.last,
      }
    }),
  })
  return (index) => {
    const answer = pages[paged ? Math.floor(index / PAGE) + 1 - shown.first : 0]?.data
    return listed(operation, answer)?.rows[paged ? index % PAGE : index]
  }
}

/** What may be cut off is told whole. */
function wholeOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

interface RowLineProps extends Pick<RowsProps, 'columns' | 'hrefOf' | 'menu' | 'selection'> {
  index: number
  start: number
  row: Row | undefined
  current: boolean
}

function RowLine({ index, start, columns, hrefOf, menu, selection, row, current }: RowLineProps) {
  const selected = row !== undefined && selection?.has(String(row.id))
  return (
    <div
      role="row"
      id={`row-${index}`}
      aria-rowindex={index + 2}
      {...(selection && { 'aria-selected': selected })}
      data-current={current}
      style={{ transform: `translateY(${start}px)` }}
    >
      {row === undefined ? (
        <span role="gridcell" className="waiting">
          row {index + 1} …
        </span>
      ) : (
        <>
          {selection && (
            <span role="gridcell" className="narrow">
              <input
                type="checkbox"
                aria-label={`Select ${nameOf(row)}`}
                checked={selected}
                onChange={() => selection.toggle(row)}
              />
            </span>
          )}
          {columns.map((column, at) => (
            <span role="gridcell" key={column.name} title={wholeOf(row[column.name])}>
              {at === 0 ? <Link href={hrefOf(row)}>{column.cell(row)}</Link> : column.cell(row)}
            </span>
          ))}
          {menu && (
            <span role="gridcell" className="narrow">
              <button
                type="button"
                className="quiet"
                aria-label={`Actions of ${nameOf(row)}`}
                onClick={() => menu(row)}
              >
                ⋯
              </button>
            </span>
          )}
        </>
      )}
    </div>
  )
}
