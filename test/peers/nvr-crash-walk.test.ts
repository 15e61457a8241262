// Making the NVR, its process killed at every point that one run passes: two minutes of a machine that does little else.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crashEverywhere } from '../support/job-harness.ts'
import { walk } from '../support/nvr-walk.ts'

test('an NVR, its process killed at any point, is made once by the next process, with one password', {
  timeout: 900_000,
}, async () => {
  const points = await crashEverywhere(walk)
  assert.ok(points.includes('deployVirtualMachine:sent') && points.length >= 25, points.join(' '))
})
