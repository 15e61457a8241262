// Arithmetic of a machine's map of details: what it must be after an edit, and nothing else. Pure, so that it can be
// checked against any map and any edit (cloudstack.md 6.1).
import { CURATED, type CuratedName, type VmSettingsUpdate } from '#src/contract/compute/settings.ts'
import { ApiError } from '#src/kernel/errors.ts'

export type DetailMap = Readonly<Record<string, string>>

/** Cores, memory and speed of a custom offering stand in the same map; they change by scaling alone. */
const COMPUTE = ['cpuNumber', 'memory', 'cpuSpeed'] as const
/** Kept by the server itself; sent back they are refused. */
const SERVERS_OWN = ['leaseexpirydate', 'leaseexpiryaction', 'leaseactionexecution']
const EXTRA_CONFIG = 'extraconfig'

export function isServersOwn(name: string): boolean {
  const lower = name.toLowerCase()
  return lower.startsWith(EXTRA_CONFIG) || SERVERS_OWN.includes(lower)
}

/** What callers see and edit, of the whole map as the platform shows it. */
export function editableDetails(map: DetailMap): Record<string, string> {
  return Object.fromEntries(Object.entries(map).filter(([name]) => !isServersOwn(name)))
}

/** Hypervisor configuration by the name a caller gave it. */
export function extraConfigOf(map: DetailMap): Record<string, string> {
  const prefix = `${EXTRA_CONFIG}-`
  return Object.fromEntries(
    Object.entries(map)
      .filter(([name]) => name.startsWith(prefix))
      .map(([name, value]) => [name.slice(prefix.length), value]),
  )
}

export function curatedOf(map: DetailMap): Record<CuratedName, string | null> {
  const entries = Object.entries(CURATED).map(([name, key]) => [name, map[key] ?? null])
  // One entry for each curated name.
  return Object.fromEntries(entries) as Record<CuratedName, string | null>
}

export type DetailEdit = Pick<VmSettingsUpdate, 'details'> & {
  /** By the detail's name; null removes it. */
  set?: Readonly<Record<string, string | null>>
}

/** Curated edits by the names of the details. */
export function setOf(settings: VmSettingsUpdate['settings']): Record<string, string | null> {
  const set: Record<string, string | null> = {}
  for (const [name, key] of Object.entries(CURATED)) {
    const value = settings?.[name as CuratedName]
    if (value !== undefined) set[key] = value
  }
  return set
}

/** The whole map that must stand after the edit. `current` is what the platform shows now. */
export function intendedDetails(current: DetailMap, edit: DetailEdit): Record<string, string> {
  refuseForbidden(edit)
  const editable = editableDetails(current)
  const intended = new Map(Object.entries(edit.details ?? editable))
  for (const [name, value] of Object.entries(edit.set ?? {})) {
    if (value === null) intended.delete(name)
    else intended.set(name, value)
  }
  for (const name of COMPUTE) {
    const present = editable[name]
    const asked = edit.details?.[name]
    if (asked !== undefined && asked !== present)
      throw new ApiError('SETTING_FORBIDDEN', `${name} changes by /compute/vms/settings/compute alone.`)
    if (present !== undefined) intended.set(name, present)
  }
  return Object.fromEntries(intended)
}

function refuseForbidden({ details, set }: DetailEdit): void {
  for (const name of Object.keys({ ...details, ...set })) {
    if (isServersOwn(name)) throw new ApiError('SETTING_FORBIDDEN', `${name} is no detail that can be written here.`)
  }
}

/** Names that differ between two maps. */
export function differences(a: DetailMap, b: DetailMap): string[] {
  const names = new Set([...Object.keys(a), ...Object.keys(b)])
  return [...names].filter((name) => a[name] !== b[name]).toSorted()
}
