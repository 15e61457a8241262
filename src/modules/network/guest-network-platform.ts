// The platform's side of a guest network: made once, found again after a lost answer, and taken away.
import { randomUUID } from 'node:crypto'
import { type Raw, rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import { WHOLE_SCOPE } from '#src/drivers/cloudstack/lists.ts'
import { CloudStackError } from '#src/drivers/cloudstack/platform-error.ts'
import { type Proof, readBack } from '#src/drivers/cloudstack/proof.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { GuestNetworkRun } from './guest-network-nodes.job.ts'

/** The id of the network; made now, or by an attempt whose answer was lost. */
export async function createOnPlatform(run: GuestNetworkRun): Promise<string> {
  if (run.state.known_ids !== undefined) {
    const made = await madeSince(run)
    if (made !== null) return made
  } else {
    const ids = (await namesakes(run)).map((row) => textOf(row, 'id') ?? '')
    await run.save({ known_ids: ids })
  }
  try {
    const answer = await run.deps.cloudstack.call('createNetwork', run.input.platform)
    const network = answer['network']
    const id = isRaw(network) ? textOf(network, 'id') : null
    if (id === null) throw new ApiError('COMPUTE_ERROR', 'The compute platform made a network but named none.')
    await run.save({ network_id: id })
    const proof: Proof = { thing: 'network', args: { id }, expect: { name: run.input.name } }
    await readBack(run.deps.cloudstack, proof, { signal: run.signal })
    return id
  } catch (error) {
    const lost = error instanceof CloudStackError && error.status === undefined
    const made = lost ? await madeSince(run).catch(() => null) : null
    if (made !== null) return made
    throw error
  }
}

/** Whatever this job made there goes; nothing made is fine. */
export async function takeOffPlatform(run: GuestNetworkRun): Promise<void> {
  const id = run.state.known_ids === undefined ? null : await madeSince(run)
  if (id !== null) await deleteNetwork(run, id)
}

export async function deleteFromPlatform(run: GuestNetworkRun): Promise<void> {
  const id = run.input.network_id
  if (id === null) return
  try {
    await deleteNetwork(run, id)
  } catch (error) {
    // An attempt whose answer was lost may have done it.
    if (await isOnPlatform(run)) throw error
  }
}

export async function isOnPlatform(run: GuestNetworkRun): Promise<boolean> {
  const id = run.input.network_id
  if (id === null) return false
  const found = findOne(run.deps.cloudstack, 'listNetworks', 'network', { id, ...WHOLE_SCOPE })
  return (await found) !== undefined
}

/** Names of the machines with a NIC in the network. */
export async function usersOf(run: GuestNetworkRun): Promise<string[]> {
  const networkid = run.input.network_id
  if (networkid === null || !(await isOnPlatform(run))) return []
  const args = { networkid, details: 'min', ...WHOLE_SCOPE, page: 1, pagesize: 20 }
  const content = await run.deps.cloudstack.call('listVirtualMachines', args, { signal: run.signal })
  return rowsOf(content, 'virtualmachine').map((row) => textOf(row, 'name') ?? '')
}

async function deleteNetwork(run: GuestNetworkRun, id: string): Promise<void> {
  const job_id = randomUUID()
  const work = async (): Promise<void> => {
    await run.deps.cloudstack.call('deleteNetwork', { id }, { job_id })
    await run.deps.cloudstack.followJob(job_id, { signal: run.signal })
    const proof: Proof = { thing: 'network', args: { id }, expect: {}, gone: true }
    await readBack(run.deps.cloudstack, proof, { signal: run.signal })
  }
  await work()
}

async function madeSince(run: GuestNetworkRun): Promise<string | null> {
  const { network_id: own, known_ids: known = [] } = run.state
  const ids = (await namesakes(run)).map((row) => textOf(row, 'id'))
  if (own !== undefined) return ids.includes(own) ? own : null
  return ids.find((id) => id !== null && !known.includes(id)) ?? null
}

async function namesakes(run: GuestNetworkRun): Promise<Raw[]> {
  const args = { ...WHOLE_SCOPE, traffictype: 'Guest', keyword: run.input.name, page: 1, pagesize: 500 }
  const content = await run.deps.cloudstack.call('listNetworks', args, { signal: run.signal })
  return rowsOf(content, 'network').filter((row) => textOf(row, 'name') === run.input.name)
}

function isRaw(value: unknown): value is Raw {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
