// The first steps of a setup: the right machine, an agent that answers, and what stands on the machine.
import { agent } from '#src/contract/agent.ts'
import type { NodeNic } from '#src/contract/nodes/nics.ts'
import { hostStorage } from '#src/contract/storage/host.ts'
import { lastInventory } from '#src/store/bmcs.ts'
import { textAt } from '#src/drivers/redfish/document.ts'
import { powerOf } from '#src/drivers/redfish/power.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { knownNics, recordDisks, recordNics } from '#src/store/node-lifecycle.ts'
import { findNode, type NodeRow } from '#src/store/nodes.ts'
import { nicsOf } from './facts.ts'
import type { SetupRun } from './input.ts'

const CALL_MS = 15_000
const MIB = 1024 * 1024

/** Throws when it was deleted meanwhile. */
export async function nodeOf(run: Pick<SetupRun, 'deps' | 'input'>): Promise<NodeRow> {
  const { bmc_ip } = run.input
  const node = await findNode(run.deps.database.db, bmc_ip)
  if (node === undefined) throw new ApiError('NODE_NOT_FOUND', `No node has the BMC address ${bmc_ip}.`)
  return node
}

/** A machine whose BMC we have no credentials of is not checked by it. */
export async function hasBmc({ deps, input }: SetupRun): Promise<string | true> {
  const row = await deps.bmcs.find(input.bmc_ip)
  return row?.username == null ? `no credentials of BMC ${input.bmc_ip} are stored` : true
}

/** The machine is on, and it is the one of which an inventory was collected. */
export async function checkBmc(run: SetupRun): Promise<void> {
  const { bmc_ip } = run.input
  const bmc = await run.deps.bmcs.open({ bmc_ip, by: run.caller.username })
  bmc.forgetGraph()
  const { system_path } = await bmc.graph({ signal: run.signal })
  const system = await bmc.client.get(system_path, { signal: run.signal })
  const known = (await lastInventory(run.deps.database.db, bmc_ip))?.system
  for (const [name, expected, seen] of [
    ['serial number', known?.serial ?? null, textAt(system, 'SerialNumber')],
    ['UUID', known?.uuid ?? null, textAt(system, 'UUID')],
  ] as const) {
    if (expected !== null && seen !== null && expected !== seen)
      throw new ApiError('NODE_IDENTITY', `BMC ${bmc_ip} shows a machine with the ${name} ${seen}; the inventory says ${expected}. Collect the inventory again if the machine was replaced.`) // biome-ignore format: one sentence
  }
  const { power_state, power_on } = powerOf(system)
  if (power_on === false)
    throw new ApiError('NODE_STATE', `The machine behind BMC ${bmc_ip} is off (${power_state}); switch it on.`)
  await run.note('INFO', `BMC ${bmc_ip} shows the machine on.`, { power_state })
}

/** The agent answers, from the machine whose NICs are on record; both are recorded as they are now. */
export async function connectAgent(run: SetupRun): Promise<void> {
  const { deps, signal, input } = run
  const node = await nodeOf(run)
  const asking = { signal, job: run }
  const client = deps.agents.client(node, agent.routes, { timeout_ms: CALL_MS, ...asking })
  const { version } = await client.agentHealth({})
  const facts = await client.agentFacts({})
  const nics = await ownNics(deps, node, asking)
  const disks = await disksOf(run, node)
  await run.fenced(async (trx) => {
    await recordNics(trx, input.node_id, nics)
    await recordDisks(trx, input.node_id, disks)
  })
  const node_ip = node.node_ip ?? facts.node_ip
  if (node_ip === null)
    throw new ApiError('NODE_STATE', `Node ${input.bmc_ip} has no management address; register it with node_ip.`)
  await run.save({ node_ip, fqdn: node.fqdn ?? facts.fqdn })
  await run.note('INFO', `The agent answers.`, {
    version,
    boot_id: facts.boot_id,
    nics: nics.length,
    disks: disks.length,
  })
}

/** The physical NICs that the agent reports. Throws NODE_IDENTITY when it runs on a machine with none of those on record. */
export async function ownNics(
  { agents, database }: Pick<SetupRun['deps'], 'agents' | 'database'>,
  node: NodeRow,
  asking: Parameters<typeof nicsOf>[2],
): Promise<{ name: string; permanent_mac: string }[]> {
  const nics = physical(await nicsOf(agents, node, asking))
  const known = (await knownNics(database.db, node.node_id)).map(({ permanent_mac }) => permanent_mac)
  if (known.length > 0 && !nics.some(({ permanent_mac }) => known.includes(permanent_mac)))
    throw new ApiError('NODE_IDENTITY', `The agent of node ${node.bmc_ip} runs on a machine with none of its NICs (${known.join(', ')}).`) // biome-ignore format: one sentence
  return nics
}

function physical(nics: readonly NodeNic[]): { name: string; permanent_mac: string }[] {
  return nics.flatMap(({ isPhysical, interfaceName, macAddress }) =>
    isPhysical && macAddress !== null ? [{ name: interfaceName, permanent_mac: macAddress.toLowerCase() }] : [],
  )
}

/** What the agent has read of its disks; none when it could not. */
async function disksOf({ deps, signal }: SetupRun, node: NodeRow) {
  const client = deps.agents.client(
    node,
    { hostDiskList: hostStorage.routes.hostDiskList },
    { timeout_ms: CALL_MS, signal },
  )
  const { disks } = await client.hostDiskList({ query: { page_size: 500 } })
  return (disks ?? []).map(({ device, serial, size_mb }) => ({
    name: device,
    serial,
    wwn: null,
    size_bytes: size_mb * MIB,
  }))
}
