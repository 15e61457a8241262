// Bridges of guest networks on this node: made, checked and removed with `ip`, read back after every change, and made again
// after a reboot from what was written down before the first device.
import { mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import Value from 'typebox/value'
import { type BridgeReport, BridgeSpec } from '#src/contract/nodes/agent-bridges.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { Host } from '#src/kernel/host.ts'
import { parseJson } from '../untrusted-json.ts'
import { writeDurably } from '#src/kernel/durable-file.ts'
import {
  type BridgeLink,
  checkSpec,
  missingSteps,
  parseBridgeLinks,
  requireOwn,
  reportOf,
  segmentName,
} from './devices.ts'

export interface BridgesOptions {
  host: Host
  /** Folder with one file a bridge: what is ours. */
  state_dir: string
  /** Own address in the overlay, for VXLANs. */
  local_address?: string
}

export interface Bridges {
  /** Does only what is missing; may be repeated. */
  create(spec: BridgeSpec): Promise<BridgeReport>
  /** Refuses while guests are attached; nothing to delete is fine. */
  delete(spec: BridgeSpec): Promise<BridgeReport>
  check(spec: BridgeSpec): Promise<BridgeReport>
  /** Makes again what a reboot took; the names of those that could not be made. */
  restore(): Promise<string[]>
}

const TIMEOUT_MS = 10_000

export function createBridges({ host, state_dir, local_address }: BridgesOptions): Bridges {
  const folder = join(state_dir, 'bridges')
  const fileOf = (bridge: string): string => join(folder, `${bridge}.json`)
  const storedSpec = async (bridge: string): Promise<BridgeSpec | null> => {
    const text = await readFile(fileOf(bridge), 'utf8').catch(() => '')
    const value = parseJson(text)
    return Value.Check(BridgeSpec, value) ? value : null
  }
  const isOurs = async (spec: BridgeSpec): Promise<boolean> => {
    const own = await storedSpec(spec.bridge)
    return own !== null && own.kind === spec.kind && own.segment_id === spec.segment_id && own.nic === spec.nic
  }
  let last: Promise<unknown> = Promise.resolve()
  /** One change at a time: each reads all links first. */
  const alone = <T>(work: () => Promise<T>): Promise<T> => {
    const next = last.then(work, work)
    last = next.catch(() => {})
    return next
  }
  const create = async (spec: BridgeSpec): Promise<BridgeReport> => {
    const before = await readBridgeLinks(host)
    checkSpec(spec, before)
    const ours = await isOurs(spec)
    requireOwn(spec, before, ours)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await writeDurably(fileOf(spec.bridge), `${fileOf(spec.bridge)}.new`, `${JSON.stringify(spec)}\n`)
    try {
      for (const args of missingSteps(spec, before, local_address ?? null)) await change(host, args)
      const report = reportOf(spec, await readBridgeLinks(host))
      if (report.problems.length > 0) throw new ApiError('BRIDGE_FAILED', `${report.problems.join('; ')}.`)
      return report
    } catch (error) {
      if (!ours) await remove(spec).catch(() => {})
      throw error
    }
  }
  const remove = async (spec: BridgeSpec): Promise<void> => {
    const links = await readBridgeLinks(host)
    for (const name of [segmentName(spec), spec.bridge]) {
      if (links.some((link) => link.name === name)) await change(host, ['link', 'del', 'dev', name])
    }
    await rm(fileOf(spec.bridge), { force: true })
  }
  return {
    create: (spec) => alone(() => create(spec)),
    delete: (spec) =>
      alone(async () => {
        const before = await readBridgeLinks(host)
        if (!(await isOurs(spec))) {
          requireOwn(spec, before, false)
          return reportOf(spec, before)
        }
        const { members } = reportOf(spec, before)
        if (members.length > 0) {
          throw new ApiError(
            'BRIDGE_IN_USE',
            `${members.join(', ')} ${members.length === 1 ? 'is' : 'are'} attached to ${spec.bridge}.`,
          )
        }
        await remove(spec)
        const report = reportOf(spec, await readBridgeLinks(host))
        if (report.present) throw new ApiError('BRIDGE_FAILED', `${spec.bridge} is still there after it was deleted.`)
        return report
      }),
    check: async (spec) => reportOf(spec, await readBridgeLinks(host)),
    async restore() {
      const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.json'))
      const failed: string[] = []
      for (const name of names) {
        const spec = await storedSpec(name.slice(0, -'.json'.length))
        if (spec === null) continue
        await alone(() => create(spec)).catch(() => failed.push(spec.bridge))
      }
      return failed
    },
  }
}

async function readBridgeLinks(host: Host): Promise<BridgeLink[]> {
  const run = await host.run('ip', ['-j', '-d', 'link'], { timeout_ms: TIMEOUT_MS })
  const rows = run.outcome === 'exited' && run.exit_code === 0 ? parseJson(run.stdout) : undefined
  if (!Array.isArray(rows))
    throw new ApiError('BRIDGE_FAILED', 'The network devices of the node could not be read: `ip` did not list them.')
  return parseBridgeLinks(rows)
}

async function change(host: Host, args: readonly string[]): Promise<void> {
  const run = await host.run('ip', args, { timeout_ms: TIMEOUT_MS })
  if (run.outcome === 'exited' && run.exit_code === 0) return
  const [line = ''] = run.stderr.trim().split('\n')
  const word =
    run.outcome === 'missing' ? 'the tool ip is not installed' : line.replace(/^(RTNETLINK answers|Error): /, '')
  throw new ApiError('BRIDGE_FAILED', `ip ${args.join(' ')}: ${word === '' ? 'failed' : word}.`)
}
