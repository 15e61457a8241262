// An area whose document becomes packages, files and effects: the one way in which such a plan is compared, applied and removed.
import { type Static, type TSchema, Type } from 'typebox'
import Value from 'typebox/value'
import { ApiError } from '#src/kernel/errors.ts'
import type { DesiredArea } from './area.ts'
import { type Command, type Effect, installPackages, missingPackages, removePackages, runCommand } from './commands.ts'
import {
  differenceOf,
  type ManagedFile,
  Original,
  originalOf,
  type Place,
  restoreManaged,
  writeManaged,
} from './managed-files.ts'
import { RecordHead, recordFile } from './record.ts'

export interface AreaPlan {
  packages: readonly string[]
  /** In the order in which they are written. */
  files: readonly ManagedFile[]
  /** In this order, when packages and files are there. */
  effects: readonly Effect[]
}

export interface PlannedAreaOptions<S extends TSchema> {
  name: string
  schema: S
  place: Place
  state_dir: string
  /** Throws when the document cannot be, on this node or at all. Reads only. */
  plan(document: Static<S>): Promise<AreaPlan> | AreaPlan
  /** Before the files are restored (a service is stopped), and after; one that fails does not keep the others. */
  before_removal?: readonly Command[] | ((document: Static<S>) => readonly Command[])
  after_removal?: readonly Command[]
}

const PlannedRecord = Type.Object({
  ...RecordHead.properties,
  originals: Type.Array(Original),
  /** Packages that the area installed. */
  installed: Type.Array(Type.String()),
})
type PlannedRecord = Static<typeof PlannedRecord>

export function createPlannedArea<S extends TSchema>(options: PlannedAreaOptions<S>): DesiredArea {
  const { name, schema, place, state_dir } = options
  const { host } = place
  const records = recordFile(state_dir, name, PlannedRecord)
  const planOf = async (document: unknown): Promise<AreaPlan> => options.plan(Value.Parse(schema, document))
  return {
    schema,
    async state() {
      const record = await records.read()
      if (record === null) return { hash: null, applied_at: null, differences: [], pending: null }
      const { hash, applied_at, document } = record
      const differences = await planOf(document).then(
        (plan) => differencesOf(place, plan),
        // A document from before an upgrade may be one that could not be ordered any more.
        (error: unknown) => [error instanceof ApiError ? error.message : 'the document cannot be read any more'],
      )
      return { hash, applied_at, differences, pending: null }
    },
    async apply(document, { hash }) {
      const plan = await planOf(document)
      const record = await records.read()
      const differences = await differencesOf(place, plan)
      const is_same = record?.hash === hash && record.applied_at !== null
      if (is_same && differences.length === 0) return 'Everything is so already.'
      const missing = await missingPackages(host, plan.packages)
      const next: PlannedRecord = {
        hash,
        document,
        applied_at: null,
        originals: await originalsOf(place, plan, record?.originals ?? []),
        installed: [...new Set([...(record?.installed ?? []), ...missing])],
      }
      // What is about to be changed is known before it is: a crash from here on leaves nothing that cannot be removed.
      await records.write(next)
      if (missing.length > 0) await installPackages(host, missing)
      await restoreDropped(place, plan, next)
      const written = await writeFiles(place, plan)
      await bringAbout(place, plan, { written, all: !is_same })
      const left = await differencesOf(place, plan)
      if (left.length > 0) throw new ApiError('DESIRED_FAILED', `The node is not as ordered: ${left.join('; ')}.`)
      const originals = next.originals.filter(({ path }) => plan.files.some((file) => file.path === path))
      await records.write({ ...next, originals, applied_at: new Date(host.now()).toISOString() })
      return 'Applied.'
    },
    async remove() {
      const record = await records.read()
      if (record === null) return 'Nothing is applied.'
      const { before_removal = [] } = options
      await attempt(
        place,
        typeof before_removal === 'function' ? before_removal(Value.Parse(schema, record.document)) : before_removal,
      )
      for (const original of record.originals.toReversed()) await restoreManaged(place, original)
      if (record.installed.length > 0) {
        const left = await missingPackages(host, record.installed)
        const ours = record.installed.filter((one) => !left.includes(one))
        if (ours.length > 0) await removePackages(host, ours)
      }
      await attempt(place, options.after_removal ?? [])
      await records.remove()
      return 'Removed.'
    },
  }
}

async function differencesOf(place: Place, plan: AreaPlan): Promise<string[]> {
  const missing = await missingPackages(place.host, plan.packages)
  const files = await Promise.all(plan.files.map((file) => differenceOf(place, file)))
  const effects: (string | null)[] = []
  for (const { differs } of plan.effects) effects.push((await differs?.()) ?? null)
  return [...missing.map((name) => `package ${name} is not installed`), ...files, ...effects].filter(
    (one) => one !== null,
  )
}

async function originalsOf(place: Place, plan: AreaPlan, known: readonly Original[]): Promise<Original[]> {
  const dropped = known.filter(({ path }) => !plan.files.some((file) => file.path === path))
  const found: Original[] = []
  for (const file of plan.files)
    found.push(
      await originalOf(
        place,
        file,
        known.find(({ path }) => path === file.path),
      ),
    )
  return [...dropped, ...found]
}

/** Files and settings of an earlier document that this one no longer has. */
async function restoreDropped(place: Place, plan: AreaPlan, { originals }: PlannedRecord): Promise<void> {
  for (const original of originals) {
    const file = plan.files.find(({ path }) => path === original.path)
    if (file === undefined) await restoreManaged(place, original)
    if (file?.kind !== 'keys') continue
    const gone = Object.entries(original.keys).filter(([key]) => !Object.hasOwn(file.values, key))
    await restoreManaged(place, { ...original, keys: Object.fromEntries(gone) })
  }
}

async function writeFiles(place: Place, plan: AreaPlan): Promise<Set<string>> {
  const written = new Set<string>()
  for (const file of plan.files) {
    if ((await differenceOf(place, file)) === null) continue
    await writeManaged(place, file)
    written.add(file.path)
  }
  return written
}

async function bringAbout(
  { host }: Place,
  plan: AreaPlan,
  { written, all }: { written: ReadonlySet<string>; all: boolean },
): Promise<void> {
  for (const { differs, commands, after, timeout_ms } of plan.effects) {
    const is_after = after !== undefined && (all || after.some((path) => written.has(path)))
    const is_due = differs === undefined ? after === undefined || is_after : is_after || (await differs()) !== null
    if (is_due) for (const command of commands) await runCommand(host, command, timeout_ms)
  }
}

async function attempt({ host }: Place, commands: readonly Command[]): Promise<void> {
  for (const command of commands) await runCommand(host, command).catch(() => {})
}
