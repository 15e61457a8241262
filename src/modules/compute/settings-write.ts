// Read, merge, write and read back: the one way in which details of a machine are changed (cloudstack.md 6.1, 6.3).
import { randomUUID } from 'node:crypto'
import { vmCan } from '#src/contract/compute/vm-can.ts'
import type { VmSettingsUpdate } from '#src/contract/compute/settings.ts'
import type { Args } from '#src/drivers/cloudstack/args.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { flagOf, mapOf, type Raw, textOf } from '#src/drivers/cloudstack/fields.ts'
import { ApiError, type UpstreamError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { lostAnswerOf } from '#src/kernel/lost-answers.ts'
import type { Database } from '#src/store/database.ts'
import {
  type DetailEdit,
  type DetailMap,
  differences,
  editableDetails,
  extraConfigOf,
  intendedDetails,
} from './details-map.ts'
import { withSettingsLock } from './settings-lock.ts'
import { rawVm, requireState } from './vm-lookup.ts'
import { vmOf } from './vm-view.ts'

export type TopLevel = Pick<
  VmSettingsUpdate,
  'display_name' | 'group' | 'ha_enabled' | 'os_type_id' | 'dynamically_scalable' | 'delete_protection'
>

export interface SettingsChange {
  virtual_machine_id: string
  /** Made from the map as it is just before the write. */
  edit: (current: DetailMap) => DetailEdit
  extra_config?: Readonly<Record<string, string | null>>
  top_level?: TopLevel
  force: boolean
}

/** Asked of the intended map before it is written; throwing refuses. */
export type MapCheck = (intended: DetailMap, current: DetailMap) => void

const DETAILS = 'min,group'
const WRITE_TIMEOUT_MS = 120_000
const REMOVE_TIMEOUT_MS = 60_000
/** A call may still be on its way when its connection broke. */
const LATE_CALL_MS = 3000

/** Answers the machine as the platform shows it afterwards. */
export async function writeSettings(
  deps: { cloudstack: CloudStack; database: Database },
  change: SettingsChange,
  check: MapCheck,
  ctx: RequestContext,
): Promise<Raw> {
  const { cloudstack } = deps
  const { virtual_machine_id: id, extra_config = {} } = change
  return withSettingsLock(deps.database, id, async (held) => {
    // Nothing may come between this reading and the write.
    const raw = await rawVm(cloudstack, id, ctx, DETAILS)
    requireState(vmOf(raw), change.force ? vmCan.settingsForce : vmCan.settingsUpdate)
    const current = mapOf(raw, 'details')
    const intended = intendedDetails(current, change.edit(current))
    check(intended, current)
    const args = {
      ...detailArgs(editableDetails(current), intended),
      ...topLevelArgs(change.top_level),
      ...extraConfigArgs(extra_config),
    }
    if (held.aborted)
      throw new ApiError(
        'SETTINGS_BUSY',
        `The lock on the settings of virtual machine ${id} was lost; nothing was written, so try again.`,
      )
    const lost = Object.keys(args).length === 0 ? undefined : await write(cloudstack, { id, ...args }, ctx)
    for (const [name, value] of Object.entries(extra_config)) {
      if (value === null && current[`extraconfig-${name}`] !== undefined) await removeExtraConfig(cloudstack, id, name)
    }
    const after = await rawVm(cloudstack, id, ctx, DETAILS)
    requireStored(change, intended, after, lost)
    return after
  })
}

/** Answers the error of a lost answer: what is read back tells whether it was written. */
async function write(cloudstack: CloudStack, args: Args, ctx: RequestContext): Promise<UpstreamError | undefined> {
  const options = { traceparent: ctx.traceparent, timeout_ms: WRITE_TIMEOUT_MS }
  const lost = await lostAnswerOf(() => cloudstack.call('updateVirtualMachine', args, options))
  if (lost !== undefined) await cloudstack.pause(LATE_CALL_MS)
  return lost
}

/** An empty map in the call would change nothing, so emptying has a parameter of its own. */
function detailArgs(current: DetailMap, intended: DetailMap): Args {
  if (differences(current, intended).length === 0) return {}
  if (Object.keys(intended).length === 0) return { cleanupdetails: true }
  for (const name of Object.keys(intended)) {
    // A bracket would end the index of the map parameter early, and the detail would be lost.
    if (/[[\]]/.test(name))
      throw new ApiError('SETTING_FORBIDDEN', `The detail ${name} cannot be carried over; nothing was written.`)
  }
  return { details: intended }
}

function topLevelArgs(top: TopLevel = {}): Args {
  const args = {
    displayname: top.display_name,
    group: top.group,
    haenable: top.ha_enabled,
    ostypeid: top.os_type_id,
    isdynamicallyscalable: top.dynamically_scalable,
    deleteprotection: top.delete_protection,
  }
  return Object.fromEntries(Object.entries(args).filter(([, value]) => value !== undefined))
}

/** One snippet for each name, apart by an empty line, which therefore no snippet may hold. Decoded once more by the server. */
function extraConfigArgs(extra: Readonly<Record<string, string | null>> = {}): Args {
  const snippets = Object.entries(extra)
    .filter((entry): entry is [string, string] => entry[1] !== null)
    .map(([name, value]) => `${name}:\n${withoutBlankLines(value)}`)
  return snippets.length === 0 ? {} : { extraconfig: encodeURIComponent(snippets.join('\n\n')) }
}

function withoutBlankLines(text: string): string {
  return text
    .split(/\r?\n/)
    .map((line) => line.trimEnd())
    .filter((line) => line !== '')
    .join('\n')
}

async function removeExtraConfig(cloudstack: CloudStack, virtual_machine_id: string, name: string): Promise<void> {
  const key = `extraconfig-${name}`
  const job_id = randomUUID()
  await cloudstack.call(
    'removeResourceDetail',
    { resourcetype: 'UserVm', resourceid: virtual_machine_id, key },
    { job_id },
  )
  await cloudstack.followJob(job_id, { signal: AbortSignal.timeout(REMOVE_TIMEOUT_MS) })
}

/** What the platform holds now must be what was meant: it ignores in silence what it does not know. */
function requireStored(change: SettingsChange, intended: DetailMap, after: Raw, lost: UpstreamError | undefined): void {
  const map = mapOf(after, 'details')
  const stored = extraConfigOf(map)
  const wrong = [
    ...differences(editableDetails(map), intended),
    ...Object.entries(change.extra_config ?? {})
      .filter(
        ([name, value]) =>
          (stored[name] === undefined ? null : normalised(stored[name])) !==
          (value === null ? null : normalised(value)),
      )
      .map(([name]) => `extra_config.${name}`),
    ...topLevelDifferences(change.top_level, after),
  ]
  if (wrong.length === 0) return
  if (lost !== undefined) throw lost
  throw new ApiError(
    'SETTINGS_NOT_KEPT',
    `The compute platform did not keep: ${wrong.join(', ')}. Read the settings before you try again.`,
  )
}

function normalised(text: string): string {
  return withoutBlankLines(text).trim()
}

function topLevelDifferences(top: TopLevel = {}, after: Raw): string[] {
  const seen: Record<keyof TopLevel, string | boolean | null> = {
    display_name: textOf(after, 'displayname'),
    group: textOf(after, 'group'),
    ha_enabled: flagOf(after, 'haenable'),
    os_type_id: textOf(after, 'ostypeid'),
    dynamically_scalable: flagOf(after, 'isdynamicallyscalable'),
    delete_protection: flagOf(after, 'deleteprotection'),
  }
  return Object.entries(top)
    .filter(([name, value]) => value !== undefined && seen[name as keyof TopLevel] !== value)
    .map(([name]) => name)
}
