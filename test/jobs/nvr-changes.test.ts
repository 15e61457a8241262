// Changes of an NVR that fails in every way, and its end. The process of camera changes killed at every point:
// test/peers/nvr-crash-walk.test.ts.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bindJob } from '#src/jobs/define.ts'
import { cameraCreateJob } from '#src/modules/cam/instance/camera-change.job.ts'
import { crashEverywhere, failEverywhere, repeatEverywhere } from '../support/job-harness.ts'
import { forgetCamera, nvrLab, putOn, removeAll } from '../support/nvr-changes.ts'

test('a camera that could not be put on the NVR is nowhere, whichever step fails', async () => {
  assert.equal(await failEverywhere(putOn), cameraCreateJob.steps.length)
})

test('an NVR that is deleted takes machine, disks and records with it, whatever crashes or fails', async () => {
  const points = await crashEverywhere(removeAll)
  assert.ok(points.includes('destroyVirtualMachine:sent'), points.join())
  await failEverywhere(removeAll)
  await repeatEverywhere(removeAll)
})

test('a camera whose record is gone, and an NVR that cannot use its configuration, are named, and the camera is nowhere', async () => {
  const failing = async (step: string, happens: () => unknown, says: readonly string[]): Promise<void> => {
    await repeatEverywhere({
      ...putOn,
      async make() {
        const { bound, ...made } = await putOn.make()
        const steps = bound.definition.steps.map((one) =>
          one.name === step
            ? {
                ...one,
                run: async (run: Parameters<typeof one.run>[0]) => {
                  await happens()
                  return one.run(run)
                },
              }
            : one,
        )
        return { ...made, bound: bindJob({ ...bound.definition, steps }, bound.deps) }
      },
      async completed(fixture, job, where) {
        assert.deepEqual([job.failed_step, job.failure_code, job.failure_reason], [step, ...says], where)
        await putOn.failed(fixture, job, where)
      },
    })
  }
  await failing('camera', forgetCamera, ['CAM_CAMERA_NOT_FOUND', 'There is no camera annex any more.'])
  const spoil = (): void => {
    const { state } = nvrLab()
    const whole = state.file
    state.file = `${whole}\nunknown_key: 1\n`
    state.boot()
    state.file = whole
  }
  const safe_mode = 'The NVR runs in safe mode: it could not use its configuration.'
  await failing('restart', spoil, ['CAM_CONFIG_REJECTED', safe_mode])
})
