// The jobs that put a camera on the NVR and take one off: its configuration file is changed, and it is restarted until it runs
// with the change. What people have written into the file themselves stays.
import { type Static, Type } from 'typebox'
import type { Frigate } from '#src/drivers/frigate/client.ts'
import { defineJob, type Run, type Step } from '#src/jobs/define.ts'
import { ApiError, UpstreamError } from '#src/kernel/errors.ts'
import { untilAnswered } from '#src/kernel/lost-answers.ts'
import { nvrCameraOf, recordStream } from './camera-order.ts'
import { NVR_LIMIT, type NvrJobDeps } from './initialize.job.ts'
import { withCamera, withoutCamera } from './nvr-config.ts'
import { configFile, liveConfig, type LiveConfig } from './nvr-state.ts'
import { setState } from '../set-state.ts'

const ChangeInput = Type.Object({
  instance_id: Type.String(),
  camera_id: Type.String(),
  adds: Type.Boolean(),
})
const ChangeState = Type.Object({
  is_h264: Type.Union([Type.Boolean(), Type.Null()]),
  has_audio: Type.Boolean(),
  restart_asked_ms: Type.Number(),
})
type ChangeRun = Run<NvrJobDeps, Static<typeof ChangeInput>, Static<typeof ChangeState>>
type ChangeStep = Step<NvrJobDeps, Static<typeof ChangeInput>, Static<typeof ChangeState>>

const CHANGE = {
  input: ChangeInput,
  state: ChangeState,
  resource_type: 'CAMERA',
  limits: NVR_LIMIT,
}
const CHANGE_STEPS: readonly ChangeStep[] = [
  { name: 'configure', title: 'Write the configuration', run: configure, undo: restoreConfig },
  { name: 'restart', title: 'Restart the NVR', weight: 6, run: restart },
  { name: 'record', title: 'Record the cameras', run: record },
]

export const cameraCreateJob = defineJob<NvrJobDeps>()({
  ...CHANGE,
  type: 'camera.create',
  steps: [{ name: 'camera', title: 'Read the stream of the camera', run: readStream }, ...CHANGE_STEPS],
  on_failure: 'undo',
  undo: forgetAdded,
  done: ({ input }) => `Camera ${input.camera_id} is on the NVR.`,
})

export const cameraDeleteJob = defineJob<NvrJobDeps>()({
  ...CHANGE,
  type: 'camera.delete',
  steps: CHANGE_STEPS,
  done: ({ input }) => `Camera ${input.camera_id} is removed.`,
})

async function cameraOf(run: ChangeRun) {
  const { camera_id } = run.input
  const camera = (await run.deps.cam_store.cameras()).find(({ id }) => id === camera_id)
  if (camera === undefined) throw new ApiError('CAM_CAMERA_NOT_FOUND', `There is no camera ${camera_id} any more.`)
  return camera
}

async function readStream(run: ChangeRun): Promise<void> {
  await recordStream(run, await cameraOf(run))
}

async function configure(run: ChangeRun): Promise<void> {
  const nvr = await run.deps.currentNvr()
  const before = await fileOf(nvr, run)
  const after = run.input.adds ? await withAdded(run, before) : withoutCamera(before, run.input.camera_id)
  if (after !== before) await save(nvr, after, run.signal)
}

async function withAdded(run: ChangeRun, before: string): Promise<string> {
  const { cam } = run.deps.config
  const row = await run.deps.cam_store.instance()
  const seen = { is_h264: run.state.is_h264 ?? null, has_audio: run.state.has_audio ?? false }
  const camera = nvrCameraOf(await cameraOf(run), seen)
  return withCamera(before, camera, { release: cam.nvr_release, has_gpu: (row?.gpu_count ?? 0) > 0 })
}

/** What was not there before the job is taken out again. */
async function restoreConfig(run: ChangeRun): Promise<void> {
  if (!run.input.adds) return
  const nvr = await run.deps.currentNvr()
  const before = await fileOf(nvr, run)
  const after = withoutCamera(before, run.input.camera_id)
  if (after !== before) await save(nvr, after, run.signal)
  const config = await untilAnswered(run.signal, () => liveConfig(nvr, run.signal), { even_refused: true })
  if (config.safe_mode || config.camera_ids.includes(run.input.camera_id)) await nvr.restart(run.signal)
}

function fileOf(nvr: Frigate, run: ChangeRun): Promise<string> {
  return untilAnswered(run.signal, () => configFile(nvr, run.signal), { even_refused: true })
}

/** The NVR checks the whole file, and leaves it alone when it would not run with it. */
async function save({ transport }: Frigate, text: string, signal: AbortSignal): Promise<void> {
  const body = Buffer.from(text, 'utf8')
  const request = {
    method: 'POST' as const,
    query: { save_option: 'saveonly' },
    body,
    content_type: 'text/plain',
    signal,
  }
  try {
    await untilAnswered(signal, () => transport.call('config/save', '/api/config/save', request))
  } catch (error) {
    if (!(error instanceof UpstreamError) || error.status !== 400) throw error
    const message = 'The NVR does not accept its configuration with this change; nothing was changed. Its log says why.'
    throw new ApiError('CAM_CONFIG_REJECTED', message, { cause: error })
  }
}

const POLL_MS = 2000
const ASK_AGAIN_MS = 30_000

/** Asked again while the NVR answers and runs without the change: the order may have been lost. */
async function restart(run: ChangeRun): Promise<void> {
  const nvr = await run.deps.currentNvr()
  const config = await answerOf(() => liveConfig(nvr, run.signal))
  if (config !== undefined && holds(config, run)) return
  if (config?.safe_mode === true) {
    throw new ApiError('CAM_CONFIG_REJECTED', 'The NVR runs in safe mode: it could not use its configuration.')
  }
  const { restart_asked_ms = 0 } = run.state
  if (config !== undefined && Date.now() - restart_asked_ms > ASK_AGAIN_MS) {
    await run.save({ restart_asked_ms: Date.now() })
    await setState(run, 'restarting')
    await nvr.restart(run.signal)
  }
  await run.repeatAfter(POLL_MS)
}

function holds({ camera_ids, safe_mode }: LiveConfig, { input }: ChangeRun): boolean {
  return !safe_mode && camera_ids.includes(input.camera_id) === input.adds
}

/** Undefined: it does not answer, or something before it does. */
async function answerOf<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof UpstreamError) return undefined
    throw error
  }
}

async function record(run: ChangeRun): Promise<void> {
  const { camera_id, adds } = run.input
  if (!adds) await run.fenced((trx) => run.deps.cam_store.deleteCamera(trx, camera_id))
  await setState(run, 'running')
}

function forgetAdded(run: ChangeRun): Promise<void> {
  return run.fenced((trx) => run.deps.cam_store.deleteCamera(trx, run.input.camera_id))
}
