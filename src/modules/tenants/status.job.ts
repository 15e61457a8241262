// The job that deactivates or activates a tenant: the platform has no switch for a domain, so each account is changed, and
// what was changed is kept so that activating restores exactly that (cloudstack.md 8.3).
import { type Static, Type } from 'typebox'
import { tenants } from '#src/contract/tenants.ts'
import { textOf } from '#src/drivers/cloudstack/fields.ts'
import { platformChange } from '#src/drivers/cloudstack/platform-change.ts'
import { defineJob, type Run } from '#src/jobs/define.ts'
import { changeOnce, Submissions } from '#src/jobs/submit-once.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { asApiError } from '#src/kernel/http/errors.ts'
import { untilAnswered } from '#src/kernel/lost-answers.ts'
import { changeTenant, findTenant } from '#src/store/tenants.ts'
import type { TenantCreateDeps } from './create.job.ts'
import { accountsOf } from './lookup.ts'

export const StatusInput = Type.Object({
  id: Type.String(),
  name: Type.String(),
  is_active: Type.Boolean(),
  stop_instances: Type.Boolean(),
})
type StatusInput = Static<typeof StatusInput>

const StatusState = Type.Object({
  submissions: Submissions,
  /** Null: not known which ones, so all of them. */
  accounts: Type.Union([Type.Integer(), Type.Null()]),
  stopped_vm_ids: Type.Array(Type.String()),
})
type StatusRun = Run<TenantCreateDeps, StatusInput, Static<typeof StatusState>>

export const tenantStatusSetJob = defineJob<TenantCreateDeps>()({
  type: 'tenant.status',
  input: StatusInput,
  state: StatusState,
  result: tenants.routes.tenantStatusSet.ok[200],
  resultOf: ({ input, state: { accounts = null, stopped_vm_ids = [] } }) => ({
    is_active: input.is_active,
    message: statusSentence(input, accounts, stopped_vm_ids.length),
    tenant_id: input.id,
    stopped_virtual_machine_ids: stopped_vm_ids,
  }),
  resource_type: 'TENANT',
  on_failure: 'stop',
  steps: [
    { name: 'remember', title: 'Remember what is active', run: remember },
    { name: 'accounts', title: 'Change the accounts', weight: 5, run: changeAccounts },
    { name: 'record', title: 'Record the status', run: record },
  ],
  done: ({ input }) => `Tenant ${input.name} is ${input.is_active ? 'active' : 'deactivated'}.`,
})

/** Deactivating refuses new things first of all, and keeps what it is about to change. */
async function remember(run: StatusRun): Promise<void> {
  const { id, is_active, stop_instances } = run.input
  const { db } = run.deps.database
  const row = await findTenant(db, id)
  if (is_active) {
    await run.save({ accounts: row?.locked_account_ids?.length ?? null, stopped_vm_ids: row?.stopped_vm_ids ?? [] })
    return
  }
  const enabled = (await accounts(run)).filter((account) => account.state === 'enabled').map((account) => account.id)
  const running = stop_instances ? await runningMachines(run) : []
  // A second deactivation adds to what the first one changed.
  const before = row?.is_active === false ? row : undefined
  const locked = [...new Set([...(before?.locked_account_ids ?? []), ...enabled])]
  const stopped = [...new Set([...(before?.stopped_vm_ids ?? []), ...running])]
  await changeTenant(db, id, {
    is_active: false,
    locked_account_ids: JSON.stringify(locked),
    stopped_vm_ids: JSON.stringify(stopped),
  })
  await run.save({ accounts: locked.length, stopped_vm_ids: stopped })
}

async function changeAccounts(run: StatusRun): Promise<void> {
  const { id, is_active } = run.input
  const locked_before = (await findTenant(run.deps.database.db, id))?.locked_account_ids ?? null
  const all = await accounts(run)
  const wanted = all.filter((account) => needsChange(run.input, account, locked_before))
  const done: string[] = []
  for (const account of wanted) {
    try {
      await (is_active ? enable(run, account) : disable(run, account))
      done.push(account.name)
      run.progress((100 * done.length) / wanted.length)
    } catch (thrown) {
      const refused = asApiError(thrown, run.input.id)
      const before = done.length === 0 ? 'None was changed before it.' : `Changed before it: ${done.join(', ')}.`
      throw new ApiError(
        refused.code,
        `The account ${account.name} could not be changed: ${refused.message} ${before}`,
        { cause: thrown, upstream_message: refused.upstream_message },
      )
    }
  }
}

