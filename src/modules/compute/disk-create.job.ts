// The job that makes one volume and attaches it. The volume's id is chosen before anything is sent, so that a call whose
// answer was lost can be looked up by it and be repeated: the platform refuses the same id twice (cloudstack.md A.3, 2).
import { type Static, Type } from 'typebox'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { type Raw, textOf } from '#src/drivers/cloudstack/fields.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import { platformChange } from '#src/drivers/cloudstack/platform-change.ts'
import { defineJob, type Run } from '#src/jobs/define.ts'
import {
  changeOnce, type FollowedChange, followSubmission, Submissions, submitOnce, verifySubmission,
} from '#src/jobs/submit-once.ts' // biome-ignore format: one import
import { ApiError } from '#src/kernel/errors.ts'
import { untilAnswered } from '#src/kernel/lost-answers.ts'

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

const DiskState = Type.Object({ submissions: Submissions })

type DiskRun = Run<DiskDeps, DiskCreateInput, Static<typeof DiskState>>

const STEP_TIMEOUT_MS = 15 * 60_000
/** A volume made from a snapshot is copied. */
const FOLLOW_TIMEOUT_MS = 75 * 60_000

export const vmDiskCreateJob = defineJob<DiskDeps>()({
  type: 'vm.disk-create',
  input: DiskCreateInput,
  state: DiskState,
  resource_type: 'VOLUME',
  steps: [
    {
      name: 'create',
      title: 'Create the volume',
      run: async (run) => void (await submitOnce(run, creation(run))),
      undo: remove,
      timeout_ms: STEP_TIMEOUT_MS,
    },
    {
      name: 'fill',
      title: 'Wait for the volume',
      milestone: 'following',
      weight: 5,
      async run(run) {
        await followSubmission(run, creation(run))
        await verifySubmission(run, creation(run))
      },
      timeout_ms: FOLLOW_TIMEOUT_MS,
    },
    {
      name: 'attach',
      title: 'Attach the volume',
      weight: 4,
      run: async (run) => void (await changeOnce(run, attachment(run))),
      timeout_ms: STEP_TIMEOUT_MS,
    },
  ],
  on_failure: 'undo',
  done: ({ input }) => `Volume ${input.name} is attached to virtual machine ${input.virtual_machine_name}.`,
})

function creation(run: DiskRun): FollowedChange {
  const { volume_id, create, name } = run.input
  const change = platformChange(run.deps.cloudstack, run, {
    name: 'create',
    command: 'createVolume',
    args: { ...create, customid: volume_id },
    creates: true,
    slow: true,
  })
  return {
    ...change,
    repeatable: true,
    find: async () => ((await volume(run)) === undefined ? undefined : { made: volume_id }),
    // The volume itself shows when it is there; the platform's job only says why it is not.
    async verify() {
      for (;;) {
        const row = await volume(run)
        const state = row === undefined ? 'gone' : textOf(row, 'state')
        if (state === 'Allocated' || state === 'Ready') return null
        if (state !== 'Creating' && state !== 'Copying') return `volume ${name} is ${state}`
        await run.deps.cloudstack.pause(ASK_AGAIN_MS, run.signal)
      }
    },
  }
}

function attachment(run: DiskRun): FollowedChange {
  const { volume_id: id, virtual_machine_id: virtualmachineid, device_id } = run.input
  return platformChange(run.deps.cloudstack, run, {
    name: 'attach',
    command: 'attachVolume',
    args: { id, virtualmachineid, deviceid: device_id ?? undefined },
    postcondition: { thing: 'volume', args: { id }, expect: { virtualmachineid, state: 'Ready' } },
  })
}

const ASK_AGAIN_MS = 1000
const REMOVED = new Set(['Expunging', 'Expunged', 'Destroy'])

/** What is being removed is no volume of ours any more. */
async function volume(run: DiskRun): Promise<Raw | undefined> {
  const args = { id: run.input.volume_id, listall: true }
  const read = () => findOne(run.deps.cloudstack, 'listVolumes', 'volume', args, { signal: run.signal })
  const row = await untilAnswered(run.signal, read, { even_refused: true })
  return row === undefined || REMOVED.has(textOf(row, 'state') ?? '') ? undefined : row
}

/** Nothing of a failed order stays: the volume that could not be attached is deleted, unless it was attached after all. */
async function remove(run: DiskRun): Promise<void> {
  const row = await volume(run)
  if (row === undefined) return
  if (textOf(row, 'virtualmachineid') !== null)
    throw new ApiError(
      'VOLUME_ATTACHED',
      `Volume ${run.input.name} (${run.input.volume_id}) is attached and was left alone.`,
    )
  await run.deps.cloudstack.call('deleteVolume', { id: run.input.volume_id })
}
