// Changes of an NVR that fails in every way, and its end. The process of camera changes killed at every point:
// test/peers/nvr-crash-walk.test.ts.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cameraCreateJob } from '#src/modules/cam/instance/camera-change.job.ts'
import { crashEverywhere, failEverywhere, repeatEverywhere } from '../support/job-harness.ts'
import { putOn, removeAll } from '../support/nvr-changes.ts'

test('a camera that could not be put on the NVR is nowhere, whichever step fails', async () => {
  assert.equal(await failEverywhere(putOn), cameraCreateJob.steps.length)
})

test('an NVR that is deleted takes machine, disks and records with it, whatever crashes or fails', async () => {
  const points = await crashEverywhere(removeAll)
  assert.ok(points.includes('destroyVirtualMachine:sent'), points.join())
  await failEverywhere(removeAll)
  await repeatEverywhere(removeAll)
})
