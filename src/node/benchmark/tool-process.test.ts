import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runTool } from './tool-process.ts'

const never = new AbortController().signal

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

test('a tool that ignores its deadline is killed with everything it started', async () => {
  const args = ['-c', 'trap "" TERM; sleep 300 & echo $! $$; wait; sleep 300']
  const end = await runTool({ tool: '/bin/sh', args, timeout_ms: 200, signal: never })
  assert.equal(end.outcome, 'timeout')
  const pids = end.stdout.trim().split(' ').map(Number)
  assert.equal(pids.length, 2)
  const until = performance.now() + 5000
  while (pids.some(isAlive) && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 10))
  assert.deepEqual(pids.filter(isAlive), [])
})

test('being stopped after its time is a normal end, and a run cancelled before it began starts nothing', async () => {
  const args = ['-c', 'trap "echo done; exit 0" TERM; echo begun; while :; do sleep 0.05; done']
  const end = await runTool({ tool: '/bin/sh', args, stop_after_ms: 300, timeout_ms: 10_000, signal: never })
  assert.deepEqual([end.outcome, end.exit_code, end.stdout], ['ended', 0, 'begun\ndone\n'])
  const cancelled = await runTool({ tool: '/bin/sh', args, timeout_ms: 10_000, signal: AbortSignal.abort() })
  assert.deepEqual([cancelled.outcome, cancelled.stdout], ['cancelled', ''])
})
