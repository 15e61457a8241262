// The area `database`: this node's PostgreSQL as a standby of the primary.
import { Type } from 'typebox'
import Value from 'typebox/value'
import { DatabaseDocument } from '#src/contract/nodes/desired-documents.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { DesiredArea } from './area.ts'
import { runCommand } from './commands.ts'
import type { Place } from './managed-files.ts'
import { RecordHead, recordFile } from './record.ts'
import {
  checkFolder, copyPrimary, isCopied, removeStandby, type Standby, standbyDifferences, standbyOf, writePassword,
} from './standby.ts' // biome-ignore format: one import

export function createDatabaseArea(place: Place, state_dir: string): DesiredArea {
  const { host } = place
  const records = recordFile(state_dir, 'database', Type.Object(RecordHead.properties))
  const known = (document: unknown): Standby => standbyOf(place, Value.Parse(DatabaseDocument, document))
  return {
    schema: DatabaseDocument,
    async state() {
      const record = await records.read()
      if (record === null) return { hash: null, applied_at: null, differences: [], pending: null }
      const { hash, applied_at, document } = record
      return { hash, applied_at, differences: await standbyDifferences(known(document)), pending: null }
    },
    async apply(document, { hash }) {
      const standby = known(document)
      const record = await records.read()
      const is_same = record?.hash === hash && record.applied_at !== null
      if (is_same && (await standbyDifferences(standby)).length === 0) return 'Everything is so already.'
      if (record !== null) refuseMove(known(record.document), standby)
      await checkFolder(standby)
      await records.write({ hash, document, applied_at: null })
      if (await isCopied(standby)) await writePassword(standby)
      else await copyPrimary(standby)
      for (const { differs, commands } of standby.service) {
        if ((await differs?.()) !== null) for (const command of commands) await runCommand(host, command)
      }
      const left = await standbyDifferences(standby)
      if (left.length > 0) throw new ApiError('DESIRED_FAILED', `The node is not as ordered: ${left.join('; ')}.`)
      await records.write({ hash, document, applied_at: new Date(host.now()).toISOString() })
      return 'Applied.'
    },
    async remove() {
      const record = await records.read()
      if (record === null) return 'Nothing is applied.'
      await removeStandby(known(record.document))
      await records.remove()
      return 'Removed.'
    },
  }
}

/** Another folder or cluster is another standby: the first one is removed before. */
function refuseMove(before: Standby, now: Standby): void {
  if (before.unit === now.unit && before.data_dir === now.data_dir) return
  throw new ApiError('DESIRED_CONFLICT', `The node has a standby in ${before.data_dir}; remove it first.`)
}