interface Account {
  id: string
  name: string
  state: string
}

/** Accounts that were not enabled before the tenant was deactivated stay as they are. */
function needsChange(input: StatusInput, { id, state }: Account, locked_before: readonly string[] | null): boolean {
  if (input.is_active) return state !== 'enabled' && (locked_before === null || locked_before.includes(id))
  if (input.stop_instances) return state === 'enabled' || (state === 'locked' && locked_before?.includes(id) === true)
  return state === 'enabled'
}

async function enable(run: StatusRun, account: Account): Promise<void> {
  await untilAnswered(run.signal, () => run.deps.cloudstack.call('enableAccount', { id: account.id }))
}

async function disable(run: StatusRun, account: Account): Promise<void> {
  const args = { id: account.id, lock: !run.input.stop_instances }
  const name = `account ${account.id}`
  const change = platformChange(run.deps.cloudstack, run, { name, command: 'disableAccount', args })
  const verify = async (): Promise<string | null> => {
    const now = (await accounts(run)).find(({ id }) => id === account.id)
    if (now === undefined || !needsChange(run.input, now, [account.id])) return null
    return `the account ${now.name} is ${now.state} still`
  }
  await changeOnce(run, { ...change, verify })
}

async function record(run: StatusRun): Promise<void> {
  const { id, is_active } = run.input
  const all = await accounts(run)
  const locked_before = (await findTenant(run.deps.database.db, id))?.locked_account_ids ?? null
  const off = all.find((account) => needsChange(run.input, account, locked_before))
  if (off !== undefined) {
    throw new ApiError('CHANGE_NOT_SEEN', `The compute platform shows the account ${off.name} as ${off.state} still.`)
  }
  const restored = is_active ? { locked_account_ids: null, stopped_vm_ids: null } : {}
  await changeTenant(run.deps.database.db, id, { is_active, ...restored })
}

async function accounts(run: StatusRun): Promise<Account[]> {
  const rows = await untilAnswered(run.signal, () => accountsOf(run.deps.cloudstack, run.input.id, run.signal))
  return rows.map((row) => ({
    id: textOf(row, 'id') ?? '',
    name: textOf(row, 'name') ?? '',
    state: textOf(row, 'state') ?? '',
  }))
}

const MOST_IDS = 10_000

async function runningMachines(run: StatusRun): Promise<string[]> {
  const ids: string[] = []
  const args = { domainid: run.input.id, isrecursive: true, listall: true, state: 'Running', details: 'min' }
  const options = { signal: run.signal }
  for await (const rows of run.deps.cloudstack.listPages('listVirtualMachines', args, 'virtualmachine', options)) {
    // Disabling an account leaves the machines of projects alone.
    const own = rows.filter((row) => textOf(row, 'projectid') === null)
    ids.push(...own.map((row) => textOf(row, 'id') ?? ''))
    if (ids.length >= MOST_IDS) break
  }
  return ids
}

function statusSentence(
  input: Pick<StatusInput, 'is_active' | 'stop_instances'>,
  accounts: number | null,
  machines: number,
): string {
  const counted = (count: number, word: string) => `${count} ${word}${count === 1 ? '' : 's'}`
  const which = accounts === null ? 'All accounts' : counted(accounts, 'account')
  if (!input.is_active && input.stop_instances) {
    return `${which} disabled; ${counted(machines, 'running machine')} stopped with them.`
  }
  if (!input.is_active) return `${which} locked: nobody signs in and nothing new is made; machines keep running.`
  const start = machines === 0 ? '' : ` ${counted(machines, 'machine')} stopped by deactivating can be started again.`
  return `${which} enabled; no machine was started.${start}`
}
