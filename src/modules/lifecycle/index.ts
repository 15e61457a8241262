// The life of a node: setup, decommission, rollback and wipe.
import { decommission } from '#src/contract/nodes/decommission.ts'
import { type Module, type Parts, serve } from '../module.ts'
import { decommissionPreflight } from './decommission/handlers.ts'

/** What each source of a preflight may take. */
const SOURCE_BUDGET_MS = 15_000

export function lifecycleModule(parts: Parts): Module {
  const deps = { ...parts, budget_ms: SOURCE_BUDGET_MS }
  return {
    areas: [serve(decommission, { decommissionPreflight: decommissionPreflight(deps) })],
    jobs: [],
  }
}
