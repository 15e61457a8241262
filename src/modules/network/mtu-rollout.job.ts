// The job that brings a declared MTU to every node: what carries frames grows everywhere before any node sends more, every
// way is verified from both ends, and only then is anything committed. Nodes that get no commit revert by themselves.
import pLimit, { type LimitFunction } from 'p-limit'
import { type Static, Type } from 'typebox'
import type { Client } from '#src/contract/client.ts'
import { mtu } from '#src/contract/network/mtu.ts'
import { type AgentMtu, agentMtu } from '#src/contract/nodes/agent-mtu.ts'
import { defineJob, type Run } from '#src/jobs/define.ts'
import { ApiError, mapUpstreamError, UpstreamError } from '#src/kernel/errors.ts'
import type { Database } from '#src/store/database.ts'
import { declaredMtus, restoreDeclaration } from '#src/store/mtu-declarations.ts'
import { allNodes, type NodeRow } from '#src/store/nodes.ts'
import type { NodeAgents } from '../node-agents.ts'
import { verifyByFrames } from './mtu-frames.ts'
import { ROLLOUT_TYPE } from './mtu-report.ts'
import type { BridgeChange, MtuProbe, NodeChange } from './mtu-survey.ts'

export interface RolloutDeps {
  database: Database
  agents: Pick<NodeAgents, 'client'>
}

const Role = Type.Union([Type.Literal('management'), Type.Literal('public'), Type.Literal('storage')])
const Change = Type.Object({
  bridge: Type.String(),
  role: Role,
  old_mtu: Type.Integer(),
  mtu: Type.Integer(),
  addresses: Type.Array(Type.String()),
  mac: Type.Union([Type.String(), Type.Null()]),
})
const Probe = Type.Object({
  from: Type.String(),
  to: Type.String(),
  bridge: Type.String(),
  peer_bridge: Type.String(),
  target: Type.String(),
  mtu: Type.Integer(),
})

/** The survey that was checked and shown before the job was admitted. */
export const RolloutInput = Type.Object({
  nodes: Type.Array(Type.Object({ node_id: Type.String(), name: Type.String(), bridges: Type.Array(Change) })),
  probes: Type.Array(Probe),
  /** What was declared before, for the rollback. */
  before: Type.Array(Type.Object({ role: Role, mtu: Type.Integer(), bridges: Type.Array(Type.String()) })),
  roles: Type.Array(Type.Object({ role: Role, mtu: Type.Integer() })),
  declared_by: Type.String(),
  window_secs: Type.Integer(),
})
export type RolloutInput = Static<typeof RolloutInput>

const RolloutState = Type.Object({ preparing: Type.Boolean() })
type RolloutRun = Run<RolloutDeps, RolloutInput, Static<typeof RolloutState>>

const STEP_MS = 10 * 60_000
const CALL_MS = 60_000
const AT_ONCE = 16

export const mtuDeclareJob = defineJob<RolloutDeps>()({
  type: ROLLOUT_TYPE,
  input: RolloutInput,
  state: RolloutState,
  resource_type: 'MTU',
  steps: [
    {
      name: 'prepare',
      title: 'Let every node carry the new size',
      weight: 4,
      run: prepare,
      undo: revertAll,
      timeout_ms: STEP_MS,
      retries: 0,
    },
    { name: 'use', title: 'Let every node use the new size', weight: 3, run: useAll, timeout_ms: STEP_MS, retries: 0 },
    {
      name: 'probe',
      title: 'Verify every way at the full size',
      weight: 4,
      run: probeAll,
      timeout_ms: STEP_MS,
      retries: 0,
      point_of_no_return: true,
    },
    {
      name: 'commit',
      title: 'Keep the new size on every node',
      weight: 2,
      run: commitAll,
      timeout_ms: STEP_MS,
      retries: 0,
    },
  ],
  on_failure: 'undo',
  undo: undeclare,
  done: ({ input }) =>
    `${input.roles.map(({ role, mtu: size }) => `${role} runs at ${size}`).join(', ')} on ${input.nodes.length} nodes.`,
})

/** The declaration is written with the job; what was refuted on the wire is not declared any longer. */
async function undeclare(run: RolloutRun): Promise<void> {
  await run.fenced(async (trx) => {
    for (const { role, mtu: size } of run.input.roles) {
      const now = (await declaredMtus(trx)).find((one) => one.role === role)
      // Somebody declared something else since: that is theirs.
      if (now !== undefined && now.mtu !== size) continue
      const before = run.input.before.find((one) => one.role === role) ?? null
      await restoreDeclaration(trx, role, before, run.input.declared_by)
    }
  })
}

