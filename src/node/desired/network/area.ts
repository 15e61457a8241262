// The area `network`: devices, addresses and the default route, written for the network manager of the node, set live by `ip`, and
// reverted by the watchdog that MTU changes use unless the change is confirmed in time.
import { randomUUID } from 'node:crypto'
import { readFile, realpath, stat } from 'node:fs/promises'
import { Type } from 'typebox'
import Value from 'typebox/value'
import { NetworkDevice, NetworkDocument } from '#src/contract/nodes/desired-documents.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { Host } from '#src/kernel/host.ts'
import {
  bootId, type ChangeErrors, commit, leftMs, type NewFile, planFiles, raise, undoWhenLate,
} from '../../guarded/change.ts' // biome-ignore format: one import
import type { GuardedChanges } from '../../guarded/changes.ts'
import { NETWORK, type RunEntry } from '../../guarded/journal.ts'
import type { ApplyOptions, AreaState, DesiredArea } from '../area.ts'
import { RecordHead, recordFile } from '../record.ts'
import { checkNetwork, refuseGuests } from './check.ts'
import { differencesOf, type LiveNetwork, readLive, stepsTo, undoOf } from './live.ts'
import { planWriting } from './persist/files.ts'

export interface NetworkAreaOptions {
  host: Host
  changes: GuardedChanges
  state_dir: string
  /** Root of the configuration files, `/` on a node. */
  root: string
}

const NetworkRecord = Type.Object({
  ...RecordHead.properties,
  /** How the node was before the first document: what the removal leads back to. */
  before: Type.Object({
    live: Type.Unsafe<LiveNetwork>(
      Type.Object({ devices: Type.Array(Type.Unknown()), routes: Type.Array(Type.Unknown()) }),
    ),
    files: Type.Array(
      Type.Object({ path: Type.String(), text: Type.Union([Type.String(), Type.Null()]), mode: Type.Integer() }),
    ),
  }),
  /** Every device that a document has named, as it was named last. */
  devices: Type.Array(NetworkDevice),
})
type NetworkRecord = Type.Static<typeof NetworkRecord>

const DEFAULT_GUARD_S = 120
const ERRORS: ChangeErrors = {
  failed: (message, cause) => new ApiError('DESIRED_FAILED', message, cause === undefined ? {} : { cause }),
  running: (subject) => new ApiError('DESIRED_AREA_BUSY', `A change of ${subject} is under way; confirm it, or wait.`),
}

export function createNetworkArea(options: NetworkAreaOptions): DesiredArea {
  const parts = partsOf(options)
  return {
    schema: NetworkDocument,
    state: () => stateOf(parts),
    apply: (document, order) => applyNetwork(parts, Value.Parse(NetworkDocument, document), order),
    remove: ({ guard_seconds = DEFAULT_GUARD_S }) => removeNetwork(parts, guard_seconds),
    confirm: (hash) => confirmNetwork(parts, hash),
  }
}

type Parts = ReturnType<typeof partsOf>

function partsOf({ host, changes, state_dir, root }: NetworkAreaOptions) {
  const { deps } = changes
  return {
    host,
    changes,
    root,
    records: recordFile(state_dir, 'network', NetworkRecord),
    async live(): Promise<LiveNetwork> {
      const found = await readLive(host)
      if (found === null) throw ERRORS.failed('The network devices of the node could not be read.')
      return found
    },
    pendingEntry: async (): Promise<RunEntry | null> =>
      (await leftMs(deps, NETWORK)) === null ? null : deps.journal.entry(NETWORK),
  }
}

async function stateOf({ records, changes, live }: Parts): Promise<AreaState> {
  const record = await records.read()
  const left_ms = await leftMs(changes.deps, NETWORK)
  const pending = left_ms === null ? null : { hash: record?.hash ?? null, left_ms }
  if (record === null) return { hash: null, applied_at: null, differences: [], pending }
  const differences = differencesOf(documentOf(record), await live())
  return { hash: record.hash, applied_at: record.applied_at, differences, pending }
}

async function applyNetwork(
  parts: Parts,
  document: NetworkDocument,
  { hash, guard_seconds = DEFAULT_GUARD_S }: ApplyOptions,
): Promise<string> {
  const { host, records, live } = parts
  const now = await live()
  const record = await records.read()
  const is_pending = (await parts.pendingEntry()) !== null
  if (record?.hash === hash && differencesOf(document, now).length === 0)
    return is_pending ? waits(guard_seconds) : 'The network is so already.'
  if (is_pending) throw ERRORS.running(NETWORK)
  const previous = record === null ? null : documentOf(record)
  checkNetwork(document, previous, now)
  const files = await planWriting(parts.root, document)
  const next: NetworkRecord = {
    hash,
    document,
    applied_at: new Date(host.now()).toISOString(),
    before: {
      live: widened(record?.before.live ?? now, now, record?.devices ?? []),
      files: await withOriginals(record?.before.files ?? [], files),
    },
    devices: merged(record?.devices ?? [], document.devices),
  }
  await change(parts, {
    guard_seconds,
    undo: undoOf(document, previous, now),
    commands: stepsTo(document, previous, now).map((args) => ({ args, may_fail_without: null })),
    new_files: [...files, { path: records.path, text: `${JSON.stringify(next)}\n`, mode: 0o600 }],
    verify: async () => differencesOf(document, await live()),
  })
  return waits(guard_seconds)
}

