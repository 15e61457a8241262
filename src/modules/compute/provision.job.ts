// The job that makes a virtual machine, once. The machine's id is chosen before anything is sent, so that whatever the
// platform answers, the machine is looked for by it: the platform makes it first, may refuse afterwards, and takes an id once.
import { type Static, Type } from 'typebox'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { objectOf, type Raw, textOf } from '#src/drivers/cloudstack/fields.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import { WHOLE_SCOPE } from '#src/drivers/cloudstack/lists.ts'
import { platformChange } from '#src/drivers/cloudstack/platform-change.ts'
import type { Postcondition } from '#src/drivers/cloudstack/postcondition.ts'
import { defineJob, type Run } from '#src/jobs/define.ts'
import {
  changeOnce, type FollowedChange, followSubmission, Submissions, submitOnce, verifySubmission,
} from '#src/jobs/submit-once.ts' // biome-ignore format: one import
import { ApiError, UpstreamError } from '#src/kernel/errors.ts'
import { asApiError } from '#src/kernel/http/errors.ts'
import { untilAnswered } from '#src/kernel/lost-answers.ts'
import { withHostReport } from './host-report.ts'

export const ProvisionInput = Type.Object({
  name: Type.String(),
  /** Chosen for it. */
  vm_id: Type.String(),
  /** As on the wire, encrypted at rest: user data stands here. */
  args: Type.Record(Type.String(), Type.String()),
  starts: Type.Boolean(),
})
export type ProvisionInput = Static<typeof ProvisionInput>

interface ProvisionDeps {
  cloudstack: CloudStack
}

const ProvisionState = Type.Object({
  submissions: Submissions,
  initial_password: Type.Union([Type.String(), Type.Null()]),
})

const ProvisionResult = Type.Object({
  vm_id: Type.String(),
  /** Told once by the platform. */
  initial_password: Type.Union([Type.String(), Type.Null()]),
})

type ProvisionRun = Run<ProvisionDeps, ProvisionInput, Static<typeof ProvisionState>>

const SUBMIT_WEIGHT = 1
const FOLLOW_WEIGHT = 9
const SUBMIT_TIMEOUT_MS = 15 * 60_000
const FOLLOW_TIMEOUT_MS = 75 * 60_000

export const vmProvisionJob = defineJob<ProvisionDeps>()({
  type: 'vm.provision',
  input: ProvisionInput,
  state: ProvisionState,
  result: ProvisionResult,
  resultOf: (run) => ({ vm_id: vmIdOf(run), initial_password: run.state.initial_password ?? null }),
  resource_type: 'VM',
  steps: [
    {
      name: 'submit',
      title: 'Submit the virtual machine to the compute platform',
      weight: SUBMIT_WEIGHT,
      run: submit,
      undo: removeFailed,
      timeout_ms: SUBMIT_TIMEOUT_MS,
    },
    {
      name: 'follow',
      title: 'Wait for the virtual machine',
      milestone: 'following',
      weight: FOLLOW_WEIGHT,
      run: follow,
      timeout_ms: FOLLOW_TIMEOUT_MS,
    },
    {
      name: 'verify',
      title: 'Verify the virtual machine',
      milestone: 'verifying',
      run: (run) => verifySubmission(run, deployment(run)),
      retries: 0,
    },
  ],
  on_failure: 'undo',
  done: (run) => `Virtual machine ${run.input.name} is ${run.input.starts ? 'running' : 'there, stopped'}.`,
})

function deployment(run: ProvisionRun): FollowedChange {
  const { vm_id, name, args, starts } = run.input
  const postcondition: Postcondition = {
    thing: 'vm',
    args: { id: '$id' },
    expect: { state: starts ? 'Running' : 'Stopped' },
  }
  const change = platformChange(run.deps.cloudstack, run, {
    name: 'deploy',
    id: run.job_id,
    command: 'deployVirtualMachine',
    args: { ...args, customid: vm_id },
    creates: true,
    postcondition,
    async onResult(result) {
      const vm = objectOf(result, 'virtualmachine')
      if (vm === null) return
      await run.save({ initial_password: textOf(vm, 'password') })
      await run.about({ name: textOf(vm, 'name') ?? name })
    },
  })
  return {
    ...change,
    // The platform takes the machine's id once: the second of two equal calls is refused.
    repeatable: true,
    find: async (id) => (await change.find(id)) ?? ((await machine(run)) === undefined ? undefined : { made: vm_id }),
    follow: async (submission) => {
      const end = await change.follow(submission)
      if (end === undefined) await settled(run)
      return end
    },
  }
}

