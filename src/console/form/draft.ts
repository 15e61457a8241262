// What somebody has typed into a form and not sent: a reload of the tab brings it back, and leaving the form drops it.
import { useEffect, useState } from 'react'
import { objectFields } from '../api/contract.ts'
import type { Schema } from '../api/contract-types.ts'
import type { Texts } from './values.ts'

export interface Draft<T> {
  typed: T
  /** The same form that is sent again after a lost answer is the same change. */
  key: string
}

export interface StoredDraft<T> {
  /** What was there when the form was opened. */
  before: Draft<T> | undefined
  store(draft: Draft<T>): void
  drop(): void
}

const PLACE = 'draft '

/** One form at an address: that of `username`, and nobody else's. */
export function useDraft<T>(username: string): StoredDraft<T> {
  const [place] = useState(() => `${PLACE}${location.pathname}${location.search}`)
  const [before] = useState(() => read<T>(place, username))
  const drop = (): void => sessionStorage.removeItem(place)
  // A reload ends the page without this.
  useEffect(() => drop, [place])
  const store = (draft: Draft<T>): void => {
    try {
      sessionStorage.setItem(place, JSON.stringify({ username, ...draft }))
    } catch {
      // The store is full: a reload brings back what was there before.
    }
  }
  return { before, drop, store }
}

function read<T>(place: string, username: string): Draft<T> | undefined {
  const draft = JSON.parse(sessionStorage.getItem(place) ?? 'null') as (Draft<T> & { username: string }) | null
  if (draft?.username === username) return draft
  sessionStorage.removeItem(place)
  return undefined
}

/** Nothing of a session stays behind it. */
export function dropDrafts(): void {
  for (const place of Object.keys(sessionStorage)) if (place.startsWith(PLACE)) sessionStorage.removeItem(place)
}

/** A store of the browser never has a secret, nor JSON that can have one in it. */
export function withoutSecrets(schema: Schema | null | undefined, texts: Texts): Texts {
  const fields = objectFields(schema)
  const may_be_stored = (name: string): boolean => {
    const field = fields === null ? schema : fields[name]
    return field !== undefined && field !== null && !JSON.stringify(field).includes('"x-secret":true')
  }
  return Object.fromEntries(Object.entries(texts).filter(([name]) => may_be_stored(name)))
}
