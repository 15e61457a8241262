// The names that completion offers: asked from the service, and cached for a moment so that the next key press is quick.
import { createHash, randomUUID } from 'node:crypto'
import { mkdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { chooseTarget, connect } from './connection.ts'
import { isOffered, listedNames } from './name-list.ts'
import type { NameRow } from './name-rows.ts'
import type { RouteTable } from './names.ts'
import { textOf } from './records.ts'
import { printLine, type Terminal } from './terminal.ts'

const FRESH_MS = 30_000
/** Nobody waits longer for a list after pressing Tab. */
const TIMEOUT_MS = 3_000

interface Asked {
  terminal: Terminal
  version: string
  /** What is named, as the table of names calls it. */
  what: string
  /** Only asked for when the names are not known: reading the contract takes longer than all else. */
  load: () => Promise<{ routes: RouteTable; rows: readonly NameRow[] }>
}

/** Prints one name a line. A service that does not answer offers nothing: completion never complains. */
export async function completeNames(asked: Asked): Promise<void> {
  const names = await namesOf(asked).catch(() => [])
  for (const name of names) printLine(asked.terminal, name)
}

async function namesOf(asked: Asked): Promise<string[]> {
  const { env } = asked.terminal
  const target = await chooseTarget({}, env)
  const file = cacheFile(env, `${target.url.href} ${target.token ?? ''} ${asked.what}`)
  const cached = file === undefined ? undefined : await readCached(file)
  if (cached !== undefined) return cached
  const { routes, rows } = await asked.load()
  const row = rows.find(({ what }) => what === asked.what)
  const route = row === undefined ? undefined : routes.get(row.list)
  if (row === undefined || route === undefined || !isOffered(row)) return []
  const connection = await connect(target, asked.version, asked.terminal.interrupted)
  const names = await listedNames(connection, route, row, { timeout_ms: TIMEOUT_MS })
  // What would need quotes, or could be anything but a word, is left to the person who types.
  const words = names.filter((name) => /^[\w][\w.:@+-]*$/.test(name))
  if (file !== undefined) await store(file, words)
  return words
}

/** Named after the credential as well: what one caller may see, another one of the same account may not. */
function cacheFile(env: Terminal['env'], key: string): string | undefined {
  const base = textOf(env.XDG_CACHE_HOME) ?? (textOf(env.HOME) && join(env.HOME ?? '', '.cache'))
  if (base === undefined) return undefined
  return join(base, 'groundplane', 'names', `${createHash('sha256').update(key).digest('hex').slice(0, 32)}`)
}

async function readCached(file: string): Promise<string[] | undefined> {
  try {
    const { mtimeMs } = await stat(file)
    if (Math.abs(Date.now() - mtimeMs) > FRESH_MS) return undefined
    return (await readFile(file, 'utf8')).split('\n').filter((name) => name !== '')
  } catch {
    return undefined
  }
}

async function store(file: string, names: readonly string[]): Promise<void> {
  const draft = `${file}.${randomUUID()}`
  try {
    await mkdir(join(file, '..'), { recursive: true, mode: 0o700 })
    await writeFile(draft, names.join('\n'), { mode: 0o600, flag: 'wx' })
    await rename(draft, file)
  } catch {
    await rm(draft, { force: true })
  }
}
