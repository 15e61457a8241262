// How jobs bring a node to a document of desired state: order it, follow the task, confirm from here what would revert by itself,
// and verify by its hash.
import {
  agentDesired, type DesiredAreaName, type DesiredDocuments, type DesiredState, type DesiredTask, GUARDED_AREAS,
} from '#src/contract/nodes/agent-desired.ts' // biome-ignore format: one import
import { ERRORS, type ErrorCode } from '#src/contract/errors.ts'
import type { Run } from '#src/jobs/define.ts'
import { documentHash } from '#src/kernel/document-hash.ts'
import { ApiError, UpstreamError } from '#src/kernel/errors.ts'
import type { NodeRow } from '#src/store/nodes.ts'
import type { NodeAgents } from '../node-agents.ts'

/** What is needed of the job that calls. */
export type DesiredRun = Pick<Run<unknown, unknown>, 'job_id' | 'epoch' | 'step' | 'signal' | 'repeatAfter'>

export interface DesiredTarget {
  agents: NodeAgents
  /** Asked before each call: a change of the network may move the node to another address. */
  node: () => Promise<NodeRow>
}

const CALL_MS = 30_000
/** The job is let go meanwhile, and its act begins again: the same order joins the task that runs. */
const AGAIN_MS = 2000
/** Long enough for a heartbeat from a new address. */
const GUARD_S = 180

/** Whether the node is as the document says and nothing of it waits for confirmation. */
export async function desiredHolds<A extends keyof DesiredDocuments>(
  target: DesiredTarget,
  run: DesiredRun,
  area: A,
  document: DesiredDocuments[A],
): Promise<boolean> {
  return holds(await readDesired(target, run, area), documentHash(document))
}

export async function readDesired(
  target: DesiredTarget,
  run: DesiredRun,
  area: DesiredAreaName,
): Promise<DesiredState> {
  return (await clientOf(target, run)).agentDesiredGet({ params: { area } })
}

/** Returns once the node is as the document says. Begins again in between, so nothing of the act may come before it that cannot. */
export async function applyDesired<A extends keyof DesiredDocuments>(
  target: DesiredTarget,
  run: DesiredRun,
  area: A,
  document: DesiredDocuments[A],
): Promise<void> {
  const hash = documentHash(document)
  await carryOut(target, run, { area, hash }, (client, guard) =>
    client.agentDesiredSet({ params: { area }, body: { document, hash, ...guard } }),
  )
}

/** Returns once the node has nothing of the area any more. Safe when it never had. */
export async function removeDesired(target: DesiredTarget, run: DesiredRun, area: DesiredAreaName): Promise<void> {
  await carryOut(target, run, { area, hash: null }, (client, guard) =>
    client.agentDesiredRemove({ params: { area }, query: guard }),
  )
}

type DesiredClient = ReturnType<typeof makeClient>
interface Goal {
  area: DesiredAreaName
  hash: string | null
}

async function carryOut(
  target: DesiredTarget,
  run: DesiredRun,
  goal: Goal,
  order: (client: DesiredClient, guard: { guard_seconds?: number }) => Promise<DesiredTask>,
): Promise<void> {
  const is_guarded = GUARDED_AREAS.includes(goal.area)
  const before = await reachable(run, is_guarded, async () => readDesired(target, run, goal.area))
  if (holds(before, goal.hash)) return
  if (!waitsFor(before, goal.hash)) {
    const guard = is_guarded ? { guard_seconds: GUARD_S } : {}
    const task = await reachable(run, is_guarded, async () => order(await clientOf(target, run), guard))
    if (task.status === 'failed') throw failureOf(task)
    if (task.status === 'running') return run.repeatAfter(AGAIN_MS)
  }
  // That this call arrives is what the confirmation says: the node can be reached as it is now.
  if (is_guarded) await reachable(run, true, async () => confirm(target, run, goal))
  const after = await readDesired(target, run, goal.area)
  if (holds(after, goal.hash)) return
  throw new ApiError(
    'DESIRED_FAILED',
    `${goal.area} is not as ordered: ${after.differences.join('; ') || after.verdict}.`,
  )
}

async function confirm(target: DesiredTarget, run: DesiredRun, { area, hash }: Goal): Promise<void> {
  const client = await clientOf(target, run)
  const { pending } = await client.agentDesiredGet({ params: { area } })
  if (pending !== null) await client.agentDesiredConfirm({ params: { area }, body: { hash } })
}

/** A node whose network changes is away for a moment; the time-out of the step and the watchdog end the waiting. */
async function reachable<T>(run: DesiredRun, may_be_away: boolean, call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    const is_away = error instanceof UpstreamError && ['unavailable', 'timeout'].includes(error.failure)
    if (!may_be_away || !is_away) throw error
    return run.repeatAfter(AGAIN_MS)
  }
}

function holds({ hash, verdict, pending }: DesiredState, wanted: string | null): boolean {
  return hash === wanted && pending === null && verdict === (wanted === null ? 'empty' : 'in_sync')
}

function waitsFor({ hash, verdict, pending, task }: DesiredState, wanted: string | null): boolean {
  if (pending === null || hash !== wanted || task?.status === 'running') return false
  return verdict === (wanted === null ? 'empty' : 'in_sync')
}

function failureOf({ area, code, message }: DesiredTask): ApiError {
  const known = code !== null && Object.hasOwn(ERRORS, code) ? (code as ErrorCode) : 'DESIRED_FAILED'
  return new ApiError(known, `${area}: ${message}`)
}

async function clientOf(target: DesiredTarget, run: DesiredRun): Promise<DesiredClient> {
  return makeClient(target.agents, await target.node(), run)
}

function makeClient(agents: NodeAgents, row: NodeRow, { job_id, epoch, step, signal }: DesiredRun) {
  return agents.client(row, agentDesired.routes, { timeout_ms: CALL_MS, signal, job: { job_id, epoch, step } })
}
