// The job that makes a virtual machine, once. The platform makes the machine before it queues its own job, so the call is
// never repeated blindly: ids are chosen and saved first, and after a lost answer the world is asked (cloudstack.md 2).
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { type Static, Type } from 'typebox'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { objectOf, type Raw, rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { WHOLE_SCOPE } from '#src/drivers/cloudstack/lists.ts'
import { CloudStackError, LostJobError, UnknownJobError } from '#src/drivers/cloudstack/platform-error.ts'
import { readBackJob } from '#src/drivers/cloudstack/later-jobs.ts'
import type { Proof } from '#src/drivers/cloudstack/proof.ts'
import { orRefusal, refusalOf } from '#src/drivers/cloudstack/refusals.ts'
import { untilAnswered, WHATEVER_IT_SAYS } from '#src/drivers/cloudstack/until-answered.ts'
import { defineJob, type Run } from '#src/jobs/define.ts'
import { ApiError } from '#src/kernel/errors.ts'

export const ProvisionInput = Type.Object({
  name: Type.String(),
  /** As on the wire, encrypted at rest: user data stands here. */
  args: Type.Record(Type.String(), Type.String()),
  starts: Type.Boolean(),
})
export type ProvisionInput = Static<typeof ProvisionInput>

interface ProvisionDeps {
  cloudstack: CloudStack
}

const ProvisionState = Type.Object({
  /** Machines of this name that were there before. */
  known_ids: Type.Array(Type.String()),
  platform_job_id: Type.String(),
  vm_id: Type.String(),
  /** Found by its name: the platform has no job that tells about it. */
  without_job: Type.Boolean(),
  initial_password: Type.Union([Type.String(), Type.Null()]),
})

const ProvisionResult = Type.Object({
  vm_id: Type.String(),
  /** Told once by the platform. */
  initial_password: Type.Union([Type.String(), Type.Null()]),
})

type ProvisionRun = Run<ProvisionDeps, ProvisionInput, Static<typeof ProvisionState>>

const DEPLOY_WEIGHT = 1
const WAIT_WEIGHT = 9
const DEPLOY_TIMEOUT_MS = 15 * 60_000
const WAIT_TIMEOUT_MS = 75 * 60_000
const SENDS = 3

export const vmProvisionJob = defineJob<ProvisionDeps>()({
  type: 'vm.provision',
  input: ProvisionInput,
  state: ProvisionState,
  result: ProvisionResult,
  resultOf: ({ state }) => ({ vm_id: state.vm_id ?? '', initial_password: state.initial_password ?? null }),
  resource_type: 'VM',
  steps: [
    {
      name: 'deploy',
      title: 'Hand the virtual machine over to the compute platform',
      weight: DEPLOY_WEIGHT,
      run: deploy,
      timeout_ms: DEPLOY_TIMEOUT_MS,
    },
    {
      name: 'wait',
      title: 'Wait for the virtual machine',
      milestone: 'following',
      weight: WAIT_WEIGHT,
      run: waitForVm,
      timeout_ms: WAIT_TIMEOUT_MS,
    },
    { name: 'read-back', title: 'Read back the virtual machine', milestone: 'verifying', run: readBackVm, retries: 0 },
  ],
  on_failure: 'stop',
  done: (run) => `Virtual machine ${run.input.name} is ${run.input.starts ? 'running' : 'there, stopped'}.`,
})

async function deploy(run: ProvisionRun): Promise<void> {
  if (run.state.vm_id !== undefined) return
  if (run.state.known_ids === undefined) {
    const known = await orRefusal(namesakes(run))
    await run.save({ known_ids: known.map((row) => textOf(row, 'id') ?? '') })
  }
  for (let sent = 1; ; sent += 1) {
    if (run.state.platform_job_id !== undefined && (await foundAgain(run))) return
    // The first attempt carries our job's id; one that the platform never saw may not be used twice for a create.
    const platform_job_id = run.state.platform_job_id === undefined ? run.job_id : randomUUID()
    await run.save({ platform_job_id })
    try {
      const answer = await run.deps.cloudstack.call('deployVirtualMachine', run.input.args, { job_id: platform_job_id })
      await made(run, textOf(answer, 'id'))
      return
    } catch (error) {
      if (!(error instanceof CloudStackError) || error.status !== undefined) throw refusalOf(error)
      if (error.failure === 'not_configured' || sent === SENDS) throw refusalOf(error)
      await run.note('WARN', 'The answer of the compute platform was lost; looking for the virtual machine.')
    }
  }
}

async function made(run: ProvisionRun, vm_id: string | null): Promise<void> {
  if (vm_id === null)
    throw new ApiError('COMPUTE_ERROR', 'The compute platform accepted the virtual machine but named none.')
  await run.about({ id: vm_id })
  await run.reached('submitted', { vm_id })
}

const SETTLE_MS = 3000
const ASK_AGAIN_MS = 1000
const ASK_FOR_MS = 5 * 60_000

/**
 * Looks for what a call made whose answer never came: by the platform's job, then by name among machines that were not
 * there before. Asked twice, because a call may still be on its way when the connection breaks. Throws when a machine of
 * the name appeared that nobody can tell apart from ours: then a person decides, and no second one is made.
 */
async function foundAgain(run: ProvisionRun): Promise<boolean> {
  for (let look = 1; look <= 2; look += 1) {
    if (look > 1) await pause(SETTLE_MS, undefined, { signal: run.signal })
    const job = await answered(run, () =>
      run.deps.cloudstack.queryJob(String(run.state.platform_job_id), { signal: run.signal }),
    )
    if (job !== undefined) {
      await made(run, job.instance_id)
      return true
    }
    const known = run.state.known_ids ?? []
    const fresh = (await answered(run, () => namesakes(run))).filter((row) => !known.includes(textOf(row, 'id') ?? ''))
    const ours = fresh.filter((row) => isAsOrdered(row, run.input.args))
    if (ours.length === 1) {
      await run.save({ without_job: true })
      await made(run, textOf(ours[0] ?? {}, 'id'))
      return true
    }
    if (ours.length > 1) {
      throw new ApiError(
        'JOB_INTERRUPTED',
        `Several virtual machines called ${run.input.name} appeared while the answer of the compute platform was lost; choose one by hand.`,
      )
    }
  }
  return false
}

/** The same zone, offering, template and owner as ordered. */
function isAsOrdered(row: Raw, args: Readonly<Record<string, string>>): boolean {
  return ['zoneid', 'serviceofferingid', 'templateid', 'account', 'domainid', 'projectid'].every(
    (name) => args[name] === undefined || textOf(row, name) === args[name],
  )
}

async function namesakes(run: ProvisionRun): Promise<Raw[]> {
  const args = { name: run.input.name, details: 'min,servoff,tmpl', ...WHOLE_SCOPE, page: 1, pagesize: 500 }
  const content = await run.deps.cloudstack.call('listVirtualMachines', args, { signal: run.signal })
  return rowsOf(content, 'virtualmachine').filter((row) => textOf(row, 'name') === run.input.name)
}

function answered<T>(run: ProvisionRun, ask: () => Promise<T>): Promise<T> {
  return orRefusal(untilAnswered(run.signal, ask, { ...WHATEVER_IT_SAYS, for_ms: ASK_FOR_MS }))
}

async function waitForVm(run: ProvisionRun): Promise<void> {
  if (run.state.without_job === true) return judgeByState(run, undefined)
  try {
    const result = await run.deps.cloudstack.followJob(String(run.state.platform_job_id), { signal: run.signal })
    const vm = objectOf(result, 'virtualmachine')
    if (vm === null) return
    await run.save({ initial_password: textOf(vm, 'password') })
    await run.about({ id: String(run.state.vm_id), name: textOf(vm, 'name') ?? run.input.name })
  } catch (error) {
    if (!(error instanceof LostJobError) && !(error instanceof UnknownJobError)) throw refusalOf(error)
    await judgeByState(run, error)
  }
}

async function readBackVm(run: ProvisionRun): Promise<void> {
  const id = String(run.state.vm_id)
  const proof: Proof = { thing: 'vm', args: { id }, expect: { state: run.input.starts ? 'Running' : 'Stopped' } }
  const change = { job_id: String(run.state.platform_job_id), proof, made_id: id }
  const found = await orRefusal(readBackJob(run.deps.cloudstack, change, run.signal))
  if (found === 'replaced')
    await run.note('INFO', 'It is not as this operation left it: another one of the same machine came after it.')
}

const MAY_START_MS = 30_000
const MOVING = new Set(['Starting', 'Stopping', 'Migrating', 'Restoring'])

/** Without a job to ask, the machine itself tells: it settles in the state ordered, or it did not come up. */
async function judgeByState(run: ProvisionRun, cause: Error | undefined): Promise<void> {
  const id = String(run.state.vm_id)
  const started_ms = performance.now()
  for (;;) {
    const content = await answered(run, () =>
      run.deps.cloudstack.call(
        'listVirtualMachines',
        { id, details: 'min', listall: true, page: 1, pagesize: 2 },
        { signal: run.signal },
      ),
    )
    const state = textOf(rowsOf(content, 'virtualmachine')[0] ?? {}, 'state')
    if (state === (run.input.starts ? 'Running' : 'Stopped')) return
    // A fresh machine is Stopped for a moment before it starts.
    const may_start = state === 'Stopped' && performance.now() - started_ms < MAY_START_MS
    if (state === null || !(MOVING.has(state) || may_start)) {
      const seen = state === null ? 'is gone' : `is ${state}`
      throw new ApiError(
        'JOB_INTERRUPTED',
        `The compute platform ended the operation without an outcome; virtual machine ${run.input.name} ${seen}.`,
        { cause },
      )
    }
    await pause(ASK_AGAIN_MS, undefined, { signal: run.signal })
  }
}
