// The managed scripts are whole at every moment, whatever crashes while they are restored.
import assert from 'node:assert/strict'
import {
  chmodSync,
  chownSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { CrashError } from '#src/kernel/durable-file.ts'
import { failoverScripts } from '#src/kernel/failover-scripts.ts'
import { tempFolder } from '../../../test/support/temp-folder.ts'
import { quarantineOf, reconcileScripts } from './reconcile.ts'

const NAME = 'notify.sh'
const embedded = (name: string): string => failoverScripts().find((one) => one.name === name)?.content ?? ''

async function installed(): Promise<{ folder: string; at: (name: string) => string }> {
  const folder = join(tempFolder('gp-scripts-'), 'failover')
  const { restored, checked } = await reconcileScripts(folder)
  assert.deepEqual([restored.length, checked], [3, 3])
  return { folder, at: (name) => join(folder, name) }
}

function assertAsReleased(folder: string): void {
  for (const { name, content } of failoverScripts()) {
    assert.equal(readFileSync(join(folder, name), 'utf8'), content)
    assert.equal(statSync(join(folder, name)).mode & 0o7777, 0o755)
  }
}

/** What becomes of a script, the reason that is given, and whether the daemon may have switched it off. */
const DAMAGE: Record<string, { reason: string; unsafe: boolean; damage: (path: string) => void }> = {
  'it is gone': { reason: 'missing', unsafe: true, damage: (path) => rmSync(path) },
  'it was edited': { reason: 'content', unsafe: false, damage: (path) => writeFileSync(path, '#!/bin/sh\nexit 0\n') },
  'it is empty': { reason: 'content', unsafe: false, damage: (path) => writeFileSync(path, '') },
  'all may write it': { reason: 'mode', unsafe: true, damage: (path) => chmodSync(path, 0o777) },
  'nobody may run it': { reason: 'mode', unsafe: true, damage: (path) => chmodSync(path, 0o644) },
  'it is a link to itself': { reason: 'symlink', unsafe: true, damage: (path) => replace(path, () => symlinkSync(path, path)) },
  'it is a link to another program': { reason: 'symlink', unsafe: true, damage: (path) => replace(path, () => symlinkSync('/bin/true', path)) },
  'a folder is in its place': {
    reason: 'kind', unsafe: true, damage: (path) => replace(path, () => { mkdirSync(path); writeFileSync(join(path, 'inside'), 'x') }),
  },
  'it has a second name': { reason: 'links', unsafe: false, damage: (path) => linkSync(path, `${path}.second`) },
} // biome-ignore format: one a line

function replace(path: string, make: () => void): void {
  rmSync(path)
  make()
}

for (const [title, { reason, unsafe, damage }] of Object.entries(DAMAGE)) {
  test(`a script is restored when ${title}, and a second run finds nothing to do`, async () => {
    const { folder, at } = await installed()
    damage(at(NAME))
    const first = await reconcileScripts(folder)
    assert.deepEqual(
      first.restored.map((one) => [one.name, one.reason]),
      [[NAME, reason]],
    )
    assert.deepEqual([first.failed, first.unsafe], [[], unsafe])
    assertAsReleased(folder)
    const { ok, restored, unsafe: again } = await reconcileScripts(folder)
    assert.deepEqual([ok.length, restored, again], [3, [], false])
  })
}

test('a script of another owner is given to the one it must belong to', {
  skip: process.geteuid?.() !== 0 && 'only root gives files away',
}, async () => {
  const { folder, at } = await installed()
  chownSync(at(NAME), 65_534, 65_534)
  assert.deepEqual(
    (await reconcileScripts(folder)).restored.map((one) => one.reason),
    ['owner'],
  )
  assert.equal(statSync(at(NAME)).uid, 0)
})

test('what stood in the place of a script is kept aside with its hash, and files of others stay', async () => {
  const { folder, at } = await installed()
  writeFileSync(at(NAME), 'tampered')
  writeFileSync(at('mine.sh'), 'x')
  const { restored, unknown } = await reconcileScripts(folder)
  const [{ previous_sha256 } = { previous_sha256: '' }] = restored
  assert.deepEqual(unknown, ['mine.sh'])
  assert.equal(readFileSync(join(quarantineOf(folder), `${NAME}.${previous_sha256}`), 'utf8'), 'tampered')
  assert.equal(statSync(quarantineOf(folder)).mode & 0o777, 0o700)
  assert.equal(readFileSync(at('mine.sh'), 'utf8'), 'x')
})

test('a crash at any step leaves each script old or new and whole, and the next run finishes', async () => {
  const points = ['in quarantine', 'temporary created', 'temporary written', 'renamed']
  for (const point of points) {
    const { folder, at } = await installed()
    writeFileSync(at(NAME), 'tampered')
    let reached = false
    const crash = (here: string): void => {
      if (here !== point) return
      reached = true
      throw new CrashError(here)
    }
    await assert.rejects(reconcileScripts(folder, { at: crash }), CrashError)
    assert.ok(reached, point)
    assert.ok(['tampered', embedded(NAME)].includes(readFileSync(at(NAME), 'utf8')), point)
    await reconcileScripts(folder)
    assertAsReleased(folder)
    assert.deepEqual(
      readdirSync(folder).sort(),
      failoverScripts()
        .map(({ name }) => name)
        .sort(),
      `${point}: nothing is left over`,
    )
  }
})

test('a folder that others may write to is closed to them, and what is no folder is an error', async () => {
  const { folder } = await installed()
  chmodSync(folder, 0o777)
  assert.equal((await reconcileScripts(folder)).unsafe, true)
  assert.equal(statSync(folder).mode & 0o777, 0o755)
  rmSync(folder, { recursive: true })
  writeFileSync(folder, 'x')
  await assert.rejects(reconcileScripts(folder))
})
