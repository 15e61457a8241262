// The job that makes a tenant, all or nothing. The domain's id is chosen and claimed before the platform is asked, so that
// after a crash or a lost answer each step finds its own work again, and nothing else's (cloudstack.md 8.1).
import { type Static, Type } from 'typebox'
import type { Args } from '#src/drivers/cloudstack/args.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { type Raw, rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { PLATFORM, platformChange } from '#src/drivers/cloudstack/platform-change.ts'
import { defineJob, type Run } from '#src/jobs/define.ts'
import { type Change, changeOnce, Submissions, submitOnce } from '#src/jobs/submit-once.ts'
import { ApiError, UpstreamError } from '#src/kernel/errors.ts'
import { untilAnswered } from '#src/kernel/lost-answers.ts'
import type { Database } from '#src/store/database.ts'
import { changeTenant, forgetTenant } from '#src/store/tenants.ts'
import { readDomain } from './lookup.ts'
import { findRange, type PublicRange, rangeColumns, type RangeSpec, readRange, requireDedicable } from './ranges.ts'

export interface TenantCreateDeps {
  cloudstack: CloudStack
  database: Database
}

export const TenantInput = Type.Object({
  id: Type.String(),
  name: Type.String(),
  network_domain: Type.Optional(Type.String()),
  range: Type.Optional(
    Type.Object({
      zone_id: Type.String(),
      start_ip: Type.String(),
      end_ip: Type.String(),
      gateway: Type.String(),
      netmask: Type.String(),
    }),
  ),
  account: Type.String(),
  username: Type.String(),
  /** Encrypted at rest with the whole input. */
  password: Type.String(),
})
export type TenantInput = Static<typeof TenantInput>

const CreateState = Type.Object({
  submissions: Submissions,
  /** Said before it is done: what undoing must do with a range that is found to be the tenant's. */
  range: Type.Union([Type.Literal('making'), Type.Literal('dedicating')]),
  range_id: Type.String(),
  released_id: Type.String(),
})

type CreateRun = Run<TenantCreateDeps, TenantInput, Static<typeof CreateState>>

const DOMAIN_ADMIN = 2

export const tenantCreateJob = defineJob<TenantCreateDeps>()({
  type: 'tenant.create',
  input: TenantInput,
  state: CreateState,
  resource_type: 'TENANT',
  on_failure: 'undo',
  undo: dropClaim,
  steps: [
    { name: 'domain', title: 'Make the domain', weight: 2, holds: hasDomain, run: makeDomain, undo: dropDomain },
    { name: 'account', title: 'Make the domain admin', weight: 2, holds: hasAccount, run: makeAccount },
    {
      name: 'range',
      title: 'Dedicate the public range',
      weight: 2,
      applies: ({ input }) => (input.range === undefined ? 'No range was asked for.' : true),
      run: dedicateRange,
      undo: releaseRange,
    },
    { name: 'record', title: 'Record the tenant', run: record, point_of_no_return: true },
  ],
  done: ({ input }) => `Tenant ${input.name} is there.`,
})

async function hasDomain(run: CreateRun): Promise<boolean> {
  const domain = await untilAnswered(run.signal, () => readDomain(run.deps.cloudstack, run.input.id, run.signal))
  return domain !== undefined
}

async function makeDomain(run: CreateRun): Promise<void> {
  const { id, name, network_domain } = run.input
  const args = { name, domainid: id, networkdomain: network_domain }
  try {
    await submitOnce(run, ownThing(run, 'domain', 'createDomain', args, hasDomain))
  } catch (error) {
    throw domainError(error, name)
  }
}

/** Made under a name or id of its own, so that the platform refuses the second of two equal calls. */
function ownThing(
  run: CreateRun,
  name: string,
  command: string,
  args: Args,
  exists: (run: CreateRun) => Promise<boolean>,
): Change {
  return {
    name,
    system: PLATFORM,
    repeatable: true,
    submit: async () => textOf(await run.deps.cloudstack.call(command, args), 'id'),
    find: async () => ((await exists(run)) ? { made: null } : undefined),
  }
}

function domainError(error: unknown, name: string): unknown {
  const text = error instanceof UpstreamError && error.status !== undefined ? (error.detail ?? '') : ''
  if (/already exists/i.test(text))
    return new ApiError('TENANT_EXISTS', `A domain named ${name} exists.`, { cause: error })
  return /network domain/i.test(text)
    ? new ApiError(
        'COMPUTE_REJECTED',
        'The compute platform refused `network_domain`: it must be at most 190 characters of labels with 1 to 63 letters, digits and hyphens each, separated by dots.',
        { cause: error },
      )
    : error
}

async function hasAccount(run: CreateRun): Promise<boolean> {
  const { id, account } = run.input
  const args = { domainid: id, name: account, listall: true, details: 'min', page: 1, pagesize: 2 }
  const content = await untilAnswered(run.signal, () =>
    run.deps.cloudstack.call('listAccounts', args, { signal: run.signal }),
  )
  return rowsOf(content, 'account').some((row) => textOf(row, 'name') === account && textOf(row, 'domainid') === id)
}

async function makeAccount(run: CreateRun): Promise<void> {
  const { id, name, account, username, password } = run.input
  const args = {
    accounttype: DOMAIN_ADMIN,
    account,
    username,
    password,
    firstname: name,
    lastname: 'admin',
    email: `${username}@${run.input.network_domain ?? 'tenant.invalid'}`,
    domainid: id,
  }
  await submitOnce(run, ownThing(run, 'account', 'createAccount', args, hasAccount))
}

