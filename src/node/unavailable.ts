// Collects why fields of an answer are null while it is put together.
import type { Unavailable } from '#src/contract/common.ts'
import type { Reading } from './net/reading.ts'

export interface UnavailableFields {
  readonly list: Unavailable[]
  /** Notes the reason and gives null, to be used as the field's value. */
  none(field: string, reason: string): null
  /** The value, or null with its reason noted. */
  take<T>(field: string, reading: Reading<T>): T | null
  /** The value, or null with this reason noted. */
  orNull<T>(field: string, value: T | null | undefined, reason: string): T | null
}

export function unavailableFields(): UnavailableFields {
  const list: Unavailable[] = []
  const none = (field: string, reason: string): null => {
    list.push({ field, reason })
    return null
  }
  return {
    list,
    none,
    take: (field, reading) => (reading.ok ? reading.value : none(field, reading.reason)),
    orNull: (field, value, reason) => (value === null || value === undefined ? none(field, reason) : value),
  }
}
