// Making the NVR and changing its cameras, the process killed at every point that one run passes: minutes of a machine that does
// little else, for each waits seconds for the next process.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crashEverywhere, failEverywhere, repeatEverywhere } from '../support/job-harness.ts'
import { putOn, takeOff } from '../support/nvr-changes.ts'
import { walk } from '../support/nvr-walk.ts'

test('an NVR, its process killed at any point, is made once by the next process, with one password', {
  timeout: 900_000,
}, async () => {
  const points = await crashEverywhere(walk)
  assert.ok(points.includes('deployVirtualMachine:sent') && points.length >= 25, points.join(' '))
})

test('a camera that is put on the NVR is on it once, wherever the process is killed', {
  timeout: 900_000,
}, async () => {
  const points = await crashEverywhere(putOn)
  for (const point of ['save:sent', 'restart:sent']) assert.ok(points.includes(point), point)
  await repeatEverywhere(putOn)
})

test('a camera that is taken off the NVR is gone, or a second order takes it off, whatever crashes or fails', {
  timeout: 900_000,
}, async () => {
  const points = await crashEverywhere(takeOff)
  for (const point of ['save:sent', 'restart:sent']) assert.ok(points.includes(point), point)
  await failEverywhere(takeOff)
  await repeatEverywhere(takeOff)
})
