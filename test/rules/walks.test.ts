// An operation is found by its name, and read from its route to its effect and back in few files.
//
// How files are counted: those that a reader opens one after the other, from the entry of the contract to the call of the other
// system and back to the answer. Each imports an earlier one or is imported by it. Schemas, SQL, parsers and helpers whose name
// says what they do are not counted.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'

const FILES_MOST = 12

interface Walk {
  operation: string
  /** Files in reading order, each with what to look for in it. */
  steps: { file: string; word: string }[]
  test: string
}

/** Those that CONTRIBUTING.md shows. */
const shown: Walk[] = [
  ...readFileSync('CONTRIBUTING.md', 'utf8').matchAll(/^`(\w+)`, .*\n\n((?:\d+\. .*\n)+)\nTest: `(.+)`$/gm),
].map(([, operation = '', lines = '', file = '']) => ({
  operation,
  steps: [...lines.matchAll(/^\d+\. `([^`]+)` `([^`]+)`/gm)].map(([, path = '', word = '']) => ({ file: path, word })),
  test: file,
}))

const tenantCreate: Walk = {
  operation: 'tenantCreate',
  steps: [
    { file: 'src/contract/tenants.ts', word: 'tenantCreate:' },
    { file: 'src/modules/tenants/index.ts', word: 'tenantCreate: tenantCreate(deps)' },
    { file: 'bin/modules.ts', word: 'mountModules' },
    { file: 'src/kernel/http/mount.ts', word: 'mountArea' },
    { file: 'src/modules/tenants/create.ts', word: 'tenantCreate(deps' },
    { file: 'src/jobs/answer.ts', word: 'acceptedJob' },
    { file: 'src/modules/tenants/create.job.ts', word: 'tenantCreateJob' },
    { file: 'src/jobs/engine.ts', word: 'admit' },
    { file: 'src/jobs/runner.ts', word: 'runJob' },
    { file: 'src/jobs/submit-once.ts', word: 'submitOnce' },
    { file: 'src/drivers/cloudstack/platform-change.ts', word: 'platformChange' },
    { file: 'src/drivers/cloudstack/client.ts', word: 'createCloudStack' },
  ],
  test: 'test/jobs/tenant-create.test.ts',
}

const eventStream: Walk = {
  operation: 'eventStream',
  steps: [
    { file: 'src/contract/app-events.ts', word: 'eventStream:' },
    { file: 'src/modules/events/index.ts', word: 'eventHandlers' },
    { file: 'bin/modules.ts', word: 'mountModules' },
    { file: 'src/kernel/http/mount.ts', word: 'mountArea' },
    { file: 'src/modules/events/handlers.ts', word: 'eventStream(' },
    { file: 'src/store/event-scope.ts', word: 'isInEventScope' },
    { file: 'src/store/stream.ts', word: 'createStream' },
    { file: 'src/store/database.ts', word: 'STREAM_NOTIFY' },
    { file: 'src/store/listener.ts', word: 'createListener' },
    { file: 'src/kernel/http/sse.ts', word: 'sseFrame' },
  ],
  test: 'test/api/events.test.ts',
}

const walks = [...shown, tenantCreate, eventStream]
const textOf = (file: string): string => readFileSync(file, 'utf8')

test('three walks are shown, and five operations are held', () => {
  assert.equal(shown.length, 3)
  assert.deepEqual(walks.map(({ operation }) => operation).sort(), [
    'eventStream',
    'hostDiskList',
    'mtuDeclare',
    'tenantCreate',
    'vmProvision',
  ])
})

for (const { operation, steps, test: test_file } of walks) {
  test(`${operation}: from the route to the effect and back in at most ${FILES_MOST} files, each leading to the next`, () => {
    const files = steps.map(({ file }) => file)
    assert.ok(files.length > 5 && new Set(files).size <= FILES_MOST)
    assert.match(files[0] ?? '', /^src\/contract\//)
    for (const [index, { file, word }] of steps.entries()) {
      assert.ok(existsSync(file), file)
      assert.ok(textOf(file).includes(word), `${file} does not contain ${word}`)
      const before = files.slice(0, index)
      const tied = before.some((other) => imports(file).includes(other) || imports(other).includes(file))
      assert.ok(index === 0 || tied, `${file} imports no file before it, and none of them imports it`)
    }
  })

  test(`${operation}: its name leads to the contract, what serves it, its job and a test`, () => {
    const carriers = steps.filter(({ file }) => /^src\/(contract|modules)\/.*|^src\/node\/.*\/index\.ts/.test(file))
    const named = carriers.filter(({ file }) => textOf(file).includes(operation)).map(({ file }) => file)
    assert.ok(named.includes(steps[0]?.file ?? ''))
    assert.ok(named.some((file) => /^src\/(modules|node)\//.test(file)))
    for (const { file } of carriers) {
      if (file.endsWith('.job.ts')) assert.ok(named.includes(file), file)
    }
    assert.ok(textOf(test_file).includes(operation), test_file)
  })
}

/** Also those that are loaded when they are needed. */
function imports(file: string): string[] {
  return [...textOf(file).matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map(([, name = '']) =>
    name.startsWith('#src/') ? `src/${name.slice(5)}` : normalize(join(dirname(file), name)),
  )
}
