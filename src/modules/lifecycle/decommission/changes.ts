// What is changed of a decommission on its way: retried, cancelled, its wipe confirmed by a person.
import type { decommission } from '#src/contract/nodes/decommission.ts'
import type { Input } from '#src/contract/route.ts'
import type { Jobs } from '#src/jobs/admit.ts'
import { noteFrom } from '#src/jobs/audit-log.ts'
import { closeOutstanding } from '#src/jobs/outstanding.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { ChangeDeps } from '#src/store/app-events.ts'
import { confirmWipe, findWipe } from '#src/store/wipes.ts'
import { recordOperation } from '../../operation.ts'
import { nodeJobStatusOf, readNodeJob } from '../job-view.ts'
import { jobOfNode } from '../node-jobs.ts'
import { decommissionStartJob } from './decommission.job.ts'

export interface ChangesDeps extends ChangeDeps {
  jobs: Jobs
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
      const before = await jobs.inputOf(decommissionStartJob, row)
      const input = { ...before, wipe: body?.wipe ?? before.wipe }
      const subject = about(params.nodeIP, 'Retry decommission', row.resource_id)
      const again = await recordOperation(deps, ctx, 'NODE', subject, () =>
        jobs.retry(row.id, decommissionStartJob, {
          input,
          also: (trx) => noteFrom(trx, row.id, lineOf(ctx, 'Retried', body?.reason)),
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
        throw new ApiError('NODE_STATE', 'The decommission has failed before its end; retry it first.')
      const subject = about(params.nodeIP, 'Confirm wipe', row.resource_id)
      await recordOperation(deps, ctx, 'NODE', subject, () =>
        database.transact(async (trx) => {
          const statement = {
            by: ctx.caller.username,
            at: new Date().toISOString(),
            evidence: body.evidence,
            disks: body.disks ?? [],
          }
          if ((await findWipe(trx, row.id)) !== undefined) await confirmWipe(trx, row.id, statement)
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

function lineOf({ caller }: RequestContext, what: string, reason: string | undefined) {
  const text = `${what} by ${caller.username}${reason === undefined ? '.' : `: ${reason}`}`
  return { level: 'INFO' as const, step: '', attempt: 1, actor: caller.username, text }
}
