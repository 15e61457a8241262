// Jobs of the platform: the list, which it cannot filter by status, and how one ended.
import { pageOf } from '#src/contract/common.ts'
import type { discovery, PlatformJob } from '#src/contract/discovery.ts'
import type { Input } from '#src/contract/route.ts'
import { type Args, platformTime } from '#src/drivers/cloudstack/args.ts'
import { outcomeOf, readJob } from '#src/drivers/cloudstack/async-job.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { integerOf, type Raw, textOf, timeOf as timeOfField } from '#src/drivers/cloudstack/fields.ts'
import { CloudStackError } from '#src/drivers/cloudstack/platform-error.ts'
import { scopeOf } from '#src/drivers/cloudstack/tenant-scope.ts'
import { onePage } from '#src/drivers/cloudstack/page.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import { asApiError } from '#src/kernel/http/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { timeOf } from '#src/store/app-event-list.ts'

type In<Op extends keyof typeof discovery.routes> = Input<(typeof discovery.routes)[Op]>

const COMMAND = 'listAsyncJobs'
const ITEM = { key: 'asyncjobs', read: jobOf }

export function discoveryAsyncJobList(cloudstack: CloudStack) {
  return async ({ body }: In<'discoveryAsyncJobList'>, ctx: RequestContext) => {
    const filter = body ?? {}
    const page = pageOf(filter)
    const from = timeOf(filter.start_date, 'start_date')
    const args: Args = {
      startdate: from === undefined ? undefined : platformTime(from),
      keyword: filter.keyword,
      managementserverid: filter.management_server_id,
      ...ownerOf(filter),
    }
    const options = { signal: ctx.signal, traceparent: ctx.traceparent }
    const { status } = filter
    const { rows, count } =
      status === undefined
        ? await cloudstack.listPage(COMMAND, args, ITEM, page, options)
        : await onePage(cloudstack.listAll(COMMAND, args, ITEM, options), page, (job) => job.status === status)
    return { async_jobs: rows, count, ...page }
  }
}

export function discoveryAsyncJobGet(cloudstack: CloudStack) {
  return async ({ body }: In<'discoveryAsyncJobGet'>, ctx: RequestContext) => {
    const content = await jobContent(cloudstack, body.job_id, ctx)
    const job = { ...jobOf(content), job_id: body.job_id }
    return { ...job, failure: failureOf(content, body.job_id, ctx.caller.tenant_id) }
  }
}

async function jobContent(cloudstack: CloudStack, job_id: string, ctx: RequestContext): Promise<Raw> {
  try {
    return await cloudstack.call(
      'queryAsyncJobResult',
      { jobid: job_id },
      { signal: ctx.signal, traceparent: ctx.traceparent },
    )
  } catch (error) {
    if (error instanceof CloudStackError && error.status === 431) {
      throw new ApiError('JOB_NOT_FOUND', `Job ${job_id} of the compute platform not found.`, { cause: error })
    }
    throw error
  }
}

/** In our words: the platform's own may name machines and hold secrets. */
function failureOf(content: Raw, job_id: string, tenant_id: string | null): { code: string; message: string } | null {
  const job = readJob(content, job_id)
  if (job.status === 0) return null
  try {
    outcomeOf(job)
    return null
  } catch (error) {
    const { code, message } = asApiError(error, tenant_id)
    return { code, message }
  }
}

function ownerOf(filter: { account?: string; domain_id?: string }): Args {
  const { account, domain_id } = filter
  if (account !== undefined && domain_id === undefined) throw invalidField('body.domain_id', 'is required with account')
  if (account !== undefined) return { listall: true, account, domainid: domain_id }
  // This list knows no projects.
  return domain_id === undefined ? { listall: true } : scopeOf(domain_id)
}

const STATUS = ['IN_PROGRESS', 'SUCCESS', 'FAILED', 'CANCELLED'] as const

function jobOf(row: Raw): PlatformJob {
  return {
    job_id: textOf(row, 'jobid') ?? '',
    command: textOf(row, 'cmd')?.split('.').at(-1) ?? null,
    status: STATUS[integerOf(row, 'jobstatus') ?? 0] ?? 'IN_PROGRESS',
    result_code: integerOf(row, 'jobresultcode'),
    resource_type: textOf(row, 'jobinstancetype'),
    resource_id: textOf(row, 'jobinstanceid'),
    account_id: textOf(row, 'accountid'),
    user_id: textOf(row, 'userid'),
    management_server_id: textOf(row, 'managementserverid'),
    created_at: timeOfField(row, 'created'),
    completed_at: timeOfField(row, 'completed'),
  }
}
