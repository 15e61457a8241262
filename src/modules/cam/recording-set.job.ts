// The job that turns recording on or off: configuration, restart, and the wait until the stream is back.
import { type Static, Type } from 'typebox'
import type { Frigate } from '#src/drivers/frigate/client.ts'
import { defineJob, type Run } from '#src/jobs/define.ts'
import { ApiError, UpstreamError } from '#src/kernel/errors.ts'
import type { CamStore } from '#src/store/cam-instance.ts'
import { setState } from './set-state.ts'

export interface RecordingJobDeps {
  currentNvr: () => Promise<Pick<Frigate, 'config' | 'stats' | 'setRecord' | 'restart'>>
  cam_store: Pick<CamStore, 'changeIn'>
}

const RecordingInput = Type.Object({
  instance_id: Type.String(),
  camera_id: Type.String(),
  enabled: Type.Boolean(),
  /** As the configuration said before. */
  before: Type.Boolean(),
})
const RecordingState = Type.Object({ restart_sent: Type.Boolean() })
type RecordingRun = Run<RecordingJobDeps, Static<typeof RecordingInput>, Static<typeof RecordingState>>

const POLL_MS = 2_000
/** A restart takes 20 to 60 seconds. */
const BACK_MS = 180_000
/** The first frame comes seconds later, and frames are counted every 15. */
const STREAM_MS = 90_000

export const cameraRecordingSetJob = defineJob<RecordingJobDeps>()({
  type: 'camera.recording',
  input: RecordingInput,
  state: RecordingState,
  resource_type: 'CAMERA',
  on_failure: 'undo',
  limits: [{ of: () => 'the NVR', most: 1, refuse: 'CAM_JOB_RUNNING' }],
  undo: async (run) => setState(run, (await isApplied(run)) === 'unknown' ? 'unreachable' : 'running'),
  steps: [
    {
      name: 'configure',
      title: 'Write the configuration of the NVR',
      run: (run) => configure(run, run.input.enabled),
      undo: restoreConfiguration,
    },
    { name: 'restart', title: 'Restart the NVR', run: restart },
    {
      name: 'back',
      title: 'Wait for the NVR',
      weight: 6,
      timeout_ms: BACK_MS,
      run: async (run) => {
        if ((await isApplied(run)) !== true) await run.repeatAfter(POLL_MS)
      },
    },
    {
      name: 'stream',
      title: 'Wait for the stream of the camera',
      weight: 3,
      timeout_ms: STREAM_MS,
      outstanding: 'The NVR is back, but no frames of the camera arrive: check the camera and its network.',
      run: async (run) => {
        if (!(await streams(run))) await run.repeatAfter(POLL_MS)
      },
    },
    { name: 'release', title: 'Say that the NVR runs', run: (run) => setState(run, 'running') },
  ],
  done: ({ input }) => `Camera ${input.camera_id} ${input.enabled ? 'records' : 'does not record'}.`,
})

async function configure({ deps, input, signal }: RecordingRun, enabled: boolean): Promise<void> {
  const nvr = await deps.currentNvr()
  const written = await nvr.setRecord(input.camera_id, enabled, signal)
  if (written.done) return
  const sentence = `The NVR does not accept a configuration in which camera ${input.camera_id} ${enabled ? 'records' : 'does not record'}.`
  throw new ApiError('CAM_CONFIG_REJECTED', sentence, { cause: new Error(written.words) })
}

/** While the NVR is away nothing can be written; then the wish holds at its next start, and the job says so. */
async function restoreConfiguration(run: RecordingRun): Promise<void> {
  try {
    await configure(run, run.input.before)
  } catch (error) {
    if (!(error instanceof UpstreamError)) throw error
    await run.note('WARN', 'The configuration could not be restored: it holds from the next start of the NVR.')
  }
}

/** After a crash in between, an NVR that is away is restarting; one that answers as before was not asked yet. */
async function restart(run: RecordingRun): Promise<void> {
  if (run.state.restart_sent === true && (await isApplied(run)) !== false) return
  await run.save({ restart_sent: true })
  await (await run.deps.currentNvr()).restart(run.signal)
}

/** Whether the NVR runs with the wish. Its configuration shows the old one until it has restarted. */
async function isApplied({ deps, input, signal }: RecordingRun): Promise<boolean | 'unknown'> {
  try {
    const { cameras } = await (await deps.currentNvr()).config({ no_cache: true, signal })
    const record = cameras[input.camera_id]?.record
    return record?.enabled === input.enabled && record.enabled_in_config === input.enabled
  } catch (error) {
    if (error instanceof UpstreamError) return 'unknown'
    throw error
  }
}

async function streams({ deps, input, signal }: RecordingRun): Promise<boolean> {
  try {
    const { cameras } = await (await deps.currentNvr()).stats({ no_cache: true, signal })
    return (cameras?.[input.camera_id]?.camera_fps ?? 0) > 0
  } catch (error) {
    if (error instanceof UpstreamError) return false
    throw error
  }
}
