// `node process-groups.ts FOLDER FILE…`: prints what a full run starts instead of the test files, one path a line, the longest
// first. Each of the peers has a process of its own. Of the others neighbours share one, because loading the product and
// warming it up takes longer than most of their tests.
import { writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { SECONDS, SHORT_S } from './file-seconds.ts'

/** Loading is paid once by files that take so long together; more would leave the second processor without work at the end. */
const SECONDS_MOST = 50
/** For all tests of a file together, where `--test-timeout` is for one. */
const FILE_MS = 900_000

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

const groups: (readonly string[])[] = []
let neighbours: string[] = []
for (const file of files) {
  if (ALONE.has(file) || file.startsWith('test/peers/') || secondsOf([file]) > SECONDS_MOST / 2) groups.push([file])
  else if (secondsOf([...neighbours, file]) <= SECONDS_MOST) neighbours.push(file)
  else {
    groups.push(neighbours)
    neighbours = [file]
  }
}
if (neighbours.length > 0) groups.push(neighbours)
for (const [index, group] of groups.toSorted((one, other) => secondsOf(other) - secondsOf(one)).entries()) {
  // The runner goes by the name.
  const path = join(folder, `group-${String(index + 1).padStart(2, '0')}.test.mjs`)
  writeFileSync(path, programOf(group))
  console.log(path)
}

function secondsOf(group: readonly string[]): number {
  return group.reduce((seconds, file) => seconds + (SECONDS[file] ?? SHORT_S), 0)
}

/**
 * Each file is a suite, so that what it starts before its tests ends before the tests of the next file. The first suite starts
 * when all files are loaded.
 */
function programOf(group: readonly string[]): string {
  const suites = group.map((file) => {
    const url = new URL(`../../${file}`, import.meta.url).href
    return `suite('${file}', { timeout: ${FILE_MS} }, () => (before(followNoPromises), import('${url}')))\n`
  })
  const light = new URL('light-runner.ts', import.meta.url).href
  return [
    "import { before, suite } from 'node:test'\n",
    `import { followNoPromises } from '${light}'\n`,
    ...suites,
  ].join('')
}
