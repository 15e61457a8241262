// Recorded with iputils 20221126 (test/fixtures/linux/ping).
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { RunResult } from '#src/kernel/host.ts'
import { readPing } from './probe.ts'

function ping(name: string, exit_code: number): RunResult {
  const stdout = readFileSync(new URL(`../../../test/fixtures/linux/ping/${name}`, import.meta.url), 'utf8')
  return { outcome: 'exited', exit_code, stdout, stderr: '' }
}

test('an answer passes, silence says nothing, and an explicit rejection carries its number and its side', () => {
  assert.equal(readPing(ping('ok-8972.txt', 0)).answered, true)
  const silent = readPing(ping('blackhole-8972.txt', 1))
  assert.deepEqual([silent.answered, silent.small], [false, null])
  const local = readPing(ping('local-too-long-8972.txt', 1))
  assert.deepEqual([local.small, local.local], [1500, true])
  const routed = readPing(ping('frag-needed-8972.txt', 1))
  assert.deepEqual([routed.small, routed.local], [1400, false])
})

test('a missing ping tool is told from a silent peer', () => {
  assert.equal(readPing({ outcome: 'missing', exit_code: null, stdout: '', stderr: '' }).missing_tool, true)
})