async function removeNetwork(parts: Parts, guard_seconds: number): Promise<string> {
  const { records, live } = parts
  const record = await records.read()
  const is_pending = (await parts.pendingEntry()) !== null
  if (record === null) return is_pending ? waits(guard_seconds) : 'Nothing is applied.'
  if (is_pending) throw ERRORS.running(NETWORK)
  const all = { devices: record.devices }
  const { before } = record
  const left = record.devices
    .filter(({ name }) => before.live.devices.some((device) => device.name === name))
    .map((device) => ({ ...device, addresses: [] }))
  const now = await live()
  refuseGuests({ devices: left }, all, now)
  await change(parts, {
    guard_seconds,
    undo: undoOf({ devices: left }, all, now),
    commands: undoOf(all, null, before.live).map(({ device, args }) => ({ args, may_fail_without: device })),
    new_files: [...before.files, { path: records.path, text: null }],
    verify: () => Promise.resolve([]),
  })
  return waits(guard_seconds)
}

async function confirmNetwork({ host, changes, records, pendingEntry }: Parts, hash: string | null): Promise<void> {
  if (changes.isBusy(NETWORK)) throw ERRORS.running(NETWORK)
  const entry = await pendingEntry()
  const record = await records.read()
  const is_asked_for = entry !== null && (record?.hash ?? null) === hash && entry.boot_id === (await bootId(host))
  // The watchdog may be first.
  if (!is_asked_for || !(await commit(changes.deps, entry)))
    throw new ApiError('DESIRED_NOTHING_PENDING', 'No such change of the network is pending; it may have reverted.')
}

async function change({ host, changes }: Parts, order: NetworkOrder): Promise<void> {
  const { deps } = changes
  if (changes.isBusy(NETWORK)) throw ERRORS.running(NETWORK)
  const run_id = randomUUID()
  const { files, old_files } = await planFiles(run_id, order.new_files)
  const entry: RunEntry = {
    run_id,
    boot_id: await bootId(host),
    subject: NETWORK,
    started_at: new Date(host.now()).toISOString(),
    window_ms: order.guard_seconds * 1000,
    undo: order.undo,
    files,
  }
  await changes.alone(NETWORK, async () => {
    const guarded = { entry, new_files: order.new_files, old_files }
    await raise(deps, guarded, ERRORS, () => setLive(host, order, () => deps.after_step('device-set')))
    await undoWhenLate(deps, entry, ERRORS)
  })
}

function waits(seconds: number): string {
  return `Applied; reverts by itself in ${seconds} s unless it is confirmed.`
}

interface NetworkOrder {
  guard_seconds: number
  undo: RunEntry['undo']
  /** A command about a device that is gone may fail. */
  commands: readonly { args: readonly string[]; may_fail_without: string | null }[]
  new_files: readonly NewFile[]
  verify(): Promise<string[]>
}

/** Null when the node is as ordered; else the sentence about what is not. */
async function setLive(host: Host, order: NetworkOrder, after: () => void | Promise<void>): Promise<string | null> {
  for (const { args, may_fail_without } of order.commands) {
    const run = await host.run('ip', args, { timeout_ms: 10_000 })
    await after()
    if (run.outcome === 'exited' && run.exit_code === 0) continue
    const devices = may_fail_without === null ? [] : ((await readLive(host))?.devices ?? [])
    if (may_fail_without !== null && !devices.some(({ name }) => name === may_fail_without)) continue
    const [line = ''] = run.stderr.trim().split('\n')
    return `ip ${args.join(' ')}: ${line === '' ? 'failed' : line.replace(/^(RTNETLINK answers|Error): |\.$/g, '')}`
  }
  const differences = await order.verify()
  return differences.length === 0 ? null : differences.join('; ')
}

function documentOf({ document }: NetworkRecord): NetworkDocument {
  return Value.Parse(NetworkDocument, document)
}

/** Devices that a later document names for the first time were until now as nobody of us changed them. */
function widened(before: LiveNetwork, now: LiveNetwork, ours: readonly NetworkDevice[]): LiveNetwork {
  const known = new Set([...before.devices, ...ours].map(({ name }) => name))
  return { ...before, devices: [...before.devices, ...now.devices.filter(({ name }) => !known.has(name))] }
}

function merged(before: readonly NetworkDevice[], now: readonly NetworkDevice[]): NetworkDevice[] {
  return [...before.filter(({ name }) => !now.some((device) => device.name === name)), ...now]
}

async function withOriginals(
  known: NetworkRecord['before']['files'],
  files: readonly NewFile[],
): Promise<NetworkRecord['before']['files']> {
  const added = files.filter(({ path }) => !known.some((one) => one.path === path))
  const originals = added.map(async ({ path, mode = 0o644 }) => ({
    path: await realpath(path).catch(() => path),
    text: await readFile(path, 'utf8').catch(() => null),
    mode: await stat(path).then((found) => found.mode & 0o7777, () => mode), // biome-ignore format: short
  }))
  return [...known, ...(await Promise.all(originals))]
}
