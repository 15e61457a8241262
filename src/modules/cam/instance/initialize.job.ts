// The job that makes the NVR: its machine with everything it needs for its first boot, until its first camera sends frames. The
// row holds what was chosen before it is used, so that a retry goes on where an earlier job stopped: one machine, one password.
import { randomBytes, randomUUID } from 'node:crypto'
import { type Static, Type } from 'typebox'
import { encodeArgs } from '#src/drivers/cloudstack/args.ts'
import { platformChange } from '#src/drivers/cloudstack/platform-change.ts'
import { NVR_SERVER_NAME } from '#src/drivers/frigate/client.ts'
import { defineJob, type Run } from '#src/jobs/define.ts'
import { changeOnce, Submissions } from '#src/jobs/submit-once.ts'
import { createCa, issueServerCertificate } from '#src/kernel/certificates.ts'
import type { Config } from '#src/kernel/config.ts'
import { ApiError, UpstreamError } from '#src/kernel/errors.ts'
import { untilAnswered } from '#src/kernel/lost-answers.ts'
import type { CamCameraRow, CamInstanceChange, CamInstanceRow } from '#src/store/cam-instance.ts'
import { vmProvisionJob } from '../../compute/provision.job.ts'
import type { CamDeps } from '../deps.ts'
import { nvrCameraOf, recordStream } from './camera-order.ts'
import { nvrConfigText } from './nvr-config.ts'
import { hasFrames, liveConfig } from './nvr-state.ts'
import { machineOf, offeringsFor, zoneOfNetwork } from './platform.ts'
import { readTemplate } from './template.ts'
import { ADDRESS_PLACEHOLDER, userData } from './user-data.ts'

export type NvrJobDeps = Pick<CamDeps, 'cloudstack' | 'cam_store' | 'currentNvr'> & { config: Pick<Config, 'cam'> }

export const NvrJobInput = Type.Object({ instance_id: Type.String() })
export type NvrJobInput = Static<typeof NvrJobInput>

const InitializeState = Type.Object({
  submissions: Submissions,
  is_h264: Type.Union([Type.Boolean(), Type.Null()]),
  has_audio: Type.Boolean(),
  /** The machine that this job makes. */
  vm_id: Type.String(),
  waits_since_ms: Type.Number(),
  frames_since_ms: Type.Number(),
  frames: Type.Boolean(),
})
type InitializeRun = Run<NvrJobDeps, NvrJobInput, Static<typeof InitializeState>>

/** One change of the NVR at a time. */
export const NVR_LIMIT = [{ of: () => 'the NVR', most: 1, refuse: 'CAM_JOB_RUNNING' as const }]

const MACHINE_TIMEOUT_MS = 100 * 60_000
const TEMPLATE_TIMEOUT_MS = 3 * 3_600_000
const BOOT_TIMEOUT_MS = 24 * 3_600_000

export const nvrInitializeJob = defineJob<NvrJobDeps>()({
  type: 'nvr.initialize',
  input: NvrJobInput,
  state: InitializeState,
  resource_type: 'NVR',
  limits: NVR_LIMIT,
  steps: [
    { name: 'template', title: 'Wait for the template', run: awaitTemplate, timeout_ms: TEMPLATE_TIMEOUT_MS },
    { name: 'camera', title: 'Read the stream of the camera', run: readStream },
    { name: 'credentials', title: 'Make certificate and password', run: makeCredentials },
    { name: 'machine', title: 'Make the virtual machine', weight: 6, run: makeMachine, timeout_ms: MACHINE_TIMEOUT_MS },
    { name: 'address', title: 'Read its address', run: readAddress },
    { name: 'login', title: 'Wait for the first boot', weight: 6, run: awaitLogin, timeout_ms: BOOT_TIMEOUT_MS },
    { name: 'verify', title: 'Verify the configuration', run: verifyConfig },
    { name: 'frames', title: 'Wait for frames of the camera', weight: 2, run: awaitFrames },
  ],
  done: ({ state }) => (state.frames === true ? 'The NVR is running.' : `The NVR is running. ${NO_FRAMES}`),
})

const NO_FRAMES = 'Its camera sends no frames yet.'

async function instanceOf(run: InitializeRun): Promise<CamInstanceRow> {
  const row = await run.deps.cam_store.instance()
  if (row?.id === run.input.instance_id) return row
  throw deleted()
}

/** By a process that has lost the job, nothing is changed. */
function change(run: InitializeRun, set: CamInstanceChange): Promise<void> {
  const { cam_store } = run.deps
  return run.fenced(async (trx, publish) => {
    if (!(await cam_store.changeIn(trx, publish, run.input.instance_id, set))) throw deleted()
  })
}

