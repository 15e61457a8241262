// The stored contexts: which services a person is signed in to, and which one is used when nothing else is said.
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { randomUUID } from 'node:crypto'
import { UsageError } from './failures.ts'
import { isRecord, textOf } from './records.ts'
import type { Terminal } from './terminal.ts'

export interface Context {
  url: string
  token: string
  /** PEM file of a CA to trust besides the usual ones. */
  ca_file?: string
}

export interface Contexts {
  current: string | undefined
  contexts: ReadonlyMap<string, Context>
}

export function contextsPath(env: Terminal['env']): string {
  const base = textOf(env.XDG_CONFIG_HOME) ?? (textOf(env.HOME) && join(env.HOME ?? '', '.config'))
  if (base === undefined) throw new UsageError('neither XDG_CONFIG_HOME nor HOME says where contexts are stored')
  return join(base, 'groundplane', 'contexts.json')
}

/** No file means no contexts. A file that others can read is refused: its tokens are no secret any more. */
export async function readContexts(path: string): Promise<Contexts> {
  const text = await readPrivate(path)
  if (text === undefined) return { current: undefined, contexts: new Map() }
  try {
    return parseContexts(JSON.parse(text))
  } catch (error) {
    throw new UsageError(`${path} is not a contexts file: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** The new file replaces the old one whole, so that a crash or a second program never leaves half of it. */
export async function writeContexts(path: string, { current, contexts }: Contexts): Promise<void> {
  const folder = dirname(path)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const draft = join(folder, `.contexts-${randomUUID()}.json`)
  const file = await open(draft, 'wx', 0o600)
  try {
    await file.writeFile(
      `${JSON.stringify({ current: current ?? null, contexts: Object.fromEntries(contexts) }, null, 2)}\n`,
    )
    await file.sync()
    await file.close()
    await rename(draft, path)
  } catch (error) {
    await file.close().catch(() => undefined)
    await rm(draft, { force: true })
    throw error
  }
}

async function readPrivate(path: string): Promise<string | undefined> {
  let file: Awaited<ReturnType<typeof open>>
  try {
    file = await open(path, 'r')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw new UsageError(`cannot read ${path}: ${error instanceof Error ? error.message : String(error)}`)
  }
  try {
    // The open file is asked, not the path: nothing can be exchanged between the question and the reading.
    const { mode } = await file.stat()
    if ((mode & 0o077) !== 0) {
      throw new UsageError(`${path} can be read by others; make it private first: chmod 600 ${path}`)
    }
    return await file.readFile('utf8')
  } finally {
    await file.close()
  }
}

function parseContexts(value: unknown): Contexts {
  if (!isRecord(value) || !isRecord(value.contexts)) throw new Error('"contexts" is missing')
  const contexts = new Map<string, Context>()
  for (const [name, entry] of Object.entries(value.contexts)) {
    const url = isRecord(entry) ? textOf(entry.url) : undefined
    const token = isRecord(entry) ? textOf(entry.token) : undefined
    if (!isRecord(entry) || url === undefined || token === undefined)
      throw new Error(`context ${name} lacks url or token`)
    const ca_file = textOf(entry.ca_file)
    contexts.set(name, { url, token, ...(ca_file === undefined ? {} : { ca_file }) })
  }
  return { current: textOf(value.current), contexts }
}
