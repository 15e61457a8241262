// Around every page: areas at the left, search and session above, what runs and what failed below.
import { useEffect, useRef, useState } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { Pages } from '../pages/pages.tsx'
import { ExpiryNotice } from '../session/expiry.tsx'
import { useMe } from '../session/session.ts'
import { readableGroups } from './areas.ts'
import { Boundary } from './boundary.tsx'
import { HelpDialog } from './help.tsx'
import { type Key, keyTarget } from './keys.ts'
import { Lamp } from './lamp.tsx'
import { Palette } from './palette.tsx'
import { Strip } from './strip.tsx'
import { TasksDialog } from './tasks.tsx'

export function Frame() {
  const [location, go] = useLocation()
  const is_window = useSearchParams()[0].has('window')
  const [open, setOpen] = useState<'palette' | 'help' | 'tasks' | null>(null)
  const main = useRef<HTMLElement>(null)
  useKeys((key) => {
    if (key === 'palette' || key === 'help' || key === 'tasks') setOpen(key)
    else go(key)
  })
  // A new page is announced by its heading, as a load would.
  useEffect(() => {
    const heading = main.current?.querySelector('h1')
    document.title = heading === null || heading === undefined ? 'Groundplane' : `${heading.textContent} · Groundplane`
  }, [location])
  // A window of its own, for a screen: the page, and nothing around it.
  if (is_window)
    return (
      <main ref={main} className="window">
        <Boundary key={location}>
          <Pages />
        </Boundary>
      </main>
    )
  return (
    <div className="frame">
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <Header search={() => setOpen('palette')} />
      <Rail location={location} />
      <main id="main" ref={main} tabIndex={-1}>
        <Boundary key={location}>
          <Pages />
        </Boundary>
      </main>
      <Strip tasks={() => setOpen('tasks')} />
      {open === 'palette' && <Palette close={() => setOpen(null)} />}
      {open === 'tasks' && <TasksDialog close={() => setOpen(null)} />}
      {open === 'help' && <HelpDialog close={() => setOpen(null)} />}
    </div>
  )
}

function Header({ search }: { search(): void }) {
  const me = useMe()
  return (
    <header className="top">
      <Link href="/" className="brand">
        Groundplane
      </Link>
      <button type="button" className="search" onClick={search}>
        Search or act <kbd className="wide-only">Ctrl K</kbd>
      </button>
      <Lamp />
      <ExpiryNotice />
      {me.tenant_id !== null && <span className="scope">tenant {me.tenant_id.slice(0, 8)}</span>}
      <Link href="/me" aria-label={`${me.username}, ${me.role}`}>
        {me.username}
      </Link>
    </header>
  )
}

function Rail({ location }: { location: string }) {
  const me = useMe()
  const [open, setOpen] = useState(false)
  // On a narrow page the areas lie behind a button, and the page that was chosen is seen.
  useEffect(() => setOpen(false), [location])
  const groups = readableGroups(me)
  // A list that has an entry of its own is not also among all lists.
  const [here] = groups
    .flatMap(({ entries }) => entries.map(({ href }) => href))
    .filter((href) => location === href || (href !== '/' && location.startsWith(`${href}/`)))
    .toSorted((one, other) => other.length - one.length)
  return (
    <nav className="rail" aria-label="Areas" data-open={open}>
      <button type="button" className="narrow-only" aria-expanded={open} onClick={() => setOpen(!open)}>
        Menu
      </button>
      {groups.map(({ title, entries }) => (
        <section key={title}>
          <h2>{title}</h2>
          {entries.map((entry) => (
            <Link key={entry.href} href={entry.href} {...(here === entry.href && { 'aria-current': 'page' as const })}>
              {entry.title}
            </Link>
          ))}
        </section>
      ))}
    </nav>
  )
}

/** `g` waits for its second letter. */
function useKeys(act: (key: Key) => void): void {
  const acting = useRef(act)
  acting.current = act
  useEffect(() => {
    let prefix = ''
    const listener = (event: KeyboardEvent): void => {
      const key = keyTarget(event, prefix)
      prefix = key === undefined && event.key === 'g' ? 'g' : ''
      if (key === undefined) return
      event.preventDefault()
      if (key === 'filter') document.querySelector<HTMLElement>('main input[type="search"]')?.focus()
      else acting.current(key)
    }
    addEventListener('keydown', listener)
    return () => removeEventListener('keydown', listener)
  }, [])
}
