// The walk of the job that turns recording on or off.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bindJob } from '#src/jobs/define.ts'
import { cameraRecordingSetJob, type RecordingJobDeps } from '#src/modules/cam/recording-set.job.ts'
import { crashEverywhere, failEverywhere, repeatEverywhere, send, type Walk } from '../support/job-harness.ts'

interface Fixture {
  /** What the NVR's file says, and with what it runs since its last start. */
  file: boolean
  runs: boolean
  state: string
}

const depsOf = (fixture: Fixture): RecordingJobDeps => {
  const camera = (enabled: boolean) => ({
    enabled: true,
    detect: { enabled: true },
    record: { enabled, enabled_in_config: enabled },
  })
  return {
    currentNvr: async () => ({
      config: async () => ({ cameras: { gate: camera(fixture.runs) } }),
      stats: async () => ({ cameras: { gate: { camera_fps: 5 } } }),
      setRecord: (_camera, enabled) =>
        send('setRecord', () => {
          fixture.file = enabled
          return { done: true }
        }),
      restart: () => send('restart', () => void (fixture.runs = fixture.file)),
    }),
    cam_store: {
      changeIn: async (_trx, _publish, _id, { state = '' }) => {
        fixture.state = state
        return true
      },
    },
  }
}

const walk: Walk<Fixture> = {
  make: async () => {
    const fixture: Fixture = { file: true, runs: true, state: 'restarting' }
    const input = { instance_id: 'nvr', camera_id: 'gate', enabled: false, before: true }
    return { fixture, bound: bindJob(cameraRecordingSetJob, depsOf(fixture)), input }
  },
  completed: (fixture, _job, where) => assert.deepEqual(fixture, { file: false, runs: false, state: 'running' }, where),
  failed: (fixture, job, where) => {
    assert.equal(job.job_status, 'failed', where)
    assert.deepEqual([fixture.file, fixture.state], [true, 'running'], where)
  },
}

test('recording is changed and the NVR restarted, or the file is as before, whatever crashes or fails', async () => {
  const points = await crashEverywhere(walk)
  for (const point of ['setRecord:sent', 'restart:sent']) assert.ok(points.includes(point), point)
  await failEverywhere(walk)
  await repeatEverywhere(walk)
})
