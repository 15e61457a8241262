// The attribute registry of a BIOS: what each attribute is called, which values it takes, and when it cannot be changed.
import { type Bmc, membersOf, optional } from './bmc.ts'
import type { ReadOptions } from './client.ts'
import { type Document, documentAt, flagAt, linkAt, listAt, localPath, numberAt, textAt } from './document.ts'

export interface RegistryAttribute {
  name: string
  display_name: string
  description: string
  type: string
  values: string[]
  read_only: boolean
  hidden: boolean
  lower_bound: number | null
  upper_bound: number | null
  increment: number | null
  min_length: number | null
  max_length: number | null
  pattern: string | null
  menu_path: string
}

export interface BiosRegistry {
  id: string
  attributes: ReadonlyMap<string, RegistryAttribute>
  dependencies: readonly Dependency[]
}

interface Dependency {
  /** Attribute that becomes so. */
  attribute: string
  member: string
  value: unknown
  conditions: readonly { attribute: string; member: string; condition: string; value: unknown; term: string | null }[]
}

const TIMEOUT_MS = 120_000

/** Null: this BMC has none that fits, so nothing is known about values. Registries are large: one read is enough for a graph. */
export async function readBiosRegistry(
  bmc: Bmc,
  bios: Document,
  bios_path: string,
  options: ReadOptions,
): Promise<BiosRegistry | null> {
  const wanted = textAt(bios, 'AttributeRegistry')
  if (wanted === null) return null
  const { root } = await bmc.graph(options)
  const read = { ...options, timeout_ms: TIMEOUT_MS }
  for (const path of await candidates(bmc, linkAt(root, 'Registries'), wanted, read)) {
    const document = await optional(bmc.client, path, read)
    const attributes = listAt(document, 'RegistryEntries', 'Attributes')
    if (attributes.length > 0) return registryOf(textAt(document, 'Id') ?? wanted, document, attributes)
  }
  const vendor = await optional(bmc.client, `${bios_path}/BiosRegistry`, read)
  const attributes = listAt(vendor, 'RegistryEntries', 'Attributes')
  return attributes.length === 0 ? null : registryOf(textAt(vendor, 'Id') ?? wanted, vendor, attributes)
}

/** Paths of registry documents, the one most likely to be meant first: the names in the two places often differ. */
async function candidates(bmc: Bmc, collection: string | null, wanted: string, read: ReadOptions): Promise<string[]> {
  const members = await membersOf(bmc.client, collection, read).catch(() => [])
  const bare = wanted.replace(/\.v?\d+[._]\d+.*$/, '')
  const rank = (path: string): number => {
    const id = path.split('/').at(-1) ?? ''
    if (id === wanted) return 0
    if (id.startsWith(bare)) return 1
    return id.startsWith('BiosAttributeRegistry') ? 2 : 9
  }
  const fitting = members.filter((path) => rank(path) < 9).toSorted((a, b) => rank(a) - rank(b))
  const files: string[] = []
  for (const path of fitting) {
    const location = listAt(await optional(bmc.client, path, read), 'Location')
    const english = location.filter((one) => (textAt(one, 'Language') ?? 'en').toLowerCase().startsWith('en'))
    for (const one of english) {
      const uri = localPath(one.Uri) ?? linkAt(one, 'Uri')
      if (uri !== null) files.push(uri)
    }
  }
  return files
}

function registryOf(id: string, document: Document, attributes: readonly Document[]): BiosRegistry {
  const rows = attributes.flatMap((entry) => {
    const name = textAt(entry, 'AttributeName')
    return name === null ? [] : [[name, attributeOf(name, entry)] as const]
  })
  return {
    id,
    attributes: new Map(rows),
    dependencies: listAt(document, 'RegistryEntries', 'Dependencies').flatMap(dependencyOf),
  }
}

function attributeOf(name: string, entry: Document): RegistryAttribute {
  const type = textAt(entry, 'Type') ?? 'unknown'
  const listed = listAt(entry, 'Value').flatMap((value) => textAt(value, 'ValueName') ?? [])
  return {
    name,
    display_name: textAt(entry, 'DisplayName') ?? name,
    description: [textAt(entry, 'HelpText'), textAt(entry, 'WarningText')].filter((text) => text !== null).join(' '),
    type,
    values: type === 'Enumeration' ? listed : type === 'Boolean' ? ['true', 'false'] : [],
    read_only: flagAt(entry, 'ReadOnly') ?? false,
    hidden: flagAt(entry, 'Hidden') ?? false,
    lower_bound: numberAt(entry, 'LowerBound'),
    upper_bound: numberAt(entry, 'UpperBound'),
    increment: numberAt(entry, 'ScalarIncrement'),
    min_length: numberAt(entry, 'MinLength'),
    max_length: numberAt(entry, 'MaxLength'),
    pattern: textAt(entry, 'ValueExpression'),
    menu_path: textAt(entry, 'MenuPath') ?? '',
  }
}

function dependencyOf(entry: Document): Dependency[] {
  const dependency = documentAt(entry, 'Dependency')
  const attribute = textAt(dependency, 'MapToAttribute')
  const member = textAt(dependency, 'MapToProperty')
  if (attribute === null || member === null) return []
  const conditions = listAt(dependency, 'MapFrom').map((one) => ({
    attribute: textAt(one, 'MapFromAttribute') ?? '',
    member: textAt(one, 'MapFromProperty') ?? 'CurrentValue',
    condition: textAt(one, 'MapFromCondition') ?? 'EQU',
    value: one.MapFromValue,
    term: textAt(one, 'MapTerms'),
  }))
  return [{ attribute, member, value: dependency.MapToValue, conditions }]
}

/** What the attribute is with these values of the others: read-only and hidden may depend on them. */
export function attributeWith(registry: BiosRegistry, name: string, values: Document): RegistryAttribute | undefined {
  const attribute = registry.attributes.get(name)
  if (attribute === undefined) return undefined
  let { read_only, hidden } = attribute
  for (const { member, value, conditions } of registry.dependencies.filter((one) => one.attribute === name)) {
    if (!isMet(conditions, values)) continue
    if (member === 'ReadOnly' || member === 'GrayOut') read_only = value === true
    if (member === 'Hidden') hidden = value === true
  }
  return { ...attribute, read_only, hidden }
}

function isMet(conditions: Dependency['conditions'], values: Document): boolean {
  return (
    conditions.reduce<boolean | undefined>((met, { attribute, member, condition, value, term }) => {
      const one = member === 'CurrentValue' && compare(condition, values[attribute], value)
      if (met === undefined) return one
      return term === 'OR' ? met || one : met && one
    }, undefined) === true
  )
}

function compare(condition: string, actual: unknown, wanted: unknown): boolean {
  switch (condition) {
    case 'EQU':
      return actual === wanted
    case 'NEQ':
      return actual !== wanted
    case 'GTR':
      return Number(actual) > Number(wanted)
    case 'GEQ':
      return Number(actual) >= Number(wanted)
    case 'LSS':
      return Number(actual) < Number(wanted)
    case 'LEQ':
      return Number(actual) <= Number(wanted)
    default:
      return false
  }
}
