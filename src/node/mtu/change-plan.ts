// Checks an MTU change against the node and works out everything it will do, before anything is touched.
import { randomUUID } from 'node:crypto'
import { isIP } from 'node:net'
import { type Static, Type } from 'typebox'
import Value from 'typebox/value'
import type { MtuNodeApplyRequest } from '#src/contract/network/mtu.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { Host } from '#src/kernel/host.ts'
import { bootId, type GuardedChange, planFiles } from '../guarded/change.ts'
import { RunEntry } from '../guarded/journal.ts'
import { planChain } from './chain.ts'
import { type MtuLink, readLinks } from './links.ts'
import { planPersist } from './persist/configuration.ts'

export interface ChangeLimits {
  host: Host
  /** Devices that carry a role on this node. */
  allowed_devices: readonly string[]
  uplinks: readonly string[]
  config_root: string
  /** Largest MTU of the fabric under the bridges, or null without one. */
  underlayLimit(): Promise<number | null>
  default_window_ms: number
  least_window_ms: number
}

const MtuEntry = Type.Object({
  ...RunEntry.properties,
  mtu: Type.Integer(),
  limit_mtu: Type.Integer(),
  dry_run: Type.Boolean(),
  manager: Type.String(),
  devices: Type.Array(
    Type.Object({ name: Type.String(), ifindex: Type.Integer(), old_mtu: Type.Integer(), new_mtu: Type.Integer() }),
  ),
})
export type MtuEntry = Static<typeof MtuEntry>
export type ChangePlan = GuardedChange<MtuEntry>

/** Null for a change that is none of an MTU. */
export function mtuEntryOf(entry: RunEntry | null): MtuEntry | null {
  return Value.Check(MtuEntry, entry) ? entry : null
}

const MOST_WINDOW_MS = 900_000

export async function planChange(limits: ChangeLimits, request: MtuNodeApplyRequest): Promise<ChangePlan> {
  const { bridge, mtu } = request
  checkTargets(request)
  const links = await requireDevice(limits, bridge)
  const underlay_limit = await limits.underlayLimit()
  const plan = planChain(links, { bridge, mtu, uplinks: limits.uplinks, underlay_limit })
  if (mtu > plan.limit_mtu) {
    throw new ApiError('MTU_ABOVE_LIMIT', `${bridge} can run at ${plan.limit_mtu} at most, not at ${mtu}.`)
  }
  if (mtu < plan.least_mtu) {
    throw new ApiError(
      'MTU_BELOW_LIMIT',
      `The devices below ${bridge} run at ${plan.least_mtu} at least, not at ${mtu}.`,
    )
  }
  const run_id = randomUUID()
  const devices = plan.chain.map(({ name, new_mtu }) => ({ name, mtu: new_mtu }))
  const persist =
    request.dry_run === true ? { manager: 'none', changes: [] } : await planPersist(limits.config_root, bridge, devices)
  const new_files = persist.changes.map(({ path, new_text }) => ({ path, text: new_text }))
  const { files, old_files } = await planFiles(run_id, new_files)
  const steps = plan.steps.map(({ name, ifindex, old_mtu, new_mtu }) => ({ name, ifindex, old_mtu, new_mtu }))
  const entry = {
    run_id,
    boot_id: await bootId(limits.host),
    subject: bridge,
    mtu,
    limit_mtu: plan.limit_mtu,
    dry_run: request.dry_run === true,
    started_at: new Date(limits.host.now()).toISOString(),
    window_ms: windowOf(limits, request.self_revert_secs ?? 0),
    manager: persist.manager,
    devices: steps,
    // The reverse of the change.
    undo: steps.toReversed().map(({ name, old_mtu }) => ({
      device: name,
      args: ['link', 'set', 'dev', name, 'mtu', `${old_mtu}`],
    })),
    files,
  }
  return { entry, new_files, old_files }
}

/** All links of the node, once the device is known to exist and to have a role. */
export async function requireDevice(
  { host, allowed_devices }: Pick<ChangeLimits, 'host' | 'allowed_devices'>,
  device: string,
): Promise<MtuLink[]> {
  if (!allowed_devices.includes(device)) {
    throw new ApiError('MTU_DEVICE_REFUSED', `${device} carries no role on this node.`)
  }
  const links = await readLinks(host)
  if (links === null)
    throw new ApiError('MTU_APPLY_FAILED', 'The network devices of the node could not be read: `ip` did not list them.')
  if (!links.some(({ name }) => name === device)) {
    throw new ApiError('MTU_DEVICE_NOT_FOUND', `The node has no device ${device}.`)
  }
  return links
}

function checkTargets({ probe_target, advisory_targets }: MtuNodeApplyRequest): void {
  for (const target of [
    ...(probe_target === undefined || probe_target === '' ? [] : [probe_target]),
    ...(advisory_targets ?? []),
  ]) {
    if (isIP(target) === 0) throw new ApiError('MTU_TARGET_INVALID', `${JSON.stringify(target)} is not an IP address.`)
  }
}

function windowOf(limits: ChangeLimits, seconds: number): number {
  const asked_ms = seconds === 0 ? limits.default_window_ms : seconds * 1000
  return Math.min(MOST_WINDOW_MS, Math.max(limits.least_window_ms, asked_ms))
}
