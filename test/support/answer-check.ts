// After a full run: every answer that the contract documents must have been given by some server of the tests, and every
// error code that the source can throw must have reached a caller. Run by scripts/run-tests with the folder of the records.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ERRORS } from '#src/contract/errors.ts'
import { areas } from '#src/contract/index.ts'
import { UNSEEN_ANSWERS, UNSEEN_CODES } from './unseen-answers.ts'

const SOURCE = join(import.meta.dirname, '../../src')
/** An answer by accident: the server was about to stop. */
const ACCIDENTAL = new Set(['SHUTTING_DOWN'])

export interface Seen {
  /** `operation status` */
  pairs: ReadonlySet<string>
  codes: ReadonlySet<string>
}

/** Lines of answer-recorder.ts: `operation status code`. */
export function readRecords(folder: string): Seen {
  const pairs = new Set<string>()
  const codes = new Set<string>()
  for (const file of readdirSync(folder)) {
    for (const line of readFileSync(join(folder, file), 'utf8').split('\n')) {
      const [operation, status, code = '-'] = line.split(' ')
      if (operation === undefined || status === undefined) continue
      codes.add(code)
      if (!ACCIDENTAL.has(code)) pairs.add(`${operation} ${status}`)
    }
  }
  return { pairs, codes }
}

/** What the contract documents: every success, and every error status that a route lists. */
export function documentedPairs(): string[] {
  return areas.flatMap((area) =>
    Object.entries(area.routes).flatMap(([operation, route]) =>
      [...Object.keys(route.ok).map(Number), ...route.errors].map((status) => `${operation} ${status}`),
    ),
  )
}

/** Codes of the error table that stand in the source outside of it. */
export function thrownCodes(): string[] {
  const named = new Set<string>()
  for (const path of readdirSync(SOURCE, { recursive: true, encoding: 'utf8' })) {
    if (!path.endsWith('.ts') || path.endsWith('.test.ts') || path.startsWith('contract')) continue
    const text = readFileSync(join(SOURCE, path), 'utf8')
    for (const [, word = ''] of text.matchAll(/'([A-Z][A-Z_]+)'/g)) if (word in ERRORS) named.add(word)
  }
  // A mistake of ours: no test can order one.
  named.delete('INTERNAL_ERROR')
  return [...named].toSorted()
}

export function exceptedPairs(): string[] {
  return UNSEEN_ANSWERS.flatMap(({ status, operations }) => operations.map((operation) => `${operation} ${status}`))
}

export interface Gaps {
  pairs: string[]
  codes: string[]
  /** Exceptions that a test saw after all. */
  needless: string[]
}

export function gaps(seen: Seen): Gaps {
  const excepted = new Set(exceptedPairs())
  const excepted_codes = new Set<string>(UNSEEN_CODES.flatMap(({ codes }) => codes))
  return {
    pairs: documentedPairs().filter((pair) => !seen.pairs.has(pair) && !excepted.has(pair)),
    codes: thrownCodes().filter((code) => !seen.codes.has(code) && !excepted_codes.has(code)),
    needless: [
      ...[...excepted].filter((pair) => seen.pairs.has(pair)),
      ...[...excepted_codes].filter((code) => seen.codes.has(code)),
    ],
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) report(process.argv[2] ?? '')

function report(folder: string): void {
  const { pairs, codes, needless } = gaps(readRecords(folder))
  const list = (title: string, lines: string[]): void => {
    if (lines.length > 0) console.error(`${title}\n${lines.map((line) => `  ${line}`).join('\n')}`)
  }
  list('exceptions of test/support/unseen-answers.ts that a test saw; take them out:', needless)
  list('documented answers that no test saw (operation, status):', pairs)
  list('error codes of the source that no test saw:', codes)
  if (pairs.length + codes.length > 0) {
    console.error('answers: write the missing tests, or say in test/support/unseen-answers.ts why there can be none')
    process.exitCode = 1
    return
  }
  console.log(`answers: all ${documentedPairs().length} documented answers seen, ${exceptedPairs().length} excepted`)
}
