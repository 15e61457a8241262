/** Asking for jobs. */
import { denied, invalid } from '../api-fault.ts'
import type { Call, Commands } from '../call.ts'
import type { Job } from '../records.ts'
import type { Json } from '../row.ts'
import { keywordTest, paged, visible } from '../scope.ts'
import { accountText } from '../texts.ts'
import { inline, wireDate, wireDateOrNull } from '../wire.ts'

export const jobs: Commands = {
  queryAsyncJobResult: (call) => {
    const job = call.state.tables.jobs.get(call.params.need('jobid'))
    if (job === null) throw invalid('Unable to find a job by id: entity does not exist')
    const { account } = call.caller
    // A job is visible to its caller alone; the owner of the machine is not.
    if (account.accounttype !== 1 && job.accountid !== account.id)
      throw denied(`Account ${accountText(account)} is not authorized to see job id=${job.id}`)
    return inline(jobView(call, job))
  },
  listAsyncJobs: (call) => {
    const from = call.params.date('startdate')
    const keyword = keywordTest(call)
    const mine = visible(call)
    const server = call.params.text('managementserverid')
    const here = call.state.tables.managementservers.values().next().value?.id
    const found = call.state.tables.jobs.filter(
      (job) =>
        job.jobstatus === 0 &&
        (from === null || job.created >= from) &&
        keyword(job.cmd) &&
        mine({ accountid: job.accountid, projectid: null }) &&
        (server === null || server === here),
    )
    return paged(call, found, (job) => jobView(call, job))
  },
}

function jobView(call: Call, job: Job): Record<string, Json> {
  const { tables } = call.state
  const account = tables.accounts.get(job.accountid)
  const server = tables.managementservers.values().next().value
  return {
    jobid: job.id,
    accountid: job.accountid,
    account: account?.name ?? null,
    domainid: account?.domainid ?? null,
    domainpath: tables.domains.get(account?.domainid)?.path ?? null,
    userid: job.userid,
    cmd: job.cmd,
    jobstatus: job.jobstatus,
    jobprocstatus: 0,
    jobresultcode: job.jobresultcode,
    jobresulttype: job.jobresult === null ? null : 'object',
    jobresult: job.jobresult,
    jobinstancetype: job.jobinstancetype,
    jobinstanceid: job.jobinstanceid,
    created: wireDate(job.created),
    completed: wireDateOrNull(job.completed),
    ...(job.jobstatus === 0 ? { managementserverid: server?.id ?? null, managementservername: 'mgmt-01' } : {}),
  }
}