async function prepare(run: RolloutRun): Promise<void> {
  const again = run.state.preparing === true
  await run.save({ preparing: true })
  await onEveryBridge(run, 'prepared', async (node, change) => {
    // A process that died may have left a pending change of this job: it is reverted and begun again.
    if (again) await rollBack(node, change)
    await node.apply({ ...change, phase: 'prepare' })
  })
}

function useAll(run: RolloutRun): Promise<void> {
  return onEveryBridge(run, 'in use', (node, change) => node.apply({ ...change, phase: 'use' }))
}

async function probeAll(run: RolloutRun): Promise<void> {
  const { probes } = run.input
  const nodes = await nodesById(run)
  let done = 0
  // A node answers one question about a bridge at a time, so its own probes follow one another.
  const probers = [...new Set(probes.map(({ from }) => from))]
  // Nor does a bridge listen for two others at a time.
  const limiters = new Map(probes.map((probe) => [listenerOf(probe), pLimit(1)]))
  await firstFailure(probers, async (prober) => {
    const from = nodeOf(run, nodes, prober)
    for (const probe of probes.filter((one) => one.from === prober)) {
      run.signal.throwIfAborted()
      const to = nodeOf(run, nodes, probe.to)
      const limiter = limiters.get(listenerOf(probe)) ?? pLimit(1)
      await naming(from.name, () => verifyPath(run, from, to, probe, limiter))
      done += 1
      run.progress((100 * done) / probes.length)
    }
  })
}

const listenerOf = ({ to, peer_bridge }: MtuProbe): string => `${to} ${peer_bridge}`

async function verifyPath(
  run: RolloutRun,
  from: RolloutNode,
  to: RolloutNode,
  probe: MtuProbe,
  limiter: LimitFunction,
): Promise<void> {
  const { bridge, target } = probe
  const answer = await from.apply({ bridge, mtu: probe.mtu, phase: 'probe', probe_target: target })
  if (answer.probe_verdict === 'pass') return
  if (answer.probe_verdict === 'fail')
    throw failed(`${bridge} does not reach ${target} at ${probe.mtu} bytes: ${answer.detail}`)
  // Nobody answers pings there, so only frames can tell (linux-node.md 4.4).
  const frames = { from: from.client(CALL_MS), to: to.client(CALL_MS), probe, signal: run.signal }
  const said = await limiter(() => verifyByFrames(frames, answer.peer_mac))
  if (said !== null) throw failed(`${bridge} could not be verified towards ${to.name} at ${probe.mtu} bytes: ${said}`)
}

async function commitAll(run: RolloutRun): Promise<void> {
  await onEveryBridge(run, 'kept', async (node, change) => {
    try {
      await node.apply({ ...change, phase: 'commit' })
    } catch (error) {
      if (!isNothingPending(error)) throw error
      // Committed by an attempt whose answer was lost, or reverted by the node's own watchdog: its MTU tells which.
      const own = await node.bridge(change.bridge)
      if (own?.mtu !== change.mtu || own.pending !== null)
        throw failed(`${change.bridge} went back before it could be kept`)
    }
  })
}

/** Every node to its old value: a pending change is reverted, a kept one is changed back. */
async function revertAll(run: RolloutRun): Promise<void> {
  const nodes = await nodesById(run)
  const limit = pLimit(AT_ONCE)
  const problems = await Promise.all(
    run.input.nodes.map((planned) =>
      limit(async (): Promise<string[]> => {
        try {
          const node = nodeOf(run, nodes, planned.node_id)
          for (const change of planned.bridges.toReversed()) await bringBack(node, change)
          return []
        } catch (error) {
          return [`${planned.name}: ${messageOf(error)}`]
        }
      }),
    ),
  )
  const left = problems.flat()
  if (left.length === 0) return
  const window = run.input.window_secs
  throw failed(`${left.join(' ')} What was not kept there reverts by itself within ${window} seconds.`)
}

async function bringBack(node: RolloutNode, change: BridgeChange): Promise<void> {
  await rollBack(node, change)
  const own = await node.bridge(change.bridge)
  if (own === undefined || own.mtu === null || own.mtu === change.old_mtu) return
  if (own.pending !== null) throw failed(`another change of ${change.bridge} is under way`)
  await node.apply({ bridge: change.bridge, mtu: change.old_mtu, phase: '' })
}

