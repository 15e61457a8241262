import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { until } from '../../../test/support/until.ts'
import { runTool, type ToolCall } from './tool-process.ts'

const never = new AbortController().signal

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Lets so much time pass when the tool has printed its first line: before that it heeds no signal as it is told to. */
function onceItRuns(t: TestContext, ...passing_ms: number[]): Pick<ToolCall, 'onOutput'> {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  return {
    onOutput() {
      for (const ms of passing_ms.splice(0)) t.mock.timers.tick(ms)
    },
  }
}

test('a tool that ignores its deadline is killed with everything it started', async (t) => {
  const args = ['-c', 'trap "" TERM; sleep 300 & echo $! $$; wait; sleep 300']
  const end = await runTool({ tool: '/bin/sh', args, timeout_ms: 200, signal: never, ...onceItRuns(t, 200, 3000) })
  assert.equal(end.outcome, 'timeout')
  const pids = end.stdout.trim().split(' ').map(Number)
  assert.equal(pids.length, 2)
  t.mock.timers.reset()
  await until('all have ended', () => !pids.some(isAlive))
})

test('being stopped after its time is a normal end, and a run cancelled before it began starts nothing', async (t) => {
  const args = ['-c', 'trap "echo done; exit 0" TERM; echo begun; while :; do sleep 0.05; done']
  const times = { stop_after_ms: 300, timeout_ms: 10_000, ...onceItRuns(t, 300) }
  const end = await runTool({ tool: '/bin/sh', args, signal: never, ...times })
  assert.deepEqual([end.outcome, end.exit_code, end.stdout], ['ended', 0, 'begun\ndone\n'])
  const cancelled = await runTool({ tool: '/bin/sh', args, timeout_ms: 10_000, signal: AbortSignal.abort() })
  assert.deepEqual([cancelled.outcome, cancelled.stdout], ['cancelled', ''])
})
