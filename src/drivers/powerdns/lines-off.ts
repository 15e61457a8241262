// Lines of record sets that somebody disabled on the server: before 4.9 an answer for single names leaves them out, and a set
// that is written without them loses them. An answer for a whole zone shows them, so they are remembered from there. A search
// shows them too, but looks through every record of the server, which is a large part of the time that a change may take.
import { type Static, Type } from 'typebox'
import { bare, keyOf, type RecordSet } from './record-form.ts'

export const FoundLines = Type.Array(
  Type.Object({
    zone: Type.String(),
    name: Type.String(),
    type: Type.String(),
    ttl: Type.Integer(),
    content: Type.String(),
    disabled: Type.Optional(Type.Boolean()),
  }),
)
export type FoundLines = Static<typeof FoundLines>

export interface ZoneSets {
  serial: number
  sets: readonly RecordSet[]
}

interface Remembered {
  /** As our last change left it; it stays behind when somebody else has changed the zone. */
  serial: number
  size: number
  off: Map<string, RecordSet>
}

/** Larger ones take too long to read again when somebody else has changed them: from then on the names of a change are searched. */
const MOST_SETS = 5000

export interface LinesOff {
  /** The sets of these names with their lines that are off. */
  with(zone: string, now: ZoneSets, names: ReadonlySet<string>): Promise<RecordSet[]>
  /** After a change of ours, which raised the serial by one. */
  changed(zone: string, serial: number, sets: readonly RecordSet[]): void
}

interface Reading {
  whole(zone: string): Promise<ZoneSets>
  search(query: Record<string, string>): Promise<FoundLines>
}

/** Content that says the name is found too, in every zone: name servers and mail hosts are named often. */
const MOST_FOUND = 1_000_000

export function createLinesOff({ whole: readWhole, search }: Reading): LinesOff {
  const zones = new Map<string, Remembered>()
  const searched = async (zone: string, name: string): Promise<RecordSet[]> => {
    // `*` stands for any text there and `?` for one character, which a `*` is.
    const lines = await search({ q: name.replaceAll('*', '?'), object_type: 'record', max: String(MOST_FOUND) })
    const own = lines.filter((line) => bare(line.zone) === zone && bare(line.name) === name && line.disabled === true)
    const sets = new Map<string, RecordSet>()
    for (const { content, ttl, type, name: full } of own) {
      const set = sets.get(keyOf({ name: full, type })) ?? { name: full, type, ttl, records: [] }
      sets.set(keyOf(set), { ...set, records: [...set.records, { content, disabled: true }] })
    }
    return [...sets.values()]
  }
  const searchedAll = async (zone: string, names: ReadonlySet<string>): Promise<RecordSet[]> =>
    (await Promise.all([...names].map((name) => searched(zone, name)))).flat()
  const current = async (zone: string, serial: number): Promise<Remembered> => {
    const known = zones.get(zone)
    if (known !== undefined && (known.serial === serial || known.size > MOST_SETS)) return known
    const whole = await readWhole(zone)
    const off = whole.sets.map(linesOff).filter((set) => set.records.length > 0)
    const next = { serial: whole.serial, size: whole.sets.length, off: new Map(off.map((set) => [keyOf(set), set])) }
    zones.set(zone, next)
    return next
  }
  return {
    async with(zone, { serial, sets }, names) {
      const known = await current(zone, serial)
      const found = known.serial === serial ? [...known.off.values()] : await searchedAll(zone, names)
      const off = new Map(found.map((set) => [keyOf(set), set]))
      const there = new Set(sets.map(keyOf))
      const others = [...off.values()].filter((set) => names.has(bare(set.name)) && !there.has(keyOf(set)))
      return [...sets.map((set) => joined(set, off.get(keyOf(set)))), ...others]
    },
    changed(zone, serial, sets) {
      const known = zones.get(zone)
      if (known === undefined) return
      for (const set of sets) {
        const left = linesOff(set)
        if (left.records.length === 0) known.off.delete(keyOf(set))
        else known.off.set(keyOf(set), left)
      }
      if (known.serial === serial) known.serial = serial + 1
    },
  }
}

/** The start of authority alone is disabled by this service, and read where that matters. */
function linesOff(set: RecordSet): RecordSet {
  return { ...set, records: set.type === 'SOA' ? [] : set.records.filter((line) => line.disabled === true) }
}

function joined(set: RecordSet, off: RecordSet | undefined): RecordSet {
  const known = new Set(set.records.map((line) => line.content))
  return { ...set, records: [...set.records, ...(off?.records ?? []).filter((line) => !known.has(line.content))] }
}
