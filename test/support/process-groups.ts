// `node process-groups.ts FOLDER FILE…`: prints what a full run starts instead of the test files, one path a line. Most files
// share a process with their neighbours, because loading the product and warming it up takes longer than most of their tests.
import { writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'

/** Loading is paid once by so many files; more would leave the second processor without work at the end. */
const FILES_MOST = 8
/** For all tests of a file together, where `--test-timeout` is for one. */
const FILE_MS = 600_000

/** They measure the process that they run in. */
const ALONE: ReadonlySet<string> = new Set([
  // its memory
  'test/api/cameras-events.test.ts',
  // its open servers
  'test/system/lab-failed-start.test.ts',
])

const [folder = '', ...given] = process.argv.slice(2)
const root = join(import.meta.dirname, '../..')
const files = given.map((file) => relative(root, file))
const together = files.filter((file) => !ALONE.has(file))

for (let first = 0; first < together.length; first += FILES_MOST) {
  const name = String(first / FILES_MOST + 1).padStart(2, '0')
  const path = join(folder, `group-${name}.test.mjs`)
  writeFileSync(path, programOf(together.slice(first, first + FILES_MOST)))
  console.log(path)
}
for (const file of files) if (ALONE.has(file)) console.log(file)

/** Each file is a suite, so that what it starts before its tests ends before the tests of the next file. */
function programOf(group: readonly string[]): string {
  const suites = group.map((file) => {
    const url = new URL(`../../${file}`, import.meta.url).href
    return `suite('${file}', { timeout: ${FILE_MS} }, () => import('${url}'))\n`
  })
  return ["import { suite } from 'node:test'\n", ...suites].join('')
}
