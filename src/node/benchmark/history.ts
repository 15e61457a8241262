// Results of benchmarks, kept as files of the agent: bounded, written whole or not at all.
import { mkdir, open, readdir, readFile, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import Value from 'typebox/value'
import { BenchmarkResult } from '#src/contract/storage/benchmark.ts'

export interface BenchmarkFilter {
  type?: BenchmarkResult['type']
  status?: BenchmarkResult['status']
  target?: string
  page: number
  page_size: number
}

export interface BenchmarkStore {
  save(result: BenchmarkResult): Promise<void>
  /** Newest first, raw_output left empty; `count` is over all pages. */
  list(filter: BenchmarkFilter): Promise<{ results: BenchmarkResult[]; count: number }>
  byId(id: string): Promise<BenchmarkResult | null>
}

const MOST_RESULTS = 200
const NAME = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\.json$/

export async function createFileHistory(folder: string, limit = MOST_RESULTS): Promise<BenchmarkStore> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const index = new Map<string, BenchmarkResult>()
  for (const name of await readdir(folder)) {
    const result = NAME.test(name) ? await readResult(join(folder, name)) : null
    if (result !== null) index.set(result.id, { ...result, raw_output: '' })
  }
  const write = async (result: BenchmarkResult): Promise<void> => {
    if (!NAME.test(`${result.id}.json`)) throw new Error('a result is stored under a UUID')
    await writeWhole(join(folder, `${result.id}.json`), JSON.stringify(result))
    index.set(result.id, { ...result, raw_output: '' })
    for (const old of newestFirst(index).slice(limit)) {
      if (old.status === 'running') continue
      index.delete(old.id)
      await unlink(join(folder, `${old.id}.json`)).catch(() => {})
    }
  }
  let last: Promise<void> = Promise.resolve()
  return {
    // One after another: a short run ends while its beginning is still being written.
    save(result) {
      const saved = last.then(() => write(result))
      last = saved.catch(() => {})
      return saved
    },
    list({ type, status, target, page, page_size }) {
      const results = newestFirst(index).filter(
        (result) =>
          (type === undefined || result.type === type) &&
          (status === undefined || result.status === status) &&
          (target === undefined || result.target === target),
      )
      const from = (page - 1) * page_size
      return Promise.resolve({ results: results.slice(from, from + page_size), count: results.length })
    },
    byId: async (id) => (index.has(id) ? readResult(join(folder, `${id}.json`)) : null),
  }
}

function newestFirst(index: ReadonlyMap<string, BenchmarkResult>): BenchmarkResult[] {
  return [...index.values()].sort((a, b) => (a.started_at < b.started_at ? 1 : -1))
}

async function readResult(path: string): Promise<BenchmarkResult | null> {
  try {
    const value: unknown = JSON.parse(await readFile(path, 'utf8'))
    return Value.Check(BenchmarkResult, value) ? value : null
  } catch {
    return null
  }
}

async function writeWhole(path: string, text: string): Promise<void> {
  const file = await open(`${path}.new`, 'w', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(`${path}.new`, path)
}
