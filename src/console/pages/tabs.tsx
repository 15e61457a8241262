// The parts of a thing, each at an address of its own.
import { Link, useLocation } from 'wouter'

export interface Tab {
  href: string
  title: string
}

export function Tabs({ label, tabs }: { label: string; tabs: readonly Tab[] }) {
  const [location] = useLocation()
  return (
    <nav className="tabs" aria-label={label}>
      {tabs.map(({ href, title }) => (
        <Link key={href} href={href} {...(location === href && { 'aria-current': 'page' as const })}>
          {title}
        </Link>
      ))}
    </nav>
  )
}
