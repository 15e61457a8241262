// POST /network/mtu/node-apply on this node.
import type { MtuNodeApplyRequest, MtuNodeApplyResult } from '#src/contract/network/mtu.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { Host } from '#src/kernel/host.ts'
import { bootId, type ChangeDeps, commit, leftMs, restore, restoredWords, undoWhenLate } from '../guarded/change.ts'
import type { GuardedChanges } from '../guarded/changes.ts'
import {
  advisoryFailures, MTU_ERRORS, planMessage, probe, raise, sameChange, unfinished, useRaised,
} from './change.ts' // biome-ignore format: one import
import { type ChangeLimits, type ChangePlan, type MtuEntry, mtuEntryOf, planChange } from './change-plan.ts'
import { readLinks } from './links.ts'
import { ownDevices } from './persist/configuration.ts'
import type { ProbeOutcome } from './probe.ts'

export interface NodeApplyOptions {
  host: Host
  changes: GuardedChanges
  /** Root of the configuration files, `/` on a node. */
  config_root: string
  allowed_devices: readonly string[]
  uplinks: readonly string[]
  underlayLimit?: () => Promise<number | null>
  /** Watchdog window when the request says 0, and the least window of all; milliseconds. */
  default_window_ms?: number
  least_window_ms?: number
}

export interface NodeApply {
  /** With `plan_only` nothing is touched. */
  apply(request: MtuNodeApplyRequest, plan_only?: boolean): Promise<MtuNodeApplyResult>
  /** The change of a bridge that is neither committed nor reverted yet. */
  pending(bridge: string): Promise<{ mtu: number; left_ms: number } | null>
  /** Sets the devices of the product's own files. */
  start(): Promise<void>
}

export function createNodeApply(options: NodeApplyOptions): NodeApply {
  const { host, changes } = options
  const { deps } = changes
  const limits: ChangeLimits = {
    ...options,
    underlayLimit: options.underlayLimit ?? (() => Promise.resolve(null)),
    default_window_ms: options.default_window_ms ?? 120_000,
    least_window_ms: options.least_window_ms ?? 10_000,
  }
  return {
    async apply(request, plan_only = false) {
      const { bridge } = request
      if (changes.isBusy(bridge)) throw MTU_ERRORS.running(bridge)
      return changes.alone(bridge, () => perform({ deps, limits, request, plan_only }))
    },
    async pending(bridge) {
      const entry = mtuEntryOf(await deps.journal.entry(bridge))
      const left_ms = await leftMs(deps, bridge)
      return entry === null || left_ms === null ? null : { mtu: entry.mtu, left_ms }
    },
    start: async () => setOwnDevices(host, await ownDevices(options.config_root)),
  }
}

interface Performance {
  deps: ChangeDeps
  limits: ChangeLimits
  request: MtuNodeApplyRequest
  plan_only: boolean
}

function perform(work: Performance): Promise<MtuNodeApplyResult> {
  switch (work.request.phase ?? '') {
    case 'raise':
      return raiseOnly(work, 'whole')
    case 'prepare':
      return raiseOnly(work, 'first-half')
    case 'use':
      return pending(work, (entry) => useOnly(work.deps, entry))
    case 'probe':
      return pending(work, (entry) => probeOnly(work, entry))
    case 'commit':
      return pending(work, (entry) => commitOnly(work.deps, entry))
    case 'revert':
      return pending(work, (entry) => finish(work.deps, entry, { keep: false, outcome: null, advisory_failures: [] }))
    default:
      return wholeSequence(work)
  }
}

async function wholeSequence(work: Performance): Promise<MtuNodeApplyResult> {
  const { deps, request } = work
  const plan = await planChange(work.limits, request)
  if (work.plan_only) return planned(plan)
  const { entry } = plan
  await raise(deps, plan)
  let keep = false
  try {
    const advisory_failures = await advisoryFailures(deps, entry, request.advisory_targets ?? [])
    const outcome = await probeTarget(deps, entry, request)
    keep = !entry.dry_run && (outcome === null || outcome.verdict === 'pass')
    return await finish(deps, entry, { keep, outcome, advisory_failures })
  } catch (error) {
    if (!keep) await restore(deps, entry.subject, entry)
    throw error
  }
}

async function raiseOnly(
  { deps, limits, request, plan_only }: Performance,
  part: 'whole' | 'first-half',
): Promise<MtuNodeApplyResult> {
  const plan = await planChange(limits, request)
  if (plan_only) return planned(plan)
  await raise(deps, plan, part)
  await undoWhenLate(deps, plan.entry, MTU_ERRORS)
  const seconds = Math.round(plan.entry.window_ms / 1000)
  return {
    ...resultOf(plan.entry),
    applied: true,
    persisted: !plan.entry.dry_run,
    detail: `raised; reverts by itself in ${seconds} s`,
  }
}

