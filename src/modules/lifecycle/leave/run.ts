// What the jobs that take a node out of service share: whom they speak to, what was agreed, and what they find.
import { type Static, Type } from 'typebox'
import type { Ceph } from '#src/drivers/ceph/client.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import type { DhcpServer } from '#src/drivers/ddi/dhcp-server.ts'
import type { DnsServer } from '#src/drivers/ddi/dns-server.ts'
import type { IpamStore } from '#src/drivers/ddi/ipam-store.ts'
import type { Holds, Run, Step } from '#src/jobs/define.ts'
import { SKIPPABLE_STEPS } from '#src/contract/nodes/decommission.ts'
import { outstandingOf } from '#src/jobs/outstanding.ts'
import { Submissions } from '#src/jobs/submit-once.ts'
import type { Config } from '#src/kernel/config.ts'
import type { Database } from '#src/store/database.ts'
import { findNode, type NodeRow } from '#src/store/nodes.ts'
import type { BmcAccess } from '../../bmc-access.ts'
import type { ServerLock } from '../../ddi/server-lock.ts'
import type { NodeAgents } from '../../node-agents.ts'
import type { ClusterPorts } from '../cluster/ports.ts'
import { type PlatformReading, readPlatform } from '../decommission/platform-reading.ts'

export interface LeaveDeps {
  database: Database
  cloudstack: CloudStack
  agents: NodeAgents
  bmcs: Pick<BmcAccess, 'open'>
  dhcp_server: DhcpServer | undefined
  dns_server: DnsServer | undefined
  ipam_store: IpamStore | undefined
  ceph: Ceph | undefined
  /** Writers of these servers take turns. */
  dhcp_lock: ServerLock
  dns_lock: ServerLock
  config: Pick<Config, 'bmc'>
  /** Port under which images are fetched. */
  image_port: () => number
  now: () => number
  /** Whether something answers at an address of the node. */
  answers: (address: string, signal: AbortSignal) => Promise<boolean>
  /** How long a report of a wipe is waited for, and how often it is looked for. */
  wipe_wait_ms: number
  wipe_poll_ms: number
  cluster: ClusterPorts
}

const Named = Type.Object({ id: Type.String(), name: Type.String() })

export const LeaveInput = Type.Object({
  bmc_ip: Type.String(),
  node_id: Type.Integer(),
  /** State of the node before, which a cancel restores. */
  state: Type.Union([Type.Literal('configured'), Type.Literal('configure_failed'), Type.Literal('discovered')]),
  /** Who asked for it: of what is done at a BMC, it is remembered who did it. */
  by: Type.String(),
  /** What the platform knows the node by. */
  addresses: Type.Array(Type.String()),
  names: Type.Array(Type.String()),
  /** Machines that may be destroyed, as the caller named them. */
  destroy: Type.Array(Named),
  /** Serial numbers that the report of the wipe must name. */
  disks: Type.Array(Type.String()),
  store_served: Type.Boolean(),
  /** Disks in the distributed store that the caller has seen: no other is removed. Left out: whatever is on the node. */
  osds: Type.Optional(Type.Array(Type.Integer())),
  wipe: Type.Union([Type.Literal('full'), Type.Literal('data'), Type.Literal('none')]),
  power_off: Type.Boolean(),
  /** Steps that an admin leaves to a person. */
  skip_steps: Type.Optional(Type.Array(Type.String())),
  /** The caller has seen that the machine is off. */
  confirm_powered_off: Type.Optional(Type.Boolean()),
  /** What the preflight said, for the audit log. */
  findings: Type.Array(Type.String()),
  role: Type.Optional(Type.String()),
})
export type LeaveInput = Static<typeof LeaveInput>

export const LeaveState = Type.Object({
  submissions: Submissions,
  /** Secret of the wipe image, and of the address that it is fetched from. */
  wipe_token: Type.String(),
  capability: Type.String(),
  wipe_started_at: Type.Number(),
  /** Why the machine was not started from the image. */
  wipe_failed: Type.String(),
  /** Addresses that still answered when they were to be released. */
  still_held: Type.Array(Type.String()),
  /** Areas that were removed, and that a cancel brings back. */
  taken_off: Type.Array(Type.String()),
  /** Address that the node had as a member. */
  member_address: Type.String(),
  /** Member that its primary database is handed to. */
  successor: Type.String(),
  /** Of a machine whose power nobody tells: since when nothing of it answers. */
  silent_since: Type.Number(),
  /** What was wrong with the distributed store before anything of the node was moved, by the store's own codes. */
  store_findings: Type.Record(Type.String(), Type.Union([Type.Literal('HEALTH_WARN'), Type.Literal('HEALTH_ERR')])),
  /** The codes of what is waited for, as the audit log told it last. */
  store_waits_for: Type.String(),
})
export type LeaveState = Static<typeof LeaveState>

export type LeaveRun = Run<LeaveDeps, LeaveInput, LeaveState>
export type LeaveStep = Step<LeaveDeps, LeaveInput, LeaveState>

/** The steps, of which those that may be skipped are left to a person where the input says so. */
export function withSkips(steps: readonly LeaveStep[]): LeaveStep[] {
  return steps.map((step) => (SKIPPABLE_STEPS.some((name) => name === step.name) ? skippable(step) : step))
}

function skippable(step: LeaveStep): LeaveStep {
  const skips = ({ input }: LeaveRun): boolean => input.skip_steps?.includes(step.name) === true
  return {
    ...step,
    applies: async (run) => skips(run) || ((await step.applies?.(run)) ?? true),
    // A skipped step is asked all the same: somebody may have done it.
    holds: async (run) => {
      if (!skips(run)) return (await step.holds?.(run)) ?? 'unknown'
      const holds = await Promise.resolve(step.holds?.(run)).catch(() => 'unknown' as const)
      return holds === true ? true : 'unknown'
    },
    run: async (run) => {
      if (skips(run)) await run.note('WARN', `"${step.title}" is left out, as an admin asked for.`)
      else await step.run(run)
    },
    outstanding: async (run) => {
      if (skips(run)) return [`"${step.title}" was left out: do it by hand for the machine of BMC ${run.input.bmc_ip}.`]
      return step.outstanding === undefined ? [] : outstandingOf(step.outstanding, run)
    },
  }
}

export async function nodeOf({ deps, input }: Pick<LeaveRun, 'deps' | 'input'>): Promise<NodeRow> {
  const node = await findNode(deps.database.db, input.bmc_ip)
  // No node is deleted while a job of it runs.
  if (node === undefined) throw new Error(`node ${input.bmc_ip} is not registered`)
  return node
}

/** The host and the machines on it, as the platform shows them now. */
export function platformOf({ deps, input, signal }: LeaveRun): Promise<PlatformReading> {
  return readPlatform(deps.cloudstack, input, { signal })
}

export const NO_HOST = 'The compute platform knows no host of this node.'

/** A step about the host of the platform. */
export async function hasHost(run: LeaveRun): Promise<string | true> {
  if (!run.deps.cloudstack.configured) return 'No compute platform is configured.'
  return (await platformOf(run)).host === null ? NO_HOST : true
}

/** A goal of the host; one that is gone holds every goal. */
export function whenHost(goal: (platform: PlatformReading & { host: NonNullable<PlatformReading['host']> }) => Holds) {
  return async (run: LeaveRun): Promise<Holds> => {
    const platform = await platformOf(run)
    return platform.host === null ? true : goal({ ...platform, host: platform.host })
  }
}
