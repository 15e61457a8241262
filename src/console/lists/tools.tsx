// Beside a list: which columns it shows, views by name, and its rows as a file.
import { type FormEvent, useState } from 'react'
import { Link, useLocation, useSearch } from 'wouter'
import { operationRow } from '../api/contract.ts'
import { Dialog } from '../form/dialog.tsx'
import { Problem } from '../form/problem.tsx'
import type { Column } from './columns.tsx'
import { exportRows } from './export.ts'
import { removeView, savedViews, saveView } from './saved-views.ts'
import type { View } from './view.ts'

interface Props {
  operation: string
  view: View
  /** All that there are. */
  columns: readonly Column[]
}

export function ListTools({ operation, view, columns }: Props) {
  const [open, setOpen] = useState<'columns' | 'views' | null>(null)
  const [problem, setProblem] = useState<unknown>()
  const [busy, setBusy] = useState(false)
  const write = (format: 'csv' | 'json') => async (): Promise<void> => {
    if (busy) return
    setBusy(true)
    setProblem(undefined)
    await exportRows(
      operation,
      view.asked,
      view.columns.map(({ name }) => name),
      format,
    ).catch(setProblem)
    setBusy(false)
  }
  return (
    <div className="actions tools" role="group" aria-label="This list">
      <button type="button" onClick={() => setOpen('columns')}>
        Columns
      </button>
      <button type="button" onClick={() => setOpen('views')}>
        Views
      </button>
      <button type="button" aria-disabled={busy} onClick={() => void write('csv')()}>
        Export CSV
      </button>
      <button type="button" aria-disabled={busy} onClick={() => void write('json')()}>
        Export JSON
      </button>
      <span role="status" className="help">
        {busy ? 'Reading all rows …' : operationRow(operation).sorts.length === 0 && 'In the order of the service.'}
      </span>
      {problem !== undefined && <Problem error={problem} />}
      {open === 'columns' && <ColumnsDialog view={view} columns={columns} close={() => setOpen(null)} />}
      {open === 'views' && <ViewsDialog close={() => setOpen(null)} />}
    </div>
  )
}

function ColumnsDialog({ view, columns, close }: Omit<Props, 'operation'> & { close(): void }) {
  const shown = view.columns.map(({ name }) => name)
  const rest = columns.filter(({ name }) => !shown.includes(name))
  const moved = (name: string): string[] => {
    const at = shown.indexOf(name)
    const next = shown.filter((one) => one !== name)
    // The first names the thing and is its link.
    next.splice(Math.max(at - 1, 1), 0, name)
    return next
  }
  return (
    <Dialog title="Columns" close={close}>
      <ul className="links">
        {[...view.columns, ...rest].map(({ name, title }, at) => (
          <li key={name}>
            <label className="inline">
              <input
                type="checkbox"
                checked={shown.includes(name)}
                disabled={at === 0}
                onChange={({ target }) =>
                  view.choose(target.checked ? [...shown, name] : shown.filter((one) => one !== name))
                }
              />
              {title}
            </label>
            {at > 1 && shown.includes(name) && (
              <button
                type="button"
                className="quiet"
                aria-label={`${title} earlier`}
                onClick={() => view.choose(moved(name))}
              >
                ↑
              </button>
            )}
          </li>
        ))}
      </ul>
    </Dialog>
  )
}

function ViewsDialog({ close }: { close(): void }) {
  const [path] = useLocation()
  const search = useSearch()
  const [views, setViews] = useState(() => savedViews(path))
  const [name, setName] = useState('')
  const save = (event: FormEvent): void => {
    event.preventDefault()
    if (name.trim() === '') return
    saveView({ name: name.trim(), path, search })
    setViews(savedViews(path))
    setName('')
  }
  return (
    <Dialog title="Views" close={close}>
      {views.length === 0 && <p>No view of this list has a name yet. A view is its filter, columns and order.</p>}
      <ul className="links">
        {views.map((view) => (
          <li key={view.name}>
            <Link href={`${path}?${view.search}`} onClick={close}>
              {view.name}
            </Link>{' '}
            <button
              type="button"
              className="quiet"
              aria-label={`Remove ${view.name}`}
              onClick={() => {
                removeView(view)
                setViews(savedViews(path))
              }}
            >
              ✕
            </button>
          </li>
        ))}
      </ul>
      <form onSubmit={save}>
        <label>
          Name of what is shown now
          <input value={name} autoComplete="off" data-focus onChange={({ target }) => setName(target.value)} />
        </label>
        <div className="buttons">
          <button type="submit" className="primary" aria-disabled={name.trim() === ''}>
            Save view
          </button>
        </div>
      </form>
    </Dialog>
  )
}