function deleted(): ApiError {
  return new ApiError('CAM_NOT_INITIALIZED', 'The NVR was deleted meanwhile.')
}

/** The one that the NVR was ordered with: the first. */
async function firstCamera(run: InitializeRun): Promise<CamCameraRow> {
  const [camera] = await run.deps.cam_store.cameras()
  if (camera === undefined) throw new ApiError('CAM_CAMERA_NOT_FOUND', 'The NVR has no camera to begin with.')
  return camera
}

const DOWNLOAD_POLL_MS = 5000

async function awaitTemplate(run: InitializeRun): Promise<void> {
  const { cloudstack, config } = run.deps
  const row = await instanceOf(run)
  const zone_id = await untilAnswered(run.signal, () => zoneOfNetwork(cloudstack, row.network_id, run.signal))
  if (row.zone_id !== zone_id) await change(run, { zone_id })
  const template = await untilAnswered(run.signal, () => readTemplate(cloudstack, config.cam, zone_id, run.signal))
  if (template.state === 'ready') return
  if (template.state !== 'downloading') throw new ApiError('CAM_TEMPLATE_NOT_READY', template.message)
  run.progress(template.progress, `Waiting for the template: ${template.message}`)
  await run.repeatAfter(DOWNLOAD_POLL_MS)
}

async function readStream(run: InitializeRun): Promise<void> {
  await recordStream(run, await firstCamera(run))
}

/** Never made again: the machine of an earlier job knows these. */
async function makeCredentials(run: InitializeRun): Promise<void> {
  const row = await instanceOf(run)
  if (row.admin_password !== null) return
  const ca = await createCa('Groundplane NVR CA')
  const server = await issueServerCertificate(ca, NVR_SERVER_NAME)
  await change(run, {
    ca_certificate: ca.certificate,
    server_certificate: server.certificate,
    server_key: server.key,
    admin_password: randomBytes(18).toString('base64url'),
  })
}

async function makeMachine(run: InitializeRun): Promise<void> {
  const row = await instanceOf(run)
  if (run.state.vm_id === undefined) {
    if (row.vm_id !== null && (await wakeMachine(run, row.vm_id))) return
    await run.save({ vm_id: randomUUID() })
  }
  const vm_id = run.state.vm_id ?? ''
  // Before it is made, so that whatever happens here, the next job and the deletion know of it.
  await change(run, { vm_id })
  await run.startChild('machine', vmProvisionJob, {
    input: { name: row.name, vm_id, starts: true, args: await machineArgs(run, await instanceOf(run)) },
    description: `Creating virtual machine ${row.name}.`,
    resource_id: vm_id,
    resource_name: row.name,
  })
  await run.childResult('machine', vmProvisionJob)
}

/** The machine of an earlier job runs when this returns; false: it is there no more. */
async function wakeMachine(run: InitializeRun, vm_id: string): Promise<boolean> {
  const { cloudstack } = run.deps
  const machine = await untilAnswered(run.signal, () => machineOf(cloudstack, vm_id, run.signal))
  if (machine === undefined) return false
  if (machine.state !== 'Stopped') return true
  const postcondition = { thing: 'vm' as const, args: { id: vm_id }, expect: { state: 'Running' } }
  await changeOnce(
    run,
    platformChange(cloudstack, run, {
      name: 'start',
      command: 'startVirtualMachine',
      args: { id: vm_id },
      postcondition,
    }),
  )
  return true
}

async function machineArgs(run: InitializeRun, row: CamInstanceRow): Promise<Record<string, string>> {
  const { cloudstack, config } = run.deps
  const { cam } = config
  const zone_id = row.zone_id ?? ''
  const template = await untilAnswered(run.signal, () => readTemplate(cloudstack, cam, zone_id, run.signal))
  const offerings = await untilAnswered(run.signal, () => offeringsFor(cloudstack, row, cam, run.signal))
  const seen = { is_h264: run.state.is_h264 ?? null, has_audio: run.state.has_audio ?? false }
  const has_gpu = row.gpu_count > 0
  const boot = userData({
    config: nvrConfigText({
      release: cam.nvr_release,
      address: ADDRESS_PLACEHOLDER,
      has_gpu,
      cameras: [nvrCameraOf(await firstCamera(run), seen)],
    }),
    certificate: `${row.server_certificate ?? ''}\n${row.ca_certificate ?? ''}`,
    key: row.server_key ?? '',
    admin_password: row.admin_password ?? '',
    image: cam.nvr_image,
    port: cam.nvr_port,
    has_gpu,
  })
  return encodeArgs({
    name: row.name,
    displayname: row.name,
    zoneid: zone_id,
    templateid: template.template_id ?? '',
    serviceofferingid: offerings.service_offering_id,
    diskofferingid: offerings.disk_offering_id,
    size: row.recording_disk_gb,
    networkids: [row.network_id],
    userdata: Buffer.from(boot, 'utf8').toString('base64'),
    startvm: true,
    ...(offerings.customized ? { details: { cpuNumber: row.cores, memory: row.memory_mb } } : {}),
  })
}

