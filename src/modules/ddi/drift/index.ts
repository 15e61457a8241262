// Handlers of the drift area.
import type { ddiDrift } from '#src/contract/ddi/drift.ts'
import type { Handlers } from '#src/contract/route.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { type ChangeDeps, recordChange } from '#src/store/app-events.ts'
import { checkedAt, listDrift, saveFindings } from '#src/store/ddi-drift.ts'
import { databaseClock } from '#src/store/tenants.ts'
import { type Difference, differences, type DriftDeps } from './compare.ts'

export function ddiDriftHandlers(deps: ChangeDeps & DriftDeps): Handlers<typeof ddiDrift.routes, RequestContext> {
  const { db } = deps.database
  return {
    async ddiDriftList({ query }) {
      const { kind, scope_name, page = 1, page_size = 50 } = query
      const of = { ...(kind === undefined ? {} : { kind }), ...(scope_name === undefined ? {} : { scope: scope_name }) }
      const [{ rows, count }, checked_at] = await Promise.all([listDrift(db, of, { page, page_size }), checkedAt(db)])
      const drift = rows.map(({ seen_at: _seen, first_seen, repair, ...row }) => ({
        ...row,
        first_seen: first_seen.toISOString(),
        repair: repair as Difference['repair'] as 'restore' | 'adopt' | 'none',
      }))
      return {
        success: true,
        message: sentence(count),
        data: { drift, total_count: count, checked_at, page, page_size },
      }
    },
    ddiDriftCheck: (_input, ctx) =>
      recordChange(deps, ctx, about('', 'Comparing DHCP and DNS with what was ordered.'), async (note) => {
        const message = sentence(await checkDrift(deps))
        note.description = message
        return { success: true, message }
      }),
    ddiDriftRepair: ({ params }, ctx) =>
      recordChange(deps, ctx, about(params.id, `Repairing the difference ${params.id}.`), async (note) => {
        // Compared again: what is mended must still be so.
        const found = (await differences(deps)).find((one) => one.id === params.id)
        if (found === undefined) throw new ApiError('DRIFT_NOT_FOUND', `There is no difference ${params.id} any more.`)
        if (found.mend === undefined) throw new ApiError('DDI_UNSUPPORTED', `This needs a person: ${found.message}`)
        await found.mend()
        await checkDrift(deps)
        note.description = `Repaired ${found.kind} of ${found.subject}.`
        return { success: true, message: note.description }
      }),
  }
}

/** Compares everything and keeps what it found; answers how many differences there are. */
export async function checkDrift(deps: DriftDeps): Promise<number> {
  const read_at = await databaseClock(deps.database.db)
  const found = await differences(deps)
  await saveFindings(
    deps.database,
    found.map(({ mend: _mend, ...finding }) => finding),
    read_at,
  )
  return found.length
}

function about(id: string, description: string) {
  return { resource_type: 'DDI', resource_uuid: id, tenant_id: null, description }
}

function sentence(count: number): string {
  return `${count} ${count === 1 ? 'difference' : 'differences'}.`
}