/** The id asked for, unless the platform named another one. */
function vmIdOf(run: Pick<ProvisionRun, 'state' | 'input'>): string {
  return run.state.submissions?.['deploy']?.made ?? run.input.vm_id
}

async function submit(run: ProvisionRun): Promise<void> {
  try {
    await submitOnce(run, deployment(run))
  } catch (error) {
    throw await leavesMachine(run, await explained(run, error))
  }
  await run.about({ id: vmIdOf(run) })
}

async function follow(run: ProvisionRun): Promise<void> {
  try {
    await followSubmission(run, deployment(run))
  } catch (error) {
    throw await leavesMachine(run, await explained(run, error))
  }
}

function explained({ deps, input, state, signal }: ProvisionRun, error: unknown): Promise<unknown> {
  return withHostReport(deps.cloudstack, error, vmIdOf({ input, state }), { args: input.args, signal })
}

/** The platform makes a machine before it refuses it, and keeps one that did not start: then the error names it. */
async function leavesMachine(run: ProvisionRun, error: unknown): Promise<unknown> {
  if (!(error instanceof ApiError || error instanceof UpstreamError)) return error
  const vm = await machine(run)
  if (vm === undefined) return error
  const { code, message, upstream_message } = asApiError(error, run.input.args['domainid'] ?? run.caller.tenant_id)
  const id = vmIdOf(run)
  await run.about({ id })
  return new ApiError(code, `${message} Virtual machine ${run.input.name} (${id}) is ${textOf(vm, 'state')}.`, {
    cause: error,
    upstream_message,
  })
}

/** A machine that the platform refused, or that never came up, is of no use to anybody and keeps its name. */
async function removeFailed(run: ProvisionRun): Promise<void> {
  const vm = await machine(run)
  if (vm === undefined) return
  const id = vmIdOf(run)
  const state = textOf(vm, 'state')
  const text = `Virtual machine ${run.input.name} (${id})`
  const accepted = run.state.submissions?.['deploy']?.accepted === true
  if (accepted && state !== 'Error') throw new ApiError('VM_STATE', `${text} is ${state} and was left alone.`)
  await run.note(
    'DESTRUCTIVE',
    `${text} is ${state} and is expunged, because it was ordered by this operation and failed.`,
  )
  await changeOnce(
    run,
    platformChange(run.deps.cloudstack, run, {
      name: 'expunge',
      command: 'destroyVirtualMachine',
      args: { id, expunge: true },
      postcondition: { thing: 'vm', args: { id }, expect: { state: 'Expunging' }, gone: true },
    }),
  )
}

function machine(run: ProvisionRun): Promise<Raw | undefined> {
  const args = { id: vmIdOf(run), details: 'min', ...WHOLE_SCOPE }
  const { cloudstack } = run.deps
  const read = () => findOne(cloudstack, 'listVirtualMachines', 'virtualmachine', args, { signal: run.signal })
  return untilAnswered(run.signal, read, { even_refused: true })
}

const ASK_AGAIN_MS = 1000
const MAY_START_MS = 30_000
const MOVING = new Set(['Starting', 'Stopping', 'Migrating', 'Restoring'])

/** Without a job to follow, the machine itself shows when it has come to rest. */
async function settled(run: ProvisionRun): Promise<void> {
  const started_ms = performance.now()
  for (;;) {
    const state = textOf((await machine(run)) ?? {}, 'state')
    // A fresh machine is Stopped for a moment before it starts.
    const may_start = run.input.starts && state === 'Stopped' && performance.now() - started_ms < MAY_START_MS
    if (state === null || !(MOVING.has(state) || may_start)) return
    await run.deps.cloudstack.pause(ASK_AGAIN_MS, run.signal)
  }
}
