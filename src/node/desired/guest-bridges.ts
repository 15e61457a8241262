// The area `bridges`: the bridges of all guest networks that this node is to carry, made by the same code as single ones.
import { Type } from 'typebox'
import Value from 'typebox/value'
import { BridgesDocument } from '#src/contract/nodes/desired-documents.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { Bridges } from '../bridges/index.ts'
import type { DesiredArea } from './area.ts'
import { RecordHead, recordFile } from './record.ts'

const BridgesRecord = Type.Object({
  ...RecordHead.properties,
  /** All that were ever ordered and not removed yet. */
  made: BridgesDocument,
})

export function createBridgesArea(bridges: Bridges, state_dir: string, now: () => number): DesiredArea {
  const records = recordFile(state_dir, 'bridges', BridgesRecord)
  const problemsOf = async ({ bridges: specs }: BridgesDocument): Promise<string[]> =>
    (await Promise.all(specs.map((spec) => bridges.check(spec)))).flatMap(({ problems }) => problems)
  return {
    schema: BridgesDocument,
    async state() {
      const record = await records.read()
      if (record === null) return { hash: null, applied_at: null, differences: [], pending: null }
      const { hash, applied_at, document } = record
      const differences = await problemsOf(Value.Parse(BridgesDocument, document))
      return { hash, applied_at, differences, pending: null }
    },
    async apply(given, { hash }) {
      const document = Value.Parse(BridgesDocument, given)
      checkNames(document)
      const record = await records.read()
      const before = record?.made.bridges ?? []
      const dropped = before.filter((spec) => !document.bridges.some((one) => isSame(one, spec)))
      await records.write({ hash, document, applied_at: null, made: { bridges: [...dropped, ...document.bridges] } })
      for (const spec of dropped) await deleteOwn(bridges, spec)
      for (const spec of document.bridges) await bridges.create(spec)
      const left = await problemsOf(document)
      if (left.length > 0) throw new ApiError('DESIRED_FAILED', `The node is not as ordered: ${left.join('; ')}.`)
      await records.write({ hash, document, applied_at: new Date(now()).toISOString(), made: document })
      return 'Applied.'
    },
    async remove() {
      const record = await records.read()
      for (const spec of record?.made.bridges ?? []) await deleteOwn(bridges, spec)
      await records.remove()
      return record === null ? 'Nothing is applied.' : 'Removed.'
    },
  }
}

/** One that turned out to be of others was ordered, and never made. */
async function deleteOwn(bridges: Bridges, spec: BridgesDocument['bridges'][number]): Promise<void> {
  try {
    await bridges.delete(spec)
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'BRIDGE_EXISTS')) throw error
  }
}

function checkNames({ bridges }: BridgesDocument): void {
  const twice = bridges.findIndex(({ bridge }, at) => bridges.findIndex((one) => one.bridge === bridge) !== at)
  if (twice >= 0) throw invalidField(`document.bridges.${twice}.bridge`, 'it is named twice')
}

function isSame(one: BridgesDocument['bridges'][number], other: BridgesDocument['bridges'][number]): boolean {
  return (
    one.bridge === other.bridge &&
    one.kind === other.kind &&
    one.segment_id === other.segment_id &&
    one.nic === other.nic
  )
}
