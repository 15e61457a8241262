// Search or act: pages, machines by any piece of their name, and every operation of the contract.
import { useQuery } from '@tanstack/react-query'
import { type KeyboardEvent, useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { call } from '../api/call.ts'
import { operations } from '../api/contract.ts'
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
  const machines = useMachines(text)
  const hits = [...pageHits(me, text), ...machines, ...operationHits(me, text)].slice(0, MOST)
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
        {hits.length === 0 && 'Nothing found.'}
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

function useMachines(text: string): Hit[] {
  const keyword = useRested(text.trim())
  const found = useQuery({
    queryKey: ['palette machines', keyword],
    queryFn: ({ signal }) => call('vmList', { body: { keyword, page_size: 6 } }, { signal }),
    enabled: keyword.length > 1,
    staleTime: 10_000,
  })
  // What was found for an earlier text would move the machine that is meant from under the selection.
  if (keyword.length < 2 || keyword !== text.trim()) return []
  return (found.data?.virtual_machines ?? []).map(({ id, name, state }) => ({
    href: `/vms/${id}`,
    title: name,
    kind: `virtual machine, ${state}`,
    why: null,
  }))
}

function useRested(text: string): string {
  const [rested, setRested] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setRested(text), REST_MS)
    return () => clearTimeout(timer)
  }, [text])
  return rested
}
