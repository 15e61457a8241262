// The node as a leaf of the overlay fabric: it has sessions with every route reflector.
import { agent } from '#src/contract/agent.ts'
import type { FabricDocument } from '#src/contract/nodes/desired-documents.ts'
import { area, type SetupStep } from './area-step.ts'
import type { SetupRun } from './input.ts'
import { nodeOf } from './machine.ts'

const CALL_MS = 15_000
const POLL_MS = 2000

export function hasFabric({ deps, input }: SetupRun): string | true {
  if (deps.setup.fabric === undefined) return 'no fabric is configured (setup.fabric)'
  return input.role === 'compute' || 'a management node is no hypervisor'
}

/** Its sessions begin where the tunnels do: at its address of that role, else at that of management. */
async function fabricOf({ deps, state }: SetupRun): Promise<FabricDocument | null> {
  if (deps.setup.fabric === undefined) return null
  const { as_number, route_reflectors, packages } = deps.setup.fabric
  const tunnel = state.addresses?.find(({ role }) => role === 'tunnel')
  return { packages, as_number, address: tunnel?.address ?? state.node_ip ?? '', route_reflectors }
}

const fabric = area('fabric', fabricOf)

export const joinFabric: Required<Pick<SetupStep, 'holds' | 'run'>> = {
  holds: async (run) => (await fabric.holds(run)) === true && (await silentReflectors(run)).length === 0,
  run: async (run) => {
    await fabric.run(run)
    const silent = await silentReflectors(run)
    if (silent.length === 0) return
    run.progress(0, `Waiting for sessions with the route reflectors ${silent.join(', ')}`)
    await run.repeatAfter(POLL_MS)
  },
}

/** Those without an established session, as the routing daemon of the node itself tells. */
async function silentReflectors(run: SetupRun): Promise<string[]> {
  const { deps, signal } = run
  const { bgp } = await deps.agents.client(await nodeOf(run), agent.routes, { timeout_ms: CALL_MS, signal }).agentFrr()
  const established = (bgp?.sessions ?? []).filter(({ state }) => state === 'Established').map(({ peer }) => peer)
  return (deps.setup.fabric?.route_reflectors ?? []).filter((one) => !established.includes(one))
}
