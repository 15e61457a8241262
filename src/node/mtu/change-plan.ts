// Checks an MTU change against the node and works out everything it will do, before anything is touched.
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { basename, dirname, join } from 'node:path'
import type { MtuNodeApplyRequest } from '#src/contract/network/mtu.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { Host } from '#src/kernel/host.ts'
import { planChain } from './chain.ts'
import { type JournalEntry, sha256 } from './journal.ts'
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

export interface ChangePlan {
  entry: JournalEntry
  new_texts: string[]
  old_files: (Buffer | null)[]
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
  const old_files = await Promise.all(persist.changes.map(({ path }) => readFile(path).catch(() => null)))
  return {
    new_texts: persist.changes.map(({ new_text }) => new_text),
    old_files,
    entry: {
      run_id,
      boot_id: await bootId(limits.host),
      bridge,
      mtu,
      limit_mtu: plan.limit_mtu,
      dry_run: request.dry_run === true,
      started_at: new Date(limits.host.now()).toISOString(),
      window_ms: windowOf(limits, request.self_revert_secs ?? 0),
      manager: persist.manager,
      devices: plan.steps.map(({ name, ifindex, old_mtu, new_mtu }) => ({ name, ifindex, old_mtu, new_mtu })),
      files: persist.changes.map(({ path, new_text }, at) => ({
        path,
        temporary: join(dirname(path), `.${basename(path)}.${run_id}`),
        existed: old_files[at] !== null,
        old_sha256: sha256(old_files[at] ?? null),
        new_sha256: sha256(new_text),
      })),
    },
  }
}

export async function bootId(host: Host): Promise<string> {
  return (await host.read('/proc/sys/kernel/random/boot_id'))?.trim() ?? ''
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
  if (links === null) throw new ApiError('MTU_APPLY_FAILED', 'The network devices of the node could not be read.')
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
