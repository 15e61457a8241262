// Whether the network of the node is as planned, seen from the node: addresses and links of every role.
import { agentMtu } from '#src/contract/nodes/agent-mtu.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { declared } from './documents.ts'
import type { SetupRun } from './input.ts'
import { nodeOf } from './machine.ts'
import { mtuOf, placesOf } from './plan.ts'

const CALL_MS = 15_000

/** Every role stands on its bridge, with its address and with room for full frames. Throws with all that is wrong. */
export async function verifyNetwork(run: SetupRun): Promise<void> {
  const { deps, input, state, signal } = run
  const client = deps.agents.client(await nodeOf(run), agentMtu.routes, { timeout_ms: CALL_MS, signal, job: run })
  const { bridges } = await client.agentMtuRead({})
  const mtus = await declared(run)
  const wrong: string[] = []
  for (const { role, device } of placesOf(deps.setup, input.nics).filter((one) => one.role !== 'management')) {
    const bridge = bridges.find((one) => one.bridge === device)
    const wanted = mtuOf(deps.setup, mtus, role)
    const address = state.addresses?.find((one) => one.role === role)?.address
    // The agent reads the bridges of the roles that its configuration names.
    if (bridge === undefined) await run.note('INFO', `${device} is no role bridge of the agent’s configuration.`)
    else if (bridge.mtu === null) wrong.push(`${device} (${role}) is not there`)
    else if (bridge.mtu < wanted) wrong.push(`${device} (${role}) has the MTU ${bridge.mtu}, which should be ${wanted}`)
    else if (address !== undefined && !bridge.addresses.includes(address)) wrong.push(`${device} (${role}) has not the address ${address}`) // biome-ignore format: one case
  }
  if (wrong.length > 0) throw new ApiError('NODES_UNREACHABLE', `The network of node ${input.bmc_ip} is not as planned: ${wrong.join('; ')}.`) // biome-ignore format: one sentence
}
