// The job that makes one volume and attaches it. The volume's id is chosen before anything is sent, so a call whose answer
// was lost can be looked up by it and be repeated: the platform refuses the same id twice (cloudstack.md A.3, 2).
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { type Static, Type } from 'typebox'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { type Raw, textOf } from '#src/drivers/cloudstack/fields.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import { CloudStackError, LostJobError, UnknownJobError } from '#src/drivers/cloudstack/platform-error.ts'
import { type Proof, readBack } from '#src/drivers/cloudstack/proof.ts'
import { orRefusal, refusalOf } from '#src/drivers/cloudstack/refusals.ts'
import { isLostAnswer, untilAnswered } from '#src/drivers/cloudstack/until-answered.ts'
import { defineJob, type Holds, type Run } from '#src/jobs/define.ts'
import { ApiError } from '#src/kernel/errors.ts'

export const DiskCreateInput = Type.Object({
  name: Type.String(),
  volume_id: Type.String(),
  virtual_machine_id: Type.String(),
  virtual_machine_name: Type.String(),
  device_id: Type.Union([Type.Integer(), Type.Null()]),
  /** Arguments of the creating call as on the wire. */
  create: Type.Record(Type.String(), Type.String()),
})
export type DiskCreateInput = Static<typeof DiskCreateInput>

interface DiskDeps {
  cloudstack: CloudStack
}

/** Ids under which the platform keeps its own jobs. */
const DiskState = Type.Object({ create_job_id: Type.String(), attach_job_id: Type.String() })

type DiskRun = Run<DiskDeps, DiskCreateInput, Static<typeof DiskState>>

const CREATE_TIMEOUT_MS = 15 * 60_000
/** A volume made from a snapshot is copied. */
const FILL_TIMEOUT_MS = 75 * 60_000

export const diskCreateJob = defineJob<DiskDeps>()({
  type: 'vm.disk-create',
  input: DiskCreateInput,
  state: DiskState,
  resource_type: 'VOLUME',
  steps: [
    {
      name: 'create',
      title: 'Create the volume',
      holds: async (run) => (await volume(run)) !== undefined,
      run: create,
      undo: remove,
      timeout_ms: CREATE_TIMEOUT_MS,
    },
    {
      name: 'fill',
      title: 'Wait for the volume',
      milestone: 'submitted',
      weight: 5,
      run: waitForVolume,
      timeout_ms: FILL_TIMEOUT_MS,
    },
    {
      name: 'attach',
      title: 'Attach the volume',
      weight: 4,
      holds: isAttached,
      run: attach,
      timeout_ms: CREATE_TIMEOUT_MS,
    },
  ],
  on_failure: 'undo',
  done: ({ input }) => `Volume ${input.name} is attached to virtual machine ${input.virtual_machine_name}.`,
})

const SENDS = 3
const SETTLE_MS = 2000

async function create(run: DiskRun): Promise<void> {
  for (let sent = 1; ; sent += 1) {
    if (run.state.create_job_id !== undefined && (await appears(run))) return
    // An id of a job that a create was refused for would leave a second volume behind; each attempt has its own.
    const create_job_id = randomUUID()
    await run.save({ create_job_id })
    try {
      const args = { ...run.input.create, customid: run.input.volume_id }
      const answer = await run.deps.cloudstack.call('createVolume', args, { job_id: create_job_id })
      if (textOf(answer, 'id') !== run.input.volume_id)
        await run.note('WARN', 'The platform named another volume than was asked for.')
      return
    } catch (error) {
      if (!(error instanceof CloudStackError)) throw error
      const refused = error.status !== undefined
      // Somebody has this id: it was us, in an attempt whose answer was lost.
      if (refused && /already exists/i.test(error.detail ?? '') && (await volume(run)) !== undefined) return
      if (refused || error.failure === 'not_configured' || sent === SENDS) throw refusalOf(error)
      await run.note('WARN', 'The answer of the compute platform was lost; looking for the volume.')
    }
  }
}

/** Asked twice, because a call may still be on its way when the connection breaks. */
async function appears(run: DiskRun): Promise<boolean> {
  if ((await answered(run, () => volume(run))) !== undefined) return true
  await pause(SETTLE_MS, undefined, { signal: run.signal })
  return (await answered(run, () => volume(run))) !== undefined
}

