// Lines of record sets that somebody switched off on the server: before 4.9 an answer for single names leaves them out, and a
// set that is written without them loses them. Only an answer for a whole zone shows them, so they are remembered from there.
import { bare, keyOf, type RecordSet } from './record-form.ts'

export interface ZoneSets {
  serial: number
  sets: readonly RecordSet[]
}

interface Remembered {
  /** As our last change left it. */
  serial: number
  size: number
  off: Map<string, RecordSet>
}

/** Larger ones take too long to read again whenever another replica has changed them. */
const MOST_SETS = 5000

export interface LinesOff {
  /** The sets of these names with their lines that are off. */
  with(zone: string, now: ZoneSets, names: ReadonlySet<string>): Promise<RecordSet[]>
  /** After a change of ours, which raised the serial by one. */
  changed(zone: string, serial: number, sets: readonly RecordSet[]): void
}

export function createLinesOff(readWhole: (zone: string) => Promise<ZoneSets>): LinesOff {
  const zones = new Map<string, Remembered>()
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
      const { off } = await current(zone, serial)
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
      known.serial = serial + 1
    },
  }
}

/** The start of authority alone is switched off by this service, and read where that matters. */
function linesOff(set: RecordSet): RecordSet {
  return { ...set, records: set.type === 'SOA' ? [] : set.records.filter((line) => line.disabled === true) }
}

function joined(set: RecordSet, off: RecordSet | undefined): RecordSet {
  const known = new Set(set.records.map((line) => line.content))
  return { ...set, records: [...set.records, ...(off?.records ?? []).filter((line) => !known.has(line.content))] }
}
