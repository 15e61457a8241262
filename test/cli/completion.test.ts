// The completion scripts are run by the shells they are for, where those are installed.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { runCli } from './in-process.ts'
import { tempFolder } from '../support/temp-folder.ts'

function installed(shell: string): boolean {
  return spawnSync(shell, ['-c', 'true']).status === 0
}

const skipOf = (shell: string): string | false => (installed(shell) ? false : `${shell} is not installed`)

test('bash completes groups, commands, options and their words', { skip: skipOf('bash') }, async () => {
  const folder = tempFolder('groundplane-cli-')
  const { code, stdout } = await runCli(['completion', 'bash'])
  assert.equal(code, 0)
  await writeFile(join(folder, 'completion'), stdout)
  const complete = (...words: string[]): string[] => {
    const script =
      'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _groundplane; printf "%s\\n" "${COMPREPLY[@]}"'
    const args = ['-c', script, 'bash', join(folder, 'completion'), 'groundplane', ...words]
    return execFileSync('bash', args, { encoding: 'utf8' }).trim().split('\n')
  }
  assert.deepEqual(complete('gad'), ['gadget'])
  assert.deepEqual(complete('vm', 'st'), ['start', 'stop'])
  assert.deepEqual(complete('vm', 'start', 'web-1', '--wa'), ['--wait'])
  assert.deepEqual(complete('gadget', 'update', 'm', '--color', ''), ['Red', 'Green'])
  assert.deepEqual(complete('login', '--token-'), ['--token-stdin'])
  assert.deepEqual(complete('context', 'r'), ['remove'])
})

for (const shell of ['zsh', 'fish']) {
  test(`the script for ${shell} is one that ${shell} reads`, { skip: skipOf(shell) }, async () => {
    const folder = tempFolder('groundplane-cli-')
    await writeFile(join(folder, 'completion'), (await runCli(['completion', shell])).stdout)
    const check = spawnSync(shell, ['-n', join(folder, 'completion')], { encoding: 'utf8' })
    assert.equal(check.stderr, '')
    assert.equal(check.status, 0)
  })
}

test('every command of the tree is in every script, and an unknown shell is a usage error', async () => {
  for (const shell of ['bash', 'zsh', 'fish']) {
    const { stdout } = await runCli(['completion', shell])
    for (const word of ['gadget', 'node-apply', 'remove', 'idempotency-key']) assert.ok(stdout.includes(word), word)
  }
  assert.equal((await runCli(['completion', 'tcsh'])).code, 2)
})