const BUSY_TRIES = 20
const BUSY_PAUSE_MS = 500

/** Reverts what is pending; nothing pending is fine. */
async function rollBack(node: RolloutNode, change: BridgeChange): Promise<void> {
  try {
    const answer = await node.apply({ ...change, phase: 'revert' })
    if (!answer.reverted) throw failed(`${change.bridge}: ${answer.detail}`)
  } catch (error) {
    if (!isNothingPending(error)) throw error
  }
}

/** A node may still be working on a request of a process that died, or on giving an earlier change up by itself. */
async function whenFree<T>(work: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried += 1) {
    try {
      return await work()
    } catch (error) {
      const is_busy = error instanceof ApiError && error.code === 'MTU_CHANGE_RUNNING'
      if (!is_busy || tried >= BUSY_TRIES) throw error
      await new Promise((resolve) => setTimeout(resolve, BUSY_PAUSE_MS))
    }
  }
}

type ApplyPhase = 'prepare' | 'use' | 'probe' | 'commit' | 'revert' | ''

interface RolloutNode {
  name: string
  client(timeout_ms: number): MtuClient
  apply(ask: {
    bridge: string
    mtu: number
    phase: ApplyPhase
    probe_target?: string
  }): ReturnType<MtuClient['mtuNodeApply']>
  bridge(name: string): Promise<AgentMtu['bridges'][number] | undefined>
}
type MtuClient = Client<typeof mtu.routes>

async function nodesById({ deps }: RolloutRun): Promise<Map<string, NodeRow>> {
  return new Map((await allNodes(deps.database.db)).map((row) => [row.id, row]))
}

function nodeOf(run: RolloutRun, rows: ReadonlyMap<string, NodeRow>, node_id: string): RolloutNode {
  const name = run.input.nodes.find((one) => one.node_id === node_id)?.name ?? node_id
  const row = rows.get(node_id)
  if (row === undefined) throw failed(`${name} is not registered any more`)
  const { agents } = run.deps
  const client = (timeout_ms: number) => agents.client(row, mtu.routes, { timeout_ms, job: run })
  return {
    name,
    client,
    apply: ({ bridge, mtu: size, phase, probe_target }) => {
      const self_revert_secs = run.input.window_secs
      const target = probe_target === undefined ? {} : { probe_target }
      const body = { bridge, mtu: size, phase, self_revert_secs, ...target }
      return whenFree(() => client(CALL_MS).mtuNodeApply({ body }))
    },
    async bridge(wanted) {
      const state = await agents.client(row, agentMtu.routes, { timeout_ms: CALL_MS, job: run }).agentMtuRead()
      return state.bridges.find((one) => one.bridge === wanted)
    },
  }
}

/** Nodes side by side, the bridges of one node one after the other; stops at the first failure, naming the node. */
async function onEveryBridge(
  run: RolloutRun,
  word: string,
  work: (node: RolloutNode, change: BridgeChange) => Promise<unknown>,
): Promise<void> {
  const rows = await nodesById(run)
  let done = 0
  await firstFailure(run.input.nodes, async (planned: NodeChange) => {
    run.signal.throwIfAborted()
    const node = nodeOf(run, rows, planned.node_id)
    for (const change of planned.bridges) await naming(node.name, () => work(node, change))
    done += 1
    run.progress((100 * done) / run.input.nodes.length, `${node.name}: ${word}`)
  })
}

/** Waits for what has begun before it throws, so that the rollback meets no change in progress. */
async function firstFailure<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const limit = pLimit(AT_ONCE)
  const failures: unknown[] = []
  await Promise.all(
    items.map((item) =>
      limit(async () => {
        if (failures.length > 0) return
        try {
          await work(item)
        } catch (error) {
          failures.push(error)
        }
      }),
    ),
  )
  if (failures.length > 0) throw failures[0]
}

async function naming<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw new ApiError('MTU_ROLLOUT_FAILED', `${name}: ${messageOf(error)}`, { cause: error })
  }
}

function isNothingPending(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'MTU_NOTHING_PENDING'
}

function failed(message: string): ApiError {
  return new ApiError('MTU_ROLLOUT_FAILED', message)
}

function messageOf(error: unknown): string {
  if (error instanceof UpstreamError) return mapUpstreamError(error, null).message
  return error instanceof ApiError ? error.message : 'The node gave no usable answer.'
}
