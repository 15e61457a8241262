// What the contract can do with a row of a list: operations of its area whose ids the row has, so that a new one is there by itself.
import { operations, operationRow } from '../api/contract.ts'
import type { ThingOperation } from '../form/operation-form.tsx'
import type { Texts } from '../form/values.ts'
import { nameOf, type Row } from '../lists/columns.tsx'

/** What removes or empties a thing wants its name typed. */
const LOSES = /(Delete|Release|Revoke|Remove|Destroy|End)$/

export function rowOperations(list_operation: string, row: Row): ThingOperation[] {
  const { area, list } = operationRow(list_operation)
  const own = (list ?? '').replace(/s$/, '')
  return Object.entries(operations).flatMap(([operation, { ids, area: its_area, summary }]) => {
    if (its_area !== area || ids.length === 0 || !isAbout(operation, list_operation, area)) return []
    const given = ids.map((name) => [name, textFor(name, row, own)] as const)
    if (given.some(([, text]) => text === undefined)) return []
    return [
      {
        operation,
        label: summary,
        given: Object.fromEntries(given) as Texts,
        filled: filledFrom(row),
        confirm: LOSES.test(operation) ? nameOf(row) : undefined,
      },
    ]
  })
}

/** What needs none of the rows: to make a new one, for one. */
export function listOperations(list_operation: string): ThingOperation[] {
  const { area } = operationRow(list_operation)
  return Object.entries(operations)
    .filter(([, row]) => row.area === area && row.effect === 'change' && row.ids.length === 0)
    .filter(([operation]) => ownerOf(operation, area) === list_operation)
    .map(([operation]) => ({ operation }))
}

/** `dhcpReservationDelete` is about reservations, and not about the leases whose address it could name. */
function isAbout(operation: string, list_operation: string, area: string): boolean {
  const owner = ownerOf(operation, area)
  return owner === undefined || owner === list_operation
}

/** The list of the area whose noun the name of the operation begins with. */
function ownerOf(operation: string, area: string): string | undefined {
  const lists = Object.entries(operations).flatMap(([name, row]) =>
    row.area === area && row.list !== null ? [name] : [],
  )
  return lists
    .filter((list) => operation.startsWith(list.replace(/List$/, '')))
    .toSorted((one, other) => other.length - one.length)[0]
}

/** `zone_name` of a record is its `zone`, `scope_name` of a scope its `name`, `mac_address` the `mac`. */
function textFor(name: string, row: Row, own: string): string | undefined {
  const short = name.replace(/_(id|name|address)$/, '')
  const is_own = name === 'id' || short === own || own.endsWith(`_${short}`)
  const value = row[name] ?? (is_own ? (name.endsWith('_name') ? row.name : row.id) : undefined) ?? row[short]
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
}

/** The form starts with what the row says where the two use one name: the scope of a lease, for one. */
function filledFrom(row: Row): Texts {
  const plain = Object.entries(row).filter(([, value]) => typeof value === 'string' && value !== '') as [
    string,
    string,
  ][]
  return Object.fromEntries(
    plain.flatMap(([name, text]) => [
      [name, text],
      [`${name}_name`, text],
    ]),
  )
}
