// GET /network/mtu: declared versus actual MTU of every node (linux-node.md 4.1).
import { MTU_ROLES, type MtuDeviation, type MtuReport } from '#src/contract/network/mtu.ts'
import type { AgentMtu, AgentMtuBridge } from '#src/contract/nodes/agent-mtu.ts'
import { lastJob } from '#src/jobs/lookup.ts'
import type { NodeOutcome } from '#src/kernel/agents.ts'
import type { Database, Db } from '#src/store/database.ts'
import { declaredMtus } from '#src/store/mtu-declarations.ts'
import { allNodes, type NodeRow, statusOf } from '#src/store/nodes.ts'
import { isConfigured } from './node-page.ts'
import type { FleetQuestions } from './node-questions.ts'

export interface MtuReportDeps {
  database: Pick<Database, 'db'>
  ask: Pick<FleetQuestions, 'mtu'>
  offline_after_ms: number
}

export const ROLLOUT_TYPE = 'mtu.rollout'

export async function readMtuReport({ database, ask, offline_after_ms }: MtuReportDeps): Promise<MtuReport> {
  const { db } = database
  const [rows, declarations, rollout_status] = await Promise.all([allNodes(db), declaredMtus(db), rolloutStatus(db)])
  const outcomes = await ask.mtu(rows.filter(isConfigured))
  const declared = Object.fromEntries(declarations.map(({ role, mtu }) => [role, mtu]))
  const running = rollout_status === 'running'
  const judged = outcomes.map((outcome) => judgeNode(outcome, declared, running, offline_after_ms))
  const awaiting = judged.flatMap((one) => one.awaiting)
  const divergences = judged.flatMap((one) => one.divergences)
  const unreachable_nodes = outcomes.filter((outcome) => 'error' in outcome).length
  const underlays = outcomes.flatMap((outcome) => ('value' in outcome ? (outcome.value.underlay_mtu ?? []) : []))
  const underlay = underlays.length === 0 ? null : Math.min(...underlays)
  const reason = unreachable_nodes > 0 ? 'no node that answers has a fabric' : 'no node speaks over a fabric'
  const none = running ? 'awaiting' : unreachable_nodes > 0 && declarations.length > 0 ? 'unknown' : 'consistent'
  return {
    declared: {
      management: declared['management'] ?? 0,
      public: declared['public'] ?? 0,
      storage: declared['storage'] ?? 0,
      underlay,
    },
    awaiting,
    divergences,
    nodes: judged.map((one) => one.node),
    rollout_status,
    status: divergences.some(({ state }) => state === 'divergent') ? 'divergent' : none,
    unreachable_nodes,
    ...(underlay === null ? { unavailable: [{ field: 'declared.underlay', reason }] } : {}),
  }
}

/** Of the last rollout. */
async function rolloutStatus(db: Db): Promise<string> {
  const row = await lastJob(db, { types: [ROLLOUT_TYPE] })
  return row === undefined ? 'none' : row.job_status === 'completed' ? 'succeeded' : row.job_status
}

interface Judged {
  node: MtuReport['nodes'][number]
  awaiting: MtuDeviation[]
  divergences: MtuDeviation[]
}

function judgeNode(
  outcome: NodeOutcome<NodeRow, AgentMtu>,
  declared: Readonly<Record<string, number>>,
  running: boolean,
  offline_after_ms: number,
): Judged {
  const row = outcome.node
  const about = {
    error: 'error' in outcome ? outcome.error : '',
    fqdn: row.fqdn ?? '',
    node_ip: row.node_ip ?? '',
    node_role: row.role === 'management' ? 'management' : 'kvm_host',
    status: 'error' in outcome ? 'offline' : statusOf(row, offline_after_ms),
    zone: row.zone ?? '',
  }
  if ('error' in outcome) return { node: { devices: [], ...about }, awaiting: [], divergences: silent(about, declared) }
  const bridges = outcome.value.bridges.map((bridge) => judgeBridge(about.node_ip, bridge, declared[bridge.role] ?? 0))
  const wrong = bridges.flatMap((bridge) => bridge.deviations)
  return {
    node: { devices: bridges.flatMap((bridge) => bridge.devices), ...about },
    awaiting: running ? wrong.map((one) => ({ ...one, state: 'awaiting' })) : [],
    divergences: running ? [] : wrong,
  }
}

/** Which bridges a silent node has is not known: one row a declared role. */
function silent(about: { node_ip: string; error: string }, declared: Readonly<Record<string, number>>): MtuDeviation[] {
  return MTU_ROLES.flatMap((role): MtuDeviation[] => {
    const mtu = declared[role]
    if (mtu === undefined) return []
    const detail = `${role} is declared at ${mtu}; the node could not be read: ${about.error}`
    return [
      {
        actual: null,
        declared: mtu,
        detail,
        device: '',
        kind: 'bridge',
        node: about.node_ip,
        role,
        state: 'unreachable',
      },
    ]
  })
}

function judgeBridge(node: string, { bridge, role, mtu, devices }: AgentMtuBridge, declared: number) {
  const seen = mtu === null ? [{ name: bridge, kind: 'bridge', mtu }] : devices
  const judged = seen.map((device) => {
    const { name, kind } = device
    // Only the bridge must match exactly: a card below it may serve larger VLANs of other roles.
    const differs = device.mtu !== null && (name === bridge ? device.mtu !== declared : device.mtu < declared)
    return { actual: device.mtu, declared, divergent: declared !== 0 && differs, kind, name, role }
  })
  const deviations = judged.flatMap((device): MtuDeviation[] => {
    const missing = device.actual === null && declared !== 0
    if (!device.divergent && !missing) return []
    const { name, kind, actual } = device
    const detail = missing
      ? `the node has no bridge ${name}; ${role} is declared at ${declared}`
      : `${name} runs at ${actual}; ${role} is declared at ${declared}`
    return [{ actual, declared, detail, device: name, kind, node, role, state: 'divergent' }]
  })
  return { devices: judged, deviations }
}
