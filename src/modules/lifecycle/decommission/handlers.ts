// The operations of a decommission.
import type { decommission } from '#src/contract/nodes/decommission.ts'
import type { Input } from '#src/contract/route.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { addressOf } from '#src/kernel/ip-address.ts'
import type { Db } from '#src/store/database.ts'
import { findNode, type NodeRow } from '#src/store/nodes.ts'
import { ACCEPTABLE } from './checks.ts'
import { runPreflight } from './preflight.ts'
import type { PreflightWish } from './readings.ts'
import type { SourceDeps } from './sources.ts'
import { DECOMMISSION_STEPS } from './steps.ts'

type Routes = typeof decommission.routes

export function decommissionPreflight(deps: SourceDeps) {
  return async ({ params, body }: Input<Routes['decommissionPreflight']>, ctx: RequestContext) => {
    const node = await requireNode(deps.database.db, params.nodeIP)
    const { answer } = await runPreflight(deps, node, wishOf(body ?? {}), ctx.caller.username, STEP_TITLES)
    return answer
  }
}

export const STEP_TITLES: readonly string[] = Object.values(DECOMMISSION_STEPS)

export function wishOf({ force = false, accept = [], wipe = 'full' }: Partial<PreflightWish>): PreflightWish {
  const unknown = accept.find((name) => !ACCEPTABLE.includes(name))
  if (unknown !== undefined)
    throw invalidField('body.accept', `${unknown} cannot be accepted; these can: ${ACCEPTABLE.join(', ')}`)
  return { force, accept, wipe }
}

export async function requireNode(db: Db, text: string): Promise<NodeRow> {
  const bmc_ip = addressOf('params.nodeIP', text)
  const node = await findNode(db, bmc_ip)
  if (node === undefined) throw new ApiError('NODE_NOT_FOUND', `No node with the BMC address ${bmc_ip} is registered.`)
  return node
}
