// What an area has made and changed on this node, stored before it is done: the one source of what may be removed again.
import { mkdir, readFile, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Static, type TObject, Type } from 'typebox'
import Value from 'typebox/value'
import { writeDurably } from '#src/kernel/durable-file.ts'
import { parseJson } from '../untrusted-json.ts'

export const RecordHead = Type.Object({
  hash: Type.String(),
  /** Contains secrets: the file is readable by root alone. */
  document: Type.Unknown(),
  applied_at: Type.Union([Type.String(), Type.Null()]),
})

export interface RecordFile<R> {
  readonly path: string
  read(): Promise<R | null>
  write(record: R): Promise<void>
  remove(): Promise<void>
}

export function recordFile<S extends TObject>(state_dir: string, area: string, schema: S): RecordFile<Static<S>> {
  const path = join(state_dir, 'desired', `${area}.json`)
  return {
    path,
    async read() {
      const value = parseJson(await readFile(path, 'utf8').catch(() => ''))
      return Value.Check(schema, value) ? value : null
    },
    async write(record) {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      await writeDurably(path, `${path}.new`, `${JSON.stringify(record)}\n`)
    },
    remove: () => rm(path, { force: true }),
  }
}
