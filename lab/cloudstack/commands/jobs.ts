/** Asking for jobs. */
import { invalid } from '../api-fault.ts'
import type { Call, Commands } from '../call.ts'
import type { Job } from '../records.ts'
import type { Json } from '../row.ts'
import { keywordTest, paged, visible } from '../scope.ts'
import { inline, wireDate, wireDateOrNull } from '../wire.ts'

export const jobs: Commands = {
  queryAsyncJobResult: (call) => {
    const job = call.state.tables.jobs.get(call.params.need('jobid'))
    if (job === null) throw invalid('Unable to find a job by id: entity does not exist')
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
    managementserverid: server?.id ?? null,
    managementservername: 'mgmt-01',
  }
}
