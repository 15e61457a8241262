// Every list of the contract, with columns out of its schema: a new area has its pages on the day it is there.
import { useSyncExternalStore } from 'react'
import { useLocation, useSearchParams } from 'wouter'
import { listed } from '../api/answers.ts'
import { asHeading, objectFields, operationRow, operations } from '../api/contract.ts'
import type { OperationDetails, OperationRow, Schema } from '../api/contract-types.ts'
import { useDetails } from '../api/details.ts'
import { queries } from '../api/queries.ts'
import { whyNot } from '../api/why-not.ts'
import { Dialog } from '../form/dialog.tsx'
import { Problem } from '../form/problem.tsx'
import { Prose } from '../form/prose.tsx'
import { plain, typeOf, valuesOf } from '../form/values.ts'
import type { ThingOperation } from '../form/operation-form.tsx'
import { type Column, columnsOf, defaultNames, nameOf, type Row } from '../lists/columns.tsx'
import { Rows } from '../lists/rows.tsx'
import { ListTools } from '../lists/tools.tsx'
import { ROW, useView } from '../lists/view.ts'
import { useMe } from '../session/session.ts'
import { AreaLinks } from './area-links.tsx'
import { FilterBar, type FilterField } from './filter-bar.tsx'
import { OperationButtons } from './operation-buttons.tsx'
import { Facts } from './panel.tsx'
import { listOperations, rowOperations } from './row-operations.ts'

export function ListsPage() {
  const me = useMe()
  const lists = Object.entries(operations).filter(([name, row]) => isPlainList(row) && whyNot(me, name) === null)
  return (
    <>
      <h1>Lists</h1>
      <AreaLinks found={lists} path="/lists" />
    </>
  )
}

/** `List open sessions` is, as a page, `Open sessions`. */
function titleOf(summary: string): string {
  const words = summary.replace(/^List /, '')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

function isPlainList({ list, on_node }: OperationRow): boolean {
  return list !== null && !on_node
}

export function ListPage({ operation }: { operation: string }) {
  const me = useMe()
  const { details, error } = useDetails(operation)
  const row = operations[operation]
  if (row === undefined || !isPlainList(row)) return <h1>There is no list {operation}</h1>
  const why = whyNot(me, operation)
  return (
    <>
      <h1>{titleOf(row.summary)}</h1>
      {details?.description && (
        <p className="help">
          <Prose text={details.description} />
        </p>
      )}
      {why !== null && <p>{why}</p>}
      {error !== undefined && <Problem error={error} />}
      {why === null && details === undefined && error === undefined && <p className="waiting">Loading …</p>}
      {why === null && details !== undefined && <GenericList operation={operation} details={details} />}
    </>
  )
}

interface GenericListProps {
  operation: string
  details: OperationDetails
  /** Sent with every request. */
  fixed?: Readonly<Record<string, string>> | undefined
  columns?: readonly Column[] | undefined
  /** What can be done with a row; otherwise what the contract says. */
  operationsOf?: ((row: Row) => ThingOperation[]) | undefined
}

export function GenericList({ operation, details, fixed = {}, columns, operationsOf }: GenericListProps) {
  const { method, summary } = operationRow(operation)
  const [location] = useLocation()
  const all = columns ?? columnsOf(plain(details.item ?? {}))
  const seen = useView(operation, all, columns?.map(({ name }) => name) ?? defaultNames(all))
  const view = { ...seen, asked: { ...seen.asked, ...fixed } }
  const [given] = useSearchParams()
  const row_id = given.get(ROW)
  const request = objectFields(method === 'GET' ? details.query : details.body) ?? {}
  const search = (row: string) => `?${new URLSearchParams({ ...Object.fromEntries(given), [ROW]: row })}`
  const fields = filterFields(request).filter(({ name }) => !(name in fixed))
  return (
    <>
      <FilterBar filter={view.filter} set={view.set} fields={fields} />
      <OperationButtons operations={listOperations(operation)} />
      <ListTools operation={operation} view={view} columns={all} />
      <Rows
        label={summary}
        operation={operation}
        filter={valuesOf(request, view.asked)}
        columns={view.columns}
        view={view}
        hrefOf={(row) => `${location}${search(rowId(row))}`}
        empty={<p>{Object.keys(view.filter).length > 0 ? 'Nothing matches.' : 'There is none yet.'}</p>}
      />
      {row_id !== null && <RowDialog {...{ operation, operationsOf }} id={row_id} close={() => view.set(ROW, '')} />}
    </>
  )
}

interface RowDialogProps extends Pick<GenericListProps, 'operation' | 'operationsOf'> {
  id: string
  close(): void
}

/** Only what was read already: a row that is not on the screen is found by the filter. */
function RowDialog({ operation, operationsOf, id, close }: RowDialogProps) {
  const row = useSyncExternalStore(onQueries, () => readRow(operation, id))
  return (
    <Dialog title={row === undefined ? id : nameOf(row)} close={close}>
      {row === undefined ? (
        <p>It is not among the rows that were read. Filter the list for it.</p>
      ) : (
        <>
          <OperationButtons operations={operationsOf?.(row) ?? rowOperations(operation, row)} />
          <Facts thing={row} />
        </>
      )}
    </Dialog>
  )
}

const onQueries = (listener: () => void): (() => void) => queries.getQueryCache().subscribe(listener)

/** As the pages that are on the screen have it: it changes while the dialog is open. */
function readRow(operation: string, id: string): Row | undefined {
  const known = queries.getQueriesData({ queryKey: [operation], type: 'active' })
  return known.flatMap(([, answer]) => listed(operation, answer)?.rows ?? []).find((one) => rowId(one) === id)
}

const KEYS = ['id', 'uuid', 'node_id', 'bmc_ip', 'name', 'address', 'ip_address', 'ip', 'job_id']

function rowId(row: Row): string {
  const value = KEYS.map((name) => row[name]).find((one) => one !== undefined && one !== null)
  return value === undefined ? JSON.stringify(row) : String(value)
}

const PAGING = ['page', 'page_size', 'after_id', 'sort_by', 'sort_order']
const MOST_FILTERS = 6

function filterFields(request: Record<string, Schema>): FilterField[] {
  return Object.entries(request)
    .filter(([name, schema]) => !PAGING.includes(name) && !['object', 'array'].includes(typeOf(schema)))
    .toSorted(([one], [other]) => Number(one.endsWith('_id')) - Number(other.endsWith('_id')))
    .slice(0, MOST_FILTERS)
    .map(([name, schema]) => ({ name, label: asHeading(name), options: choicesOf(schema) }))
}

function choicesOf(schema: Schema): string[] | undefined {
  if (typeOf(schema) === 'boolean') return ['true', 'false']
  return plain(schema).enum?.filter((one) => one !== null)
}