async function readAddress(run: InitializeRun): Promise<void> {
  const { cloudstack } = run.deps
  const row = await instanceOf(run)
  const machine = await untilAnswered(run.signal, () => machineOf(cloudstack, row.vm_id ?? '', run.signal))
  if (machine === undefined) throw new ApiError('VM_NOT_FOUND', `The virtual machine ${row.name} is gone.`)
  // The platform gives it before the machine starts, or never.
  if (machine.ip === null) {
    const message = `The network ${row.network_id} gives virtual machine ${row.name} no address; the NVR needs one that does.`
    throw new ApiError('CAM_ADDRESS_UNKNOWN', message)
  }
  await change(run, { vm_ip_address: machine.ip, state: 'configuring' })
}

const BOOT_POLL_MS = 500

/** A password that is rejected is not set yet: the first boot sets it when the NVR answers. */
async function awaitLogin(run: InitializeRun): Promise<void> {
  const { currentNvr, config } = run.deps
  const row = await instanceOf(run)
  const since = run.state.waits_since_ms ?? Date.now()
  if (run.state.waits_since_ms === undefined) await run.save({ waits_since_ms: since })
  const nvr = await currentNvr()
  const outcome = await nvr.transport.session
    .tryPassword(row.admin_password ?? '', run.signal)
    .catch((error: unknown) => {
      if (error instanceof UpstreamError) return error
      throw error
    })
  if (outcome === true) return
  if (Date.now() - since > config.cam.boot_minutes * 60_000) throw bootFailed(row, outcome)
  await run.repeatAfter(BOOT_POLL_MS)
}

function bootFailed({ vm_ip_address }: CamInstanceRow, outcome: false | UpstreamError): ApiError {
  const where = `The NVR at ${vm_ip_address ?? 'its address'}`
  if (outcome === false)
    return new ApiError('CAM_AUTH_FAILED', `${where} runs, but its first boot did not set the admin password.`)
  return new ApiError('NVR_TIMEOUT', `${where} did not answer within the time for its first boot.`, { cause: outcome })
}

async function verifyConfig(run: InitializeRun): Promise<void> {
  const { currentNvr } = run.deps
  const camera = await firstCamera(run)
  const nvr = await currentNvr()
  const config = await untilAnswered(run.signal, () => liveConfig(nvr, run.signal), { even_refused: true })
  if (config.safe_mode) {
    const message = 'The NVR could not use its configuration and runs in safe mode, without cameras.'
    throw new ApiError('CAM_CONFIG_REJECTED', message)
  }
  if (!config.camera_ids.includes(camera.id))
    throw new ApiError('CAM_CONFIG_REJECTED', `The NVR runs without camera ${camera.id}.`)
  // Without the mark of the build.
  const [nvr_version = ''] = (await untilAnswered(run.signal, () => nvr.version(run.signal))).split('-', 1)
  await change(run, { nvr_version })
}

const FRAMES_POLL_MS = 2000
const FRAMES_WITHIN_MS = 60_000

/** An NVR without frames is there all the same: it tries the camera again and again. */
async function awaitFrames(run: InitializeRun): Promise<void> {
  const { currentNvr, config } = run.deps
  const since = run.state.frames_since_ms ?? Date.now()
  if (run.state.frames_since_ms === undefined) await run.save({ frames_since_ms: since })
  const camera = await firstCamera(run)
  const nvr = await currentNvr()
  const frames = await untilAnswered(run.signal, () => hasFrames(nvr, camera.id, run.signal), { even_refused: true })
  const within_ms = Math.min(FRAMES_WITHIN_MS, config.cam.boot_minutes * 60_000)
  if (!frames && Date.now() - since < within_ms) await run.repeatAfter(FRAMES_POLL_MS)
  if (!frames) await run.note('WARN', NO_FRAMES)
  await run.save({ frames })
  await change(run, {
    state: 'running',
    error_message: '',
    next_action: frames ? '' : `Check camera ${camera.id} at ${camera.ip}: the NVR gets no frames from it.`,
    job_id: null,
  })
}