async function volume(run: DiskRun): Promise<Raw | undefined> {
  const args = { id: run.input.volume_id, listall: true }
  const row = await orRefusal(findOne(run.deps.cloudstack, 'listVolumes', 'volume', args, { signal: run.signal }))
  // What is being removed is no volume of ours any more.
  return row === undefined || ['Expunging', 'Expunged', 'Destroy'].includes(textOf(row, 'state') ?? '')
    ? undefined
    : row
}

const ASK_AGAIN_MS = 1000

function answered<T>(run: DiskRun, ask: () => Promise<T>): Promise<T> {
  return untilAnswered(run.signal, ask, { again: () => !run.signal.aborted, every_ms: ASK_AGAIN_MS })
}

/** The volume itself says when it is there; its job only says why it is not. */
async function waitForVolume(run: DiskRun): Promise<void> {
  const { create_job_id } = run.state
  if (create_job_id !== undefined) {
    try {
      await run.deps.cloudstack.followJob(create_job_id, { signal: run.signal, profile: 'slow' })
    } catch (error) {
      if (!(error instanceof LostJobError) && !(error instanceof UnknownJobError)) throw refusalOf(error)
    }
  }
  for (;;) {
    const row = await answered(run, () => volume(run))
    const state = row === undefined ? null : textOf(row, 'state')
    if (state === 'Allocated' || state === 'Ready') return
    if (state !== 'Creating' && state !== 'Copying') {
      const seen = state === null ? 'is gone' : `is ${state}`
      throw new ApiError('JOB_INTERRUPTED', `The compute platform did not finish volume ${run.input.name}: it ${seen}.`)
    }
    await pause(ASK_AGAIN_MS, undefined, { signal: run.signal })
  }
}

async function isAttached(run: DiskRun): Promise<Holds> {
  const row = await volume(run)
  if (row === undefined) return false
  return textOf(row, 'virtualmachineid') === run.input.virtual_machine_id && textOf(row, 'state') === 'Ready'
}

/** The attaching job carries an id of ours, so one that is under way is found again; it may be sent again when nobody knows it. */
async function attach(run: DiskRun): Promise<void> {
  const known = run.state.attach_job_id
  const job =
    known === undefined
      ? undefined
      : await answered(run, () => run.deps.cloudstack.queryJob(known, { signal: run.signal }))
  let attach_job_id = known
  if (known === undefined || (job !== undefined && job.status > 1)) {
    attach_job_id = randomUUID()
    await run.save({ attach_job_id })
  }
  if (job === undefined || job.status > 1) await submitAttach(run, String(attach_job_id))
  try {
    await run.deps.cloudstack.followJob(String(attach_job_id), { signal: run.signal })
    const expect = { virtualmachineid: run.input.virtual_machine_id }
    const proof: Proof = { thing: 'volume', args: { id: run.input.volume_id }, expect }
    await readBack(run.deps.cloudstack, proof, { signal: run.signal })
  } catch (error) {
    // Whatever became of the job: a volume that is attached is attached.
    if (!run.signal.aborted && (await answered(run, () => isAttached(run))) === true) return
    throw refusalOf(error)
  }
}

async function submitAttach(run: DiskRun, job_id: string): Promise<void> {
  const { volume_id, virtual_machine_id, device_id } = run.input
  const args = { id: volume_id, virtualmachineid: virtual_machine_id, deviceid: device_id ?? undefined }
  try {
    await run.deps.cloudstack.call('attachVolume', args, { job_id })
  } catch (error) {
    if (!isLostAnswer(error)) throw refusalOf(error)
    await run.note('WARN', 'The answer of the compute platform was lost; asking for the job by its id.')
    const job = await answered(run, () => run.deps.cloudstack.queryJob(job_id, { signal: run.signal }))
    if (job === undefined) await orRefusal(run.deps.cloudstack.call('attachVolume', args, { job_id }))
  }
}

/** Nothing of a failed order stays: the volume that could not be attached is deleted, unless it was attached after all. */
async function remove(run: DiskRun): Promise<void> {
  const row = await answered(run, () => volume(run))
  if (row === undefined) return
  if (textOf(row, 'virtualmachineid') !== null)
    throw new ApiError(
      'VOLUME_ATTACHED',
      `Volume ${run.input.name} (${run.input.volume_id}) is attached and was left alone.`,
    )
  await orRefusal(run.deps.cloudstack.call('deleteVolume', { id: run.input.volume_id }))
}
