// Search or act: pages, things of every kind by any piece of their name or address, and every operation of the contract.
import { useQuery } from '@tanstack/react-query'
import { type KeyboardEvent, useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { call } from '../api/call.ts'
import type { SearchResult } from '#src/contract/search.ts'
import { inWords, operationRow, operations } from '../api/contract.ts'
import { whyNot } from '../api/why-not.ts'
import { Dialog } from '../form/dialog.tsx'
import { type Me, useMe } from '../session/session.ts'
import { readableGroups } from './areas.ts'

interface Hit {
  href: string
  title: string
  kind: string
  why: string | null
}

const MOST = 12
const REST_MS = 150

export function Palette({ close }: { close(): void }) {
  const me = useMe()
  const [, go] = useLocation()
  const [text, setText] = useState('')
  const [at, setAt] = useState(0)
  const { things, missing, asking } = useThings(me, text)
  const hits = [...pageHits(me, text), ...things, ...operationHits(me, text)].slice(0, MOST)
  const open = (hit: Hit | undefined): void => {
    if (hit === undefined) return
    close()
    go(hit.href)
  }
  const keys = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) setAt((before) => (before + step + hits.length) % Math.max(hits.length, 1))
    else if (event.key === 'Enter') open(hits[at])
    else return
    event.preventDefault()
  }
  return (
    <Dialog title="Search or act" className="palette" close={close}>
      <input
        type="search"
        role="combobox"
        aria-label="Search or act"
        aria-expanded="true"
        aria-controls="hits"
        {...(hits[at] && { 'aria-activedescendant': `hit-${at}` })}
        autoComplete="off"
        data-focus
        value={text}
        onChange={({ target }) => {
          setText(target.value)
          setAt(0)
        }}
        onKeyDown={keys}
      />
      <div id="hits" role="listbox" aria-label="Found">
        {hits.map((hit, index) => (
          <div
            key={hit.href}
            id={`hit-${index}`}
            role="option"
            tabIndex={-1}
            aria-selected={index === at}
            onClick={() => open(hit)}
          >
            {hit.title} <span className="help">{hit.why ?? hit.kind}</span>
          </div>
        ))}
      </div>
      <p role="status" className="help">
        {hits.length === 0 && (asking ? 'Searching …' : 'Nothing found.')} {missing}
      </p>
    </Dialog>
  )
}

function matches(text: string, ...words: string[]): boolean {
  const all = words.join(' ').toLowerCase()
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((part) => all.includes(part))
}

function pageHits(me: Me, text: string): Hit[] {
  return readableGroups(me)
    .flatMap(({ entries }) => entries)
    .filter(({ title }) => matches(text, title))
    .map(({ href, title }) => ({ href, title, kind: 'page', why: null }))
}

function operationHits(me: Me, text: string): Hit[] {
  if (text.trim() === '') return []
  return Object.entries(operations)
    .filter(([name, { summary, area }]) => matches(text, name, summary, area))
    .map(([name, { summary, area }]) => ({
      href: `/operations/${name}`,
      title: summary,
      kind: `operation of ${area}`,
      why: whyNot(me, name),
    }))
}

/** Things of every kind that the caller may see, as the service ranks them. */
function useThings(me: Me, text: string): { things: Hit[]; missing: string; asking: boolean } {
  const q = useRested(text.trim())
  const may = whyNot(me, 'searchRun') === null
  const found = useQuery({
    queryKey: ['palette', q],
    queryFn: ({ signal }) => call('searchRun', { query: { q, limit: 8 } }, { signal }),
    enabled: may && q.length > 1,
    staleTime: 10_000,
  })
  // What was found for an earlier text would move the thing that is meant from under the selection.
  if (found.data === undefined || q.length < 2 || q !== text.trim())
    return { things: [], missing: '', asking: may && text.trim().length > 1 && found.error === null }
  const { results, unavailable } = found.data
  return {
    things: results.map((result) => ({
      href: hrefOf(result),
      title: result.name,
      kind: `${kindOf(result)}${result.matched === result.name ? '' : ` ${result.matched}`}`,
      why: null,
    })),
    asking: false,
    missing: unavailable.map(({ kind, reason }) => `${kindOf({ kind })}: ${reason}`).join(' '),
  }
}

function kindOf({ kind }: Pick<SearchResult, 'kind'>): string {
  return kind === 'vm' ? 'virtual machine' : inWords(kind)
}

/** A page where the kind has one, else the operation that shows the thing, filled in. */
function hrefOf({ kind, id, operation, href, body }: SearchResult): string {
  if (kind === 'vm') return `/vms/${id}`
  if (kind === 'node') return `/nodes/${encodeURIComponent(id)}`
  const [path = '', query = ''] = href.split('?')
  const given = new URLSearchParams(query)
  const pattern = operationRow(operation).path.replace(/\{(\w+)\*?\}/g, '(?<$1>[^/]+)')
  const named = new RegExp(`^${pattern}$`).exec(path)?.groups ?? {}
  for (const [name, value] of Object.entries(named)) given.set(name, decodeURIComponent(value))
  for (const [name, value] of Object.entries(body ?? {})) given.set(name, String(value))
  return `/operations/${operation}?${given}`
}

function useRested(text: string): string {
  const [rested, setRested] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setRested(text), REST_MS)
    return () => clearTimeout(timer)
  }, [text])
  return rested
}
