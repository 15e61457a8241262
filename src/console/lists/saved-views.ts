// Views of lists that somebody gave a name: addresses, held by this browser alone. Nothing secret is in an address.

const PLACE = 'groundplane.views'

export interface SavedView {
  name: string
  /** Of the list: `/vms`. */
  path: string
  search: string
}

export function savedViews(path: string): SavedView[] {
  return all().filter((view) => view.path === path)
}

export function saveView(view: SavedView): void {
  store([...all().filter(({ path, name }) => path !== view.path || name !== view.name), view])
}

export function removeView({ path, name }: SavedView): void {
  store(all().filter((view) => view.path !== path || view.name !== name))
}

function all(): SavedView[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(PLACE) ?? '[]')
    return Array.isArray(stored) ? stored.filter(isView) : []
  } catch {
    return []
  }
}

function isView(one: unknown): one is SavedView {
  const { name, path, search } = (one ?? {}) as Partial<SavedView>
  return [name, path, search].every((part) => typeof part === 'string')
}

function store(views: readonly SavedView[]): void {
  localStorage.setItem(PLACE, JSON.stringify(views))
}