/** An existing range that is exactly this one becomes the tenant's; otherwise a new one is made for it. */
async function dedicateRange(run: CreateRun): Promise<void> {
  const { range, id } = run.input
  if (range === undefined) return
  const { exact, neighbour } = await rangeOf(run, range)
  if (exact?.tenant_id !== id) {
    const intent = exact === undefined ? 'making' : 'dedicating'
    if (run.state.range !== intent) await run.save({ range: intent })
    if (exact !== undefined) requireDedicable(exact, id)
    const change = ownThing(run, 'range', ...dedication(range, id, exact, neighbour), async () =>
      isDedicated(run, range),
    )
    const verify = async () =>
      (await isDedicated(run, range)) ? null : 'the public range is not dedicated to the tenant'
    await changeOnce(run, { ...change, verify })
  }
  const found = exact?.tenant_id === id ? exact : (await rangeOf(run, range)).exact
  await run.save({ range_id: found?.id ?? '' })
}

async function isDedicated(run: CreateRun, range: RangeSpec): Promise<boolean> {
  return (await rangeOf(run, range)).exact?.tenant_id === run.input.id
}

function dedication(
  range: RangeSpec,
  id: string,
  exact: PublicRange | undefined,
  neighbour: PublicRange | undefined,
): [string, Args] {
  if (exact !== undefined) return ['dedicatePublicIpRange', { id: exact.id, domainid: id }]
  const { zone_id, start_ip, end_ip, gateway, netmask } = range
  const place = { zoneid: zone_id, startip: start_ip, endip: end_ip, gateway, netmask }
  // One network has one segment: a new part of it gets that of the parts that are there.
  const vlan = neighbour?.vlan?.replace(/^vlan:\/\//, '') ?? 'untagged'
  return ['createVlanIpRange', { ...place, vlan, forvirtualnetwork: true, domainid: id }]
}

function rangeOf(run: CreateRun, range: RangeSpec) {
  return untilAnswered(run.signal, () => findRange(run.deps.cloudstack, range, run.signal))
}

async function record(run: CreateRun): Promise<void> {
  const { database, cloudstack } = run.deps
  const { id } = run.input
  const domain = await untilAnswered(run.signal, () => readDomain(cloudstack, id, run.signal))
  if (domain === undefined)
    throw new ApiError(
      'COMPUTE_ERROR',
      `Tenant ${id} was made on the compute platform, which does not list it any more.`,
    )
  const { range_id } = run.state
  const range =
    range_id === undefined
      ? undefined
      : await untilAnswered(run.signal, () => readRange(cloudstack, range_id, run.signal))
  await changeTenant(database.db, id, {
    ...domainColumns(domain),
    stage: 'ready',
    seen_at: new Date(),
    ...(range === undefined ? {} : { ...rangeColumns(range), dedicated_at: new Date() }),
  })
}

function domainColumns(domain: Raw) {
  return { path: textOf(domain, 'path'), network_domain: textOf(domain, 'networkdomain') }
}

/** A call whose answer was lost may still be on its way; before something counts as not made it gets time to arrive. */
async function settled(run: CreateRun): Promise<void> {
  const lost = Object.values(run.state.submissions ?? {}).some(({ accepted }) => !accepted)
  if (lost) await run.settled()
}

async function releaseRange(run: CreateRun): Promise<void> {
  const { range, id } = run.input
  if (range === undefined || run.state.range === undefined) return
  await settled(run)
  await untilAnswered(run.signal, async () => {
    const { exact } = await rangeOf(run, range)
    // The platform releases the range itself when somebody deletes the domain meanwhile.
    const released = exact?.tenant_id === null && exact.id === run.state.range_id
    if (exact === undefined || (exact.tenant_id !== id && !released)) return
    await run.save({ released_id: exact.id })
    if (!released) await run.deps.cloudstack.call('releasePublicIpRange', { id: exact.id })
  })
  const made_id = run.state.range === 'making' ? run.state.released_id : undefined
  if (made_id === undefined) return
  await untilAnswered(run.signal, async () => {
    const made = await untilAnswered(run.signal, () => readRange(run.deps.cloudstack, made_id, run.signal))
    if (made !== undefined) await run.deps.cloudstack.call('deleteVlanIpRange', { id: made_id })
  })
}

/** Takes accounts, users and what they own with it. */
async function dropDomain(run: CreateRun): Promise<void> {
  if (!asked(run)) return
  await settled(run)
  if (!(await hasDomain(run))) return
  const args = { id: run.input.id, cleanup: true }
  const change = platformChange(run.deps.cloudstack, run, { name: 'delete_domain', command: 'deleteDomain', args })
  const verify = async () => ((await hasDomain(run)) ? 'the domain is still there' : null)
  await changeOnce(run, { ...change, verify })
}

/** Whether the domain may have been made by this job; a refused one was not. */
function asked(run: CreateRun): boolean {
  return run.state.submissions?.['domain'] !== undefined
}

/** Undoes the claim of the name, which was written with the job, unless the domain could not be removed: then the row stays and says so. */
async function dropClaim(run: CreateRun): Promise<void> {
  const { id } = run.input
  if (asked(run) && (await hasDomain(run))) {
    await changeTenant(run.deps.database.db, id, { stage: 'create_failed' })
    throw new ApiError(
      'COMPUTE_ERROR',
      `The domain of tenant ${run.input.name} could not be removed; the tenant is listed with a flag.`,
    )
  }
  await forgetTenant(run.deps.database.db, id)
}