async function useOnly(deps: ChangeDeps, entry: MtuEntry): Promise<MtuNodeApplyResult> {
  await useRaised(deps, entry)
  return { ...resultOf(entry), applied: true, persisted: !entry.dry_run, detail: 'in use' }
}

async function commitOnly(deps: ChangeDeps, entry: MtuEntry): Promise<MtuNodeApplyResult> {
  const behind = entry.dry_run ? null : await unfinished(deps, entry)
  if (behind !== null) {
    throw new ApiError('MTU_APPLY_FAILED', `${behind} does not run at its new value, so there is nothing to commit.`)
  }
  return finish(deps, entry, { keep: true, outcome: null, advisory_failures: [] })
}

async function probeOnly({ deps, request }: Performance, entry: MtuEntry): Promise<MtuNodeApplyResult> {
  const advisory_failures = await advisoryFailures(deps, entry, request.advisory_targets ?? [])
  const outcome = await probeTarget(deps, entry, request)
  const detail = outcome?.detail ?? 'there is no probe target'
  return {
    ...resultOf(entry),
    ...probeFields(outcome),
    advisory_failures,
    applied: true,
    persisted: !entry.dry_run,
    detail,
  }
}

function probeTarget(deps: ChangeDeps, entry: MtuEntry, request: MtuNodeApplyRequest): Promise<ProbeOutcome | null> {
  const target = request.probe_target ?? ''
  return target === '' ? Promise.resolve(null) : probe(deps, entry, target)
}

/** Runs a phase on the pending change of the bridge; a change of another value is not the caller's. */
async function pending(
  { deps, request, plan_only }: Performance,
  act: (entry: MtuEntry) => Promise<MtuNodeApplyResult>,
): Promise<MtuNodeApplyResult> {
  const entry = mtuEntryOf(await deps.journal.entry(request.bridge))
  const marker = await deps.journal.marker(request.bridge)
  if (
    entry === null ||
    marker !== 'pending' ||
    !sameChange(entry, request) ||
    entry.boot_id !== (await bootId(deps.host))
  ) {
    throw new ApiError(
      'MTU_NOTHING_PENDING',
      `${request.bridge} has no pending change to ${request.mtu}; it may have reverted.`,
    )
  }
  if (plan_only) return { ...resultOf(entry), detail: `would ${request.phase} the pending change` }
  return act(entry)
}

interface Decision {
  keep: boolean
  outcome: ProbeOutcome | null
  advisory_failures: string[]
}

async function finish(deps: ChangeDeps, entry: MtuEntry, decision: Decision): Promise<MtuNodeApplyResult> {
  const { outcome, advisory_failures } = decision
  const base = {
    ...resultOf(entry),
    ...probeFields(outcome),
    advisory_failures,
    applied: true,
    persisted: !entry.dry_run,
  }
  const keep = decision.keep && !entry.dry_run
  if (keep && (await commit(deps, entry))) {
    const verdict = outcome === null ? 'read back, not probed' : outcome.detail
    return { ...base, detail: `${entry.subject} runs at ${entry.mtu}: ${verdict}` }
  }
  const reverted = await restore(deps, entry.subject, entry)
  const why = keep
    ? 'the window was over'
    : entry.dry_run
      ? `dry run: ${outcome?.detail ?? 'read back, not probed'}`
      : (outcome?.detail ?? 'asked to')
  return { ...base, reverted, detail: `${why}; ${restoredWords(reverted)}` }
}

function planned(plan: ChangePlan): MtuNodeApplyResult {
  return { ...resultOf(plan.entry), detail: planMessage(plan) }
}

function resultOf(entry: MtuEntry): MtuNodeApplyResult {
  return {
    advisory_failures: [],
    devices: entry.devices.map(({ name }) => name),
    applied: false,
    persisted: false,
    probed: false,
    probe_ok: false,
    reverted: false,
    bridge: entry.subject,
    detail: '',
    probe_verdict: '',
    limit_mtu: entry.limit_mtu,
    mtu: entry.mtu,
  }
}

function probeFields(outcome: ProbeOutcome | null): Partial<MtuNodeApplyResult> {
  if (outcome === null) return {}
  const peer = outcome.peer_mac === null ? {} : { peer_mac: outcome.peer_mac }
  return { probed: true, probe_ok: outcome.verdict === 'pass', probe_verdict: outcome.verdict, ...peer }
}

/** Bridges whose files no network manager reads get their value here. */
async function setOwnDevices(host: Host, devices: readonly { name: string; mtu: number }[]): Promise<void> {
  const links = (await readLinks(host)) ?? []
  for (const { name, mtu } of devices) {
    const link = links.find((known) => known.name === name)
    if (link === undefined || link.mtu === mtu) continue
    await host.run('ip', ['link', 'set', 'dev', name, 'mtu', `${mtu}`], { timeout_ms: 10_000 })
  }
}
