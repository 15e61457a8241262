// Tasks beside the requests that keep failing: whoever watches the service sees which, and when they are well again.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { type PlatformProxy, startPlatformProxy } from '../support/platform-proxy.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { onDatabase } from '../support/test-database.ts'
import { until } from '../support/until.ts'

let lab: Lab
let proxy: PlatformProxy
before(async () => {
  lab = await startLab({
    between: async (url) => {
      proxy = await startPlatformProxy(url)
      return proxy.url
    },
    config: { compute: { tenants_poll_ms: 100, states_poll_ms: 100 }, nodes: { offline_after_ms: 1000 } },
  })
})
after(async () => {
  await lab.close()
  await proxy.close()
})

interface Check {
  name: string
  ok: boolean
  detail: string
}

/** What a probe is reported; the replica serves on. */
async function failing(): Promise<Check[]> {
  const ready = await lab.call('GET', '/readyz', undefined, { token: null })
  assert.deepEqual([ready.status, ready.body.status], [200, 'ready'], ready.text)
  return ready.body.checks.filter((check: Check) => !check.ok)
}

async function failuresOf(task: string): Promise<number> {
  const { text } = await lab.call('GET', '/metrics')
  return Number(new RegExp(`groundplane_background_failures\\{task="${task}"\\} (\\d+)`).exec(text)?.[1])
}

const errorsAbout = (task: string): string[] =>
  lab
    .logs()
    .split('\n')
    .filter((line) => line.includes('"background task keeps failing"') && line.includes(`"task":"${task}"`))

async function sql(text: string): Promise<void> {
  await onDatabase(lab.database.connection, (client) => client.query(text))
}

const FAILURES: readonly [task: string, what: string, breaks: () => unknown, mends: () => unknown][] = [
  [
    'tenants',
    'the comparison of tenants, while the platform fails to list domains',
    () => proxy.behave((command) => (command === 'listDomains' ? 'error' : 'pass')),
    () => proxy.behave(() => 'pass'),
  ],
  [
    'compute-states',
    'the reading of states, while a gateway answers for the platform',
    () => proxy.behave((command) => (command === 'listVirtualMachines' ? 'page' : 'pass')),
    () => proxy.behave(() => 'pass'),
  ],
  [
    'silent-nodes',
    'the search for silent nodes, while its table is away',
    () => sql('alter table node rename to node_away'),
    () => sql('alter table node_away rename to node'),
  ],
]

for (const [task, what, breaks, mends] of FAILURES) {
  test(`${what}, is named by /readyz and /metrics and logged as an error, once, until it works again`, async () => {
    await until('it has run', async () => (await failuresOf(task)) === 0)
    await breaks()
    const named = await until('it is named', async () =>
      (await failing()).find(({ name }) => name.endsWith(` ${task}`)),
    )
    assert.match(named.detail, /^failed \d+ times in a row$/)
    await until('it is counted', async () => (await failuresOf(task)) >= 3)
    assert.equal(errorsAbout(task).length, 1)
    await mends()
    await until('it works again', async () => (await failuresOf(task)) === 0)
    assert.deepEqual(
      (await failing()).filter(({ name }) => name.endsWith(` ${task}`)),
      [],
    )
  })
}

test('every series that the alert rules and the board ask for is one that /metrics has', async () => {
  const { text } = await lab.call('GET', '/metrics')
  const exposed = new Set([...text.matchAll(/^# TYPE (\w+) (\w+)/gm)].map(([, name = '']) => name))
  const folder = join(import.meta.dirname, '../../deploy/monitoring')
  for (const file of ['alerts.yaml', 'grafana-board.json']) {
    const content = readFileSync(join(folder, file), 'utf8')
    const asked = new Set([...content.matchAll(/\b(?:groundplane|nodejs)_\w+/g)].map(([name]) => name))
    const unknown = [...asked].filter(
      (name) => !exposed.has(name.replace(/_(bucket|count|sum)$/, '')) && !exposed.has(name),
    )
    assert.deepEqual(unknown, [], file)
    assert.ok(asked.size > 5, file)
  }
})
