// What is changed of a decommission on its way: retried, cancelled, its wipe confirmed by a person.
import type { decommission } from '#src/contract/nodes/decommission.ts'
import type { Input } from '#src/contract/route.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import type { Jobs } from '#src/jobs/admit.ts'
import { lockJob, noteFrom } from '#src/jobs/audit-log.ts'
import { closeOutstanding } from '#src/jobs/outstanding.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { ChangeDeps } from '#src/store/app-events.ts'
import { confirmWipe, openWipe } from '#src/store/wipes.ts'
import { recordOperation } from '../../operation.ts'
import type { LeaveInput } from '../leave/run.ts'
import { nodeJobStatusOf, readNodeJob } from '../job-view.ts'
import { jobOfNode } from '../node-jobs.ts'
import { decommissionStartJob } from './decommission.job.ts'
import { readPlatform } from './platform-reading.ts'

export interface ChangesDeps extends ChangeDeps {
  jobs: Jobs
  cloudstack: CloudStack
}

type Routes = typeof decommission.routes
const WIPE_STEPS = ['wipe-boot', 'wipe-wait']

export function decommissionChanges(deps: ChangesDeps) {
  const { database, jobs } = deps
  const { db } = database
  const latest = (text: string) => jobOfNode(db, decommissionStartJob.type, text)
  const about = (node_ip: string, what: string, resource_id: string | null) => ({
    resource_id,
    description: `${what} of node ${node_ip}`,
  })
  return {
    async decommissionRetry({ params, body }: Input<Routes['decommissionRetry']>, ctx: RequestContext) {
      const row = await latest(params.nodeIP)
      const input = await changedInput(deps, await jobs.inputOf(decommissionStartJob, row), body ?? {}, ctx.signal)
      const subject = about(params.nodeIP, 'Retry decommission', row.resource_id)
      const again = await recordOperation(deps, ctx, 'NODE', subject, () =>
        jobs.retry(row.id, decommissionStartJob, {
          input,
          also: (trx) => noteFrom(trx, row.id, { ...lineOf(ctx, 'Retried', body?.reason), data: { ...body } }),
        }),
      )
      return nodeJobStatusOf(await readNodeJob(db, again))
    },
    async decommissionCancel({ params, body }: Input<Routes['decommissionCancel']>, ctx: RequestContext) {
      const row = await latest(params.nodeIP)
      const subject = about(params.nodeIP, 'Cancel decommission', row.resource_id)
      const cancelled = await recordOperation(deps, ctx, 'NODE', subject, async () => {
        const asked = await jobs.cancel(row.id, ctx.caller)
        await database.transact((trx) => noteFrom(trx, row.id, lineOf(ctx, 'Cancelled', body?.reason)))
        return asked
      })
      return nodeJobStatusOf(await readNodeJob(db, cancelled))
    },
    async decommissionWipeConfirm({ params, body }: Input<Routes['decommissionWipeConfirm']>, ctx: RequestContext) {
      const row = await latest(params.nodeIP)
      if (row.job_status === 'failed')
        throw new ApiError(
          'NODE_STATE',
          `The decommission of node ${params.nodeIP} has failed before its end; retry it first.`,
        )
      const subject = about(params.nodeIP, 'Confirm wipe', row.resource_id)
      await recordOperation(deps, ctx, 'NODE', subject, () =>
        database.transact(async (trx) => {
          const statement = {
            by: ctx.caller.username,
            at: new Date().toISOString(),
            evidence: body.evidence,
            disks: body.disks ?? [],
          }
          await lockJob(trx, row.id)
          const { node_id, disks: expected_disks } = await jobs.inputOf(decommissionStartJob, row)
          // Where no image was started nobody reports, so nothing is waited for.
          await openWipe(trx, { job_id: row.id, node_id, token_hash: null, expected_disks, open_hours: 0 })
          await confirmWipe(trx, row.id, statement)
          await closeOutstanding(trx, row.id, WIPE_STEPS, ctx.caller.username)
          await noteFrom(trx, row.id, {
            ...lineOf(ctx, 'The wipe is confirmed by a person', body.evidence),
            level: 'WARN',
          })
        }),
      )
      return { message: 'The wipe is confirmed.' }
    },
  }
}

type RetryWish = NonNullable<Input<Routes['decommissionRetry']>['body']>

/** A retry may give up more machines, which it names, and wipe less; nothing else is destroyed that was not acknowledged. */
async function changedInput(
  { cloudstack }: Pick<ChangesDeps, 'cloudstack'>,
  before: LeaveInput,
  {
    wipe = before.wipe,
    force = false,
    vms = [],
    skip_steps = [],
    confirm_powered_off = before.confirm_powered_off,
  }: RetryWish,
  signal: AbortSignal,
): Promise<LeaveInput> {
  if (wipe !== before.wipe && wipe !== 'none')
    throw invalidField(
      'body.wipe',
      `${wipe} was not acknowledged: a retry keeps ${before.wipe}, or wipes no disk (none)`,
    )
  if (vms.length > 0 && !force)
    throw invalidField('body.force', 'must be true where vms names machines to be destroyed')
  const input = { ...before, wipe, skip_steps, ...(confirm_powered_off === undefined ? {} : { confirm_powered_off }) }
  if (vms.length === 0) return input
  const here = (await readPlatform(cloudstack, before, { signal })).vms.filter(({ kind }) => kind === 'user')
  const strange = vms.filter((name) => !here.some((vm) => vm.name === name))
  if (strange.length > 0)
    throw new ApiError(
      'PREFLIGHT_CHANGED',
      `These are no machines on the host: ${strange.join(', ')}. Name those that are.`,
    )
  const named = here.filter(({ name }) => vms.includes(name)).map(({ id, name }) => ({ id, name }))
  return { ...input, destroy: [...before.destroy.filter(({ id }) => !named.some((one) => one.id === id)), ...named] }
}

function lineOf({ caller }: RequestContext, what: string, reason: string | undefined) {
  const text = `${what} by ${caller.username}${reason === undefined ? '.' : `: ${reason}`}`
  return { level: 'INFO' as const, step: '', attempt: 1, actor: caller.username, text }
}
