// Reads the text of `zpool status -pPL` (version 2.1 has no JSON): one block for each pool, a table of devices inside.
import type { Pool } from '#src/contract/storage/host.ts'

export interface PoolStatus {
  name: string
  state: string
  /** Data errors that the pool knows of; null when it does not tell. */
  data_errors: number | null
  vdevs: StatusVdev[]
  has_cache: boolean
}

export interface StatusVdev {
  vdev: Pool['vdevs'][number]
  /** Devices have nothing below them; groups (mirror, raidz, replacing, spare) do. */
  leaf: boolean
  /** Directly below the pool and not in a group: nothing replaces it when it fails. */
  unprotected: boolean
  section: 'data' | 'logs' | 'cache' | 'spares' | 'special' | 'dedup'
  /** Path that a missing device had. */
  was: string | null
}

const SECTIONS = ['logs', 'cache', 'spares', 'special', 'dedup'] as const
const DEVICE_STATES = /^(ONLINE|DEGRADED|FAULTED|OFFLINE|REMOVED|UNAVAIL|AVAIL|INUSE|SUSPENDED)$/

export function parsePoolStatus(text: string): PoolStatus[] {
  return text
    .split(/^(?=\s*pool: )/m)
    .filter((block) => /^\s*pool: /.test(block))
    .map(parseBlock)
}

function parseBlock(block: string): PoolStatus {
  const value = (key: string): string | null => new RegExp(`^\\s*${key}: (.*)$`, 'm').exec(block)?.[1]?.trim() ?? null
  const scan = value('scan')
  const resilver_errors = Number(/resilvered .* with (\d+) errors/.exec(scan ?? '')?.[1] ?? 0)
  const { vdevs, has_cache } = parseTable(block, resilver_errors)
  return {
    name: value('pool') ?? '',
    state: value('state') ?? 'UNAVAIL',
    data_errors: dataErrors(block),
    vdevs,
    has_cache,
  }
}

function dataErrors(block: string): number | null {
  const [, first, rest] = /^errors: (.*)$([\s\S]*)/m.exec(block) ?? []
  if (first === undefined) return null
  if (first.startsWith('No known data errors')) return 0
  const count = /^(\d+) data errors/.exec(first)?.[1]
  if (count !== undefined) return Number(count)
  if (!first.startsWith('Permanent errors')) return null
  return (rest ?? '').split('\n').filter((line) => line.trim() !== '').length
}

interface Row {
  depth: number
  words: string[]
}

function parseTable(block: string, resilver_errors: number): { vdevs: StatusVdev[]; has_cache: boolean } {
  const body = /^config:\s*$([\s\S]*?)(?=^errors:|(?![\s\S]))/m.exec(block)?.[1] ?? ''
  // The pool's own row and the section headings stand at depth 0, their members below.
  const rows = body.split('\n').flatMap((line): Row[] => {
    const [, indent, text] = /^\t( *)(\S.*)$/.exec(line) ?? []
    if (indent === undefined || text === undefined || text.startsWith('NAME ')) return []
    return [{ depth: indent.length / 2, words: text.trim().split(/\s+/) }]
  })
  const vdevs: StatusVdev[] = []
  let section: StatusVdev['section'] = 'data'
  for (const [index, row] of rows.entries()) {
    const name = row.words[0] ?? ''
    if (row.depth === 0) section = SECTIONS.find((one) => one === name) ?? 'data'
    else vdevs.push(vdevOf(row, section, (rows[index + 1]?.depth ?? 0) <= row.depth, resilver_errors))
  }
  return { vdevs, has_cache: vdevs.some((one) => one.section === 'cache') }
}

function vdevOf(row: Row, section: StatusVdev['section'], leaf: boolean, resilver_errors: number): StatusVdev {
  const [name = '', state = '', ...rest] = row.words
  const [read, write, checksum] = rest.slice(0, 3).map(errorCount)
  // Spares have a state and no counters.
  const counted = typeof read === 'number' && typeof write === 'number' && typeof checksum === 'number'
  const was = rest.indexOf('was')
  return {
    vdev: {
      name,
      state: DEVICE_STATES.test(state) ? state : 'UNAVAIL',
      read_errors: read ?? null,
      write_errors: write ?? null,
      checksum_errors: checksum ?? null,
      total_errors: counted ? read + write + checksum : null,
      resilver_errors,
    },
    leaf,
    unprotected: leaf && row.depth === 1 && section === 'data',
    section,
    was: was === -1 ? null : (rest[was + 1] ?? null),
  }
}

/** Exact with -p; without it large counts are rounded and carry a suffix. */
function errorCount(word: string): number | null {
  const [, number, suffix] = /^(\d+(?:\.\d+)?)([KMG]?)$/.exec(word) ?? []
  if (number === undefined) return null
  return Math.round(Number(number) * ({ K: 1e3, M: 1e6, G: 1e9 }[suffix ?? ''] ?? 1))
}
