// The job that deletes a tenant: its domain with everything in it on the platform, then whoever acts for it here. It cannot be
// undone, so what can be refused comes first.
import { type Static, Type } from 'typebox'
import { platformChange } from '#src/drivers/cloudstack/platform-change.ts'
import { defineJob, type Run } from '#src/jobs/define.ts'
import { changeOnce, Submissions } from '#src/jobs/submit-once.ts'
import { untilAnswered } from '#src/kernel/lost-answers.ts'
import { endCallersOf } from '#src/store/tenant-callers.ts'
import { changeTenant, forgetTenant } from '#src/store/tenants.ts'
import type { TenantCreateDeps } from './create.job.ts'
import { readDomain } from './lookup.ts'
import { readRange } from './ranges.ts'

const DeleteInput = Type.Object({
  id: Type.String(),
  name: Type.String(),
  /** Of its dedicated public range. */
  range_id: Type.Union([Type.String(), Type.Null()]),
})
type DeleteRun = Run<TenantCreateDeps, Static<typeof DeleteInput>, Static<typeof DeleteState>>

const DeleteState = Type.Object({ submissions: Submissions })

export const tenantDeleteJob = defineJob<TenantCreateDeps>()({
  type: 'tenant.delete',
  input: DeleteInput,
  state: DeleteState,
  resource_type: 'TENANT',
  on_failure: 'stop',
  limits: [{ of: ({ id }) => `tenant ${id}`, most: 1 }],
  steps: [
    { name: 'close', title: 'Let nobody change anything in it', run: close },
    {
      name: 'domain',
      title: 'Delete its domain with everything in it',
      weight: 8,
      timeout_ms: 60 * 60_000,
      point_of_no_return: true,
      holds: isGone,
      run: deleteDomain,
    },
    {
      name: 'range',
      title: 'Release its public range',
      applies: ({ input }) => (input.range_id === null ? 'No range is dedicated to it.' : true),
      holds: async (run) => !(await hasRange(run)),
      run: releaseRange,
    },
    { name: 'record', title: 'End its users and tokens, and forget it', run: forget },
  ],
  done: ({ input }) => `Tenant ${input.name} and everything in it are deleted.`,
})

async function close({ deps, input }: DeleteRun): Promise<void> {
  await changeTenant(deps.database.db, input.id, { is_active: false })
}

async function isGone({ deps, input, signal }: DeleteRun): Promise<boolean> {
  return (await untilAnswered(signal, () => readDomain(deps.cloudstack, input.id, signal))) === undefined
}

async function deleteDomain(run: DeleteRun): Promise<void> {
  const args = { id: run.input.id, cleanup: true }
  const change = platformChange(run.deps.cloudstack, run, { name: 'domain', command: 'deleteDomain', args, slow: true })
  const verify = async () => ((await isGone(run)) ? null : 'the domain is still there')
  await changeOnce(run, { ...change, verify })
}

/** The platform releases it with the domain; where it did not, nobody else could have it. */
async function hasRange({ deps, input, signal }: DeleteRun): Promise<boolean> {
  const id = input.range_id ?? ''
  const range = await untilAnswered(signal, () => readRange(deps.cloudstack, id, signal))
  return range?.tenant_id === input.id
}

async function releaseRange(run: DeleteRun): Promise<void> {
  const id = run.input.range_id ?? ''
  await untilAnswered(run.signal, async () => {
    if (await hasRange(run)) await run.deps.cloudstack.call('releasePublicIpRange', { id })
  })
}

async function forget({ deps, input }: DeleteRun): Promise<void> {
  await deps.database.transact(async (trx) => {
    await endCallersOf(trx, input.id)
    await forgetTenant(trx, input.id)
  })
}
