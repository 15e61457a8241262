// The job that removes the NVR: its machine, the disk with the recordings if that was chosen, and last what we know of it.
import { type Static, Type } from 'typebox'
import { type Raw, rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { WHOLE_SCOPE } from '#src/drivers/cloudstack/lists.ts'
import { platformChange } from '#src/drivers/cloudstack/platform-change.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import { defineJob, type Run } from '#src/jobs/define.ts'
import { changeOnce, Submissions } from '#src/jobs/submit-once.ts'
import { untilAnswered } from '#src/kernel/lost-answers.ts'
import { NVR_LIMIT, type NvrJobDeps } from './initialize.job.ts'

const DeleteInput = Type.Object({
  instance_id: Type.String(),
  vm_id: Type.Union([Type.String(), Type.Null()]),
  destroys_disks: Type.Boolean(),
})
const DeleteState = Type.Object({
  submissions: Submissions,
  /** Disks for recordings that the machine had. */
  disks: Type.Array(Type.Object({ id: Type.String(), name: Type.String() })),
})
type DeleteRun = Run<NvrJobDeps, Static<typeof DeleteInput>, Static<typeof DeleteState>>

export const nvrDeleteJob = defineJob<NvrJobDeps>()({
  type: 'nvr.delete',
  input: DeleteInput,
  state: DeleteState,
  resource_type: 'NVR',
  limits: NVR_LIMIT,
  steps: [
    { name: 'disks', title: 'Read its disks', run: readDisks },
    { name: 'machine', title: 'Remove the virtual machine', weight: 6, run: removeMachine },
    { name: 'forget', title: 'Remove it from the records', run: forget },
  ],
  done: ({ state, input }) => {
    const disks = (state.disks ?? []).map(({ id, name }) => `${name} (${id})`)
    if (disks.length === 0) return 'The NVR is deleted.'
    return `The NVR is deleted. Its recordings ${input.destroys_disks ? 'were destroyed with' : 'stay on'} ${disks.join(', ')}.`
  },
})

function machine(run: DeleteRun): Promise<Raw | undefined> {
  const args = { id: run.input.vm_id ?? '', details: 'min', ...WHOLE_SCOPE }
  const read = () => findOne(run.deps.cloudstack, 'listVirtualMachines', 'virtualmachine', args, { signal: run.signal })
  return run.input.vm_id === null ? Promise.resolve(undefined) : untilAnswered(run.signal, read)
}

/** While they are attached: afterwards nothing says whose they were. */
async function readDisks(run: DeleteRun): Promise<void> {
  if ((await machine(run)) === undefined) return
  const args = { virtualmachineid: run.input.vm_id ?? '', type: 'DATADISK', ...WHOLE_SCOPE, page: 1, pagesize: 500 }
  const content = await untilAnswered(run.signal, () =>
    run.deps.cloudstack.call('listVolumes', args, { signal: run.signal }),
  )
  const disks = rowsOf(content, 'volume').flatMap((row) => {
    const id = textOf(row, 'id')
    return id === null ? [] : [{ id, name: textOf(row, 'name') ?? id }]
  })
  await run.save({ disks })
}

async function removeMachine(run: DeleteRun): Promise<void> {
  const { vm_id, destroys_disks } = run.input
  if (vm_id === null || (await machine(run)) === undefined) return
  const volumeids = destroys_disks ? (run.state.disks ?? []).map(({ id }) => id) : []
  await changeOnce(
    run,
    platformChange(run.deps.cloudstack, run, {
      name: 'destroy',
      command: 'destroyVirtualMachine',
      args: { id: vm_id, expunge: true, ...(volumeids.length === 0 ? {} : { volumeids }) },
      postcondition: { thing: 'vm', args: { id: vm_id }, expect: { state: 'Expunging' }, gone: true },
    }),
  )
}

function forget(run: DeleteRun): Promise<void> {
  return run.fenced((trx) => run.deps.cam_store.delete(trx, run.input.instance_id))
}
