// Keys of the frame. Single letters act outside fields only, and none changes anything of the cloud.

/** `palette`, `help`, `tasks`, `filter`, or the address to go to. */
export type Key = string

export const GO_TO: Readonly<Record<string, { href: string; title: string }>> = {
  o: { href: '/', title: 'Overview' },
  v: { href: '/vms', title: 'Virtual machines' },
  n: { href: '/nodes', title: 'Nodes' },
  t: { href: '/timeline', title: 'Timeline' },
  j: { href: '/jobs', title: 'Jobs' },
  l: { href: '/lists', title: 'Lists' },
  a: { href: '/operations', title: 'Operations' },
}

const OTHER_KEYS: readonly (readonly [string, string])[] = [
  ['Ctrl K', 'search or act'],
  ['/', 'filter of this list'],
  ['j k, arrows, Home, End', 'move in a list'],
  ['↓ in the filter', 'to the list'],
  ['1 2 3 …', 'parts of a machine'],
  ['Enter', 'open the row'],
  ['.', 'what can be done with the row'],
  ['x', 'select the row'],
  ['Ctrl A', 'select all that match'],
  ['n', 'new virtual machine'],
  ['Alt T', 'tasks'],
  ['?', 'this list'],
]

export const KEYS = [...OTHER_KEYS, ...Object.entries(GO_TO).map(([key, { title }]) => [`g ${key}`, title] as const)]

export function keyTarget(event: KeyboardEvent, prefix: string): Key | undefined {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') return 'palette'
  if (event.altKey && event.key.toLowerCase() === 't') return 'tasks'
  if (!isSingleKey(event)) return undefined
  if (prefix === 'g') return GO_TO[event.key]?.href
  if (event.key === '?') return 'help'
  if (event.key === 'n') return '/vms/new'
  return event.key === '/' ? 'filter' : undefined
}

/** A letter or digit that means itself: in no field, without a modifier, and with no dialog open. */
export function isSingleKey(event: KeyboardEvent): boolean {
  const { target } = event
  const in_field = target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)
  return !(
    in_field ||
    event.ctrlKey ||
    event.metaKey ||
    event.altKey ||
    document.querySelector('dialog[open]') !== null
  )
}
