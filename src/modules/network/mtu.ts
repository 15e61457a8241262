// PUT /network/mtu: checks a declared MTU against every node, then admits the rollout that brings it there.
import { sql } from 'kysely'
import type { MtuRolloutPlan, mtu } from '#src/contract/network/mtu.ts'
import type { Input } from '#src/contract/route.ts'
import type { Jobs } from '#src/jobs/admit.ts'
import { acceptedJob } from '#src/jobs/answer.ts'
import { runningJob } from '#src/jobs/lookup.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { Database, Trx } from '#src/store/database.ts'
import { LOCKS } from '#src/store/locks.ts'
import { declaredMtus, declareMtu } from '#src/store/mtu-declarations.ts'
import { allNodes, type NodeRow } from '#src/store/nodes.ts'
import { ROLLOUT_TYPE } from './mtu-report.ts'
import { mtuDeclareJob } from './mtu-rollout.job.ts'
import { bridgesOf, type MtuSurvey, surveyMtu, type WantedMtu, wantedOf } from './mtu-survey.ts'
import { isConfigured } from './node-page.ts'
import type { FleetQuestions } from './node-questions.ts'

type DeclareInput = Input<(typeof mtu.routes)['mtuDeclare']>

export interface MtuDeps {
  database: Database
  jobs: Jobs
  ask: Pick<FleetQuestions, 'mtu'>
  offline_after_ms: number
  /** Nodes revert a size that is not committed within this time. */
  window_secs?: number
}

/** Long enough for a large fleet; a node that is never told to keep the value reverts after it. */
const WINDOW_SECS = 300

export function mtuDeclare(deps: MtuDeps) {
  const checked = async ({ body, query }: DeclareInput) => {
    const wanted = wantedOf(body)
    const rows = (await allNodes(deps.database.db)).filter(takesPart)
    const survey = surveyMtu(await deps.ask.mtu(rows), wanted)
    refuse(survey, query.acknowledge_unverifiable === true)
    return { survey, wanted }
  }
  const declare = acceptedJob(deps.jobs, {
    async admit(input: DeclareInput, ctx) {
      const { survey, wanted } = await checked(input)
      return admit(deps, ctx, survey, wanted)
    },
  })
  return async (input: DeclareInput, ctx: RequestContext) => {
    if (!ctx.dry_run) return declare(input, ctx)
    const { survey, wanted } = await checked(input)
    return planOf(survey, wanted)
  }
}

/** A node without an agent cannot be changed by anybody here; the report shows it. */
function takesPart(row: NodeRow): boolean {
  return isConfigured(row) && row.certificate !== null
}

function refuse(survey: MtuSurvey, acknowledged: boolean): void {
  const { above_limit, unreachable, unverifiable } = survey
  if (above_limit.length > 0) throw new ApiError('MTU_ABOVE_LIMIT', `${above_limit.join('; ')}.`)
  if (acknowledged) return
  const how = 'Pass acknowledge_unverifiable=true to go on without.'
  if (unreachable.length > 0) throw new ApiError('NODES_UNREACHABLE', `${unreachable.join(' ')} ${how}`)
  if (unverifiable.length > 0) throw new ApiError('MTU_UNVERIFIABLE', `${unverifiable.join('; ')}. ${how}`)
}

function planOf({ nodes, probes, unverifiable, unreachable }: MtuSurvey, wanted: readonly WantedMtu[]): MtuRolloutPlan {
  const changes = nodes.flatMap(({ name, bridges }) =>
    bridges.map(({ bridge, role, old_mtu, mtu: size }) => ({ node: name, bridge, role, actual: old_mtu, mtu: size })),
  )
  const roles = wanted.map(({ role, mtu: size }) => `${role} at ${size}`).join(', ')
  const message = `Would declare ${roles}, change ${changes.length} bridges of ${nodes.length} nodes and verify ${probes.length} ways.`
  return { dry_run: true, message, changes, unverifiable, unreachable }
}

async function admit(
  deps: MtuDeps,
  ctx: RequestContext,
  { nodes, probes }: MtuSurvey,
  roles: readonly WantedMtu[],
): Promise<unknown> {
  const declared = await declaredMtus(deps.database.db)
  const before = declared.filter(({ role }) => roles.some((one) => one.role === role))
  const declared_by = ctx.caller.username
  const input = { nodes, probes, before, roles: [...roles], declared_by, window_secs: deps.window_secs ?? WINDOW_SECS }
  return deps.jobs.admit(mtuDeclareJob, {
    operation: ctx,
    input,
    description: `Rolling out MTU: ${roles.map(({ role, mtu: size }) => `${role} ${size}`).join(', ')}.`,
    metadata: { roles, nodes: nodes.map(({ name }) => name) },
    async also(trx) {
      await refuseSecond(trx, ctx.operation_id)
      for (const want of roles) await declareMtu(trx, { ...want, bridges: bridgesOf(nodes, want.role) }, declared_by)
    },
  })
}

async function refuseSecond(trx: Trx, own_id: string): Promise<void> {
  await sql`select pg_advisory_xact_lock(${LOCKS.mtu_rollout})`.execute(trx)
  const other = await runningJob(trx, { types: [ROLLOUT_TYPE] }, own_id)
  if (other !== undefined) throw new ApiError('MTU_ROLLOUT_RUNNING', `The rollout ${other} is under way.`)
}
