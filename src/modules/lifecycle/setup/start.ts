// nodeSetupStart and nodeSetupStatus: the request is checked as a whole, then it is a job.
import type { nodeSetup, NodeSetupRequest, NodeSetupResponse } from '#src/contract/nodes/lifecycle-setup.ts'
import type { Input } from '#src/contract/route.ts'
import type { Jobs } from '#src/jobs/admit.ts'
import type { JobRow } from '#src/jobs/job-row.ts'
import { lastJob, runningJobOf } from '#src/jobs/lookup.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { addressOf } from '#src/kernel/ip-address.ts'
import { moveNode } from '#src/store/node-lifecycle.ts'
import { findNode, type NodeRow } from '#src/store/nodes.ts'
import { nodeJobOf, readNodeJob } from '../job-view.ts'
import { setupFacts, type SetupFacts } from './facts.ts'
import type { SetupDeps } from './input.ts'
import { checkRequest, type CheckedRequest } from './request.ts'
import { nodeSetupStartJob } from './setup.job.ts'

export interface StartDeps extends SetupDeps {
  jobs: Jobs
}

type Routes = typeof nodeSetup.routes

export function nodeSetupStart(deps: StartDeps) {
  return async ({ params, body }: Input<Routes['nodeSetupStart']>, ctx: RequestContext): Promise<NodeSetupResponse> => {
    const { db } = deps.database
    if (ctx.resumed) return answerOf(deps, (await deps.jobs.find(ctx.operation_id)) ?? gone(ctx.operation_id))
    const bmc_ip = addressOf('params.nodeIP', params.nodeIP)
    const node = found(await findNode(db, bmc_ip), bmc_ip)
    const running = await runningJobOf(db, { types: [nodeSetupStartJob.type], node_ip: bmc_ip })
    // The same order again is the same job.
    if (running !== undefined && requestOf(running) === textOf(body)) return answerOf(deps, running)
    const { facts, checked } = await check(deps, node, body, bmc_ip, ctx.signal)
    const job = await admit(deps, ctx, { node, body, facts, checked })
    ctx.setStatus(202)
    return answerOf(deps, job)
  }
}

export function nodeSetupStatus({ database }: StartDeps) {
  return async ({ body }: Input<Routes['nodeSetupStatus']>, ctx: RequestContext): Promise<NodeSetupResponse> => {
    const bmc_ip = addressOf('body.bmc_ip', body.bmc_ip)
    found(await findNode(database.db, bmc_ip), bmc_ip)
    const job = await lastJob(database.db, { types: [nodeSetupStartJob.type], node_ip: bmc_ip })
    if (job === undefined) throw new ApiError('JOB_NOT_FOUND', `Node ${bmc_ip} was never set up.`)
    if (job.job_status === 'running') ctx.setStatus(202)
    return answerOf({ database }, job)
  }
}

async function check(deps: StartDeps, node: NodeRow, body: NodeSetupRequest, bmc_ip: string, signal: AbortSignal) {
  const facts = await setupFacts(deps, node, body, signal)
  const checked = checkRequest(body, facts ?? NO_FACTS)
  const problems =
    facts === undefined
      ? [{ path: 'body.siteId', message: `the address store has no site ${body.siteId ?? ''}` }]
      : [...checked.problems]
  if (addressOf('body.bmc_ip', body.bmc_ip) !== bmc_ip)
    problems.push({ path: 'body.bmc_ip', message: `is not the node ${bmc_ip} of the path` })
  if (facts === undefined || problems.length > 0) {
    const sentences = problems.map(({ path, message }) => `${path}: ${message}`)
    throw new ApiError('INVALID_REQUEST', `${sentences.join('; ')}.`, { errors: problems })
  }
  return { facts, checked }
}

const NO_FACTS: SetupFacts = {
  nics: [],
  site: '',
  site_id: null,
  vlansOf: () => [],
  networks: new Set(),
  joining: undefined,
}

interface Order {
  node: NodeRow
  body: NodeSetupRequest
  facts: SetupFacts
  checked: CheckedRequest
}

function admit({ jobs }: StartDeps, ctx: RequestContext, { node, body, facts, checked }: Order): Promise<JobRow> {
  const { bmc_ip, node_id } = node
  const { role = 'compute', benchmark_enabled = false, hold_on_failure = false } = body
  return jobs.admit(nodeSetupStartJob, {
    operation: ctx,
    input: {
      bmc_ip,
      node_id,
      role,
      site_id: facts.site_id,
      nics: checked.nics,
      bond: checked.bond,
      guest_bridges: checked.guest_bridges,
      benchmark_enabled,
      hold_on_failure,
    },
    description: `Setting node ${bmc_ip} up as ${role}.`,
    node_ip: bmc_ip,
    resource_id: node.id,
    resource_name: node.fqdn ?? node.hostname ?? bmc_ip,
    metadata: {
      role,
      request: JSON.parse(textOf(body)) as object,
      warnings: checked.warnings,
      by: ctx.caller.username,
    },
    async also(trx) {
      await moveNode(trx, bmc_ip, ['discovered', 'configure_failed'], 'configuring', ctx.operation_id)
    },
  })
}

async function answerOf({ database }: Pick<StartDeps, 'database'>, row: JobRow): Promise<NodeSetupResponse> {
  const facts = await readNodeJob(database.db, row)
  const { warnings } = row.metadata as { warnings?: string[] }
  return {
    ...nodeJobOf(facts),
    job_id: row.id,
    message: row.description,
    steps: row.planned_steps.map((name) => nodeSetupStartJob.steps.find((step) => step.name === name)?.title ?? name),
    warnings: warnings ?? [],
  }
}

function requestOf(row: JobRow): string {
  return textOf((row.metadata as { request?: unknown }).request)
}

/** One spelling of a request: members in order. */
function textOf(request: unknown): string {
  return JSON.stringify(request, (_name, value: unknown) =>
    typeof value !== 'object' || value === null || Array.isArray(value)
      ? value
      : Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))),
  )
}

export function found(node: NodeRow | undefined, bmc_ip: string): NodeRow {
  if (node === undefined) throw new ApiError('NODE_NOT_FOUND', `No node has the BMC address ${bmc_ip}.`)
  return node
}

function gone(id: string): never {
  throw new ApiError('JOB_NOT_FOUND', `There is no job ${id}.`)
}
