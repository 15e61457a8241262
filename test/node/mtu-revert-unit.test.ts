// The unit that undoes unconfirmed MTU changes at boot: its own command line, run on journals as the agent makes them.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { createJournal, type Marker } from '#src/node/guarded/journal.ts'
import { findRevertTools, revertScript } from '#src/node/guarded/revert-script.ts'
import { tempFolder } from '../support/temp-folder.ts'

const UNIT = join(import.meta.dirname, '../../deploy/groundplane-mtu-revert.service')
/** The default `state_dir` of an agent, which the unit names. */
const STATE_DIR = '/var/lib/groundplane-agent'

const folder = tempFolder('gp-boot-')

/** As systemd reads it: `$$` is a dollar sign. */
function runUnit(state_dir: string): number | null {
  const line = /^ExecStart=(\S+) -c '(.+)'$/m.exec(readFileSync(UNIT, 'utf8'))
  const [, sh = '', script = ''] = line ?? []
  return spawnSync(sh, ['-c', script.replaceAll('$$', '$').replaceAll(STATE_DIR, state_dir)]).status
}

/** A change that wrote 9000 where 1500 had been, in the place where an agent keeps it (src/node/index.ts). */
async function leaveBehind(state_dir: string, bridge: string, marker: Marker): Promise<string> {
  const tools = await findRevertTools('/bin/sh', {})
  assert.ok(!('missing' in tools))
  const run_folder = createJournal(join(state_dir, 'node', 'mtu')).folderOf(bridge)
  const path = join(state_dir, `${bridge}.conf`)
  mkdirSync(join(run_folder, 'old'), { recursive: true })
  writeFileSync(path, 'mtu 9000\n')
  writeFileSync(join(run_folder, 'old', '0'), 'mtu 1500\n')
  writeFileSync(join(run_folder, marker), '')
  const files = [{ path, temporary: `${path}.gp`, copy: 'old/0' }]
  writeFileSync(join(run_folder, 'revert.sh'), revertScript({ run_folder, tools, undo: [], files }))
  return path
}

test('at boot unconfirmed and half-undone changes are rolled back, and confirmed ones stay', async () => {
  const state_dir = join(folder, 'mixed')
  const pending = await leaveBehind(state_dir, 'mgmt0', 'pending')
  const half_undone = await leaveBehind(state_dir, 'cloudbr1', 'reverting')
  const confirmed = await leaveBehind(state_dir, 'cloudbr0', 'committed')
  assert.equal(runUnit(state_dir), 0)
  assert.equal(readFileSync(pending, 'utf8'), 'mtu 1500\n')
  assert.equal(readFileSync(half_undone, 'utf8'), 'mtu 1500\n')
  assert.equal(readFileSync(confirmed, 'utf8'), 'mtu 9000\n')
  const journal = createJournal(join(state_dir, 'node', 'mtu'))
  assert.deepEqual(await Promise.all(['mgmt0', 'cloudbr1', 'cloudbr0'].map(journal.marker)), [
    'reverted',
    'reverted',
    'committed',
  ])
})

test('one change that cannot be rolled back fails the unit, and the others are rolled back all the same', async () => {
  const state_dir = join(folder, 'failing')
  await leaveBehind(state_dir, 'a0', 'pending')
  rmSync(join(state_dir, 'node/mtu/a0.run/old/0'))
  const other = await leaveBehind(state_dir, 'b0', 'pending')
  assert.equal(runUnit(state_dir), 1)
  assert.equal(readFileSync(other, 'utf8'), 'mtu 1500\n')
})

test('a node without changes boots without a complaint', () => {
  assert.equal(existsSync(join(folder, 'none')), false)
  assert.equal(runUnit(join(folder, 'none')), 0)
})

test('the unit is ordered before the network is configured, and its conditions name where journals are', () => {
  const unit = readFileSync(UNIT, 'utf8')
  assert.match(unit, /^Before=network-pre\.target /m)
  const run = createJournal(join(STATE_DIR, 'node', 'mtu')).folderOf('*')
  assert.ok(unit.includes(`\nConditionPathExistsGlob=|${run}/pending\n`))
  assert.ok(unit.includes(`\nConditionPathExistsGlob=|${run}/reverting\n`))
})
