// The platform's side of a guest network: made once, found again after a lost answer, and taken away.
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { isRaw, type Raw, rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import { WHOLE_SCOPE } from '#src/drivers/cloudstack/lists.ts'
import { PLATFORM, platformChange } from '#src/drivers/cloudstack/platform-change.ts'
import { type Postcondition, findMismatch } from '#src/drivers/cloudstack/postcondition.ts'
import { changeOnce, type FollowedChange } from '#src/jobs/submit-once.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { untilAnswered } from '#src/kernel/lost-answers.ts'
import type { GuestNetworkRun } from './guest-network-run.ts'

/** The id of the network; made now, or by an attempt whose answer was lost. */
export async function createOnPlatform(run: GuestNetworkRun): Promise<string> {
  if (run.state.known_ids === undefined) {
    const known = await untilAnswered(run.signal, () => networksByName(run))
    await run.save({ known_ids: known.map((row) => textOf(row, 'id') ?? '') })
  }
  const { made } = await changeOnce(run, creation(run))
  if (made === null) throw new Error('a network without an id was verified')
  return made
}

function creation(run: GuestNetworkRun): FollowedChange {
  const { cloudstack } = run.deps
  const postcondition: Postcondition = { thing: 'network', args: { id: '$id' }, expect: { name: run.input.name } }
  return {
    name: CREATE,
    system: PLATFORM,
    // The platform refuses the second of two networks with one VLAN.
    repeatable: true,
    async submit() {
      const { network } = await cloudstack.call('createNetwork', run.input.platform)
      return isRaw(network) ? textOf(network, 'id') : null
    },
    async find() {
      const made = await madeSince(run)
      return made === null ? undefined : { made }
    },
    async verify({ made: made_id }) {
      return (await findMismatch(cloudstack, postcondition, { signal: run.signal, made_id }))?.words ?? null
    },
  }
}

const CREATE = 'create'

/** Deletes what this job made there, if anything. */
export async function takeOffPlatform(run: GuestNetworkRun): Promise<void> {
  const id = run.state.known_ids === undefined ? null : await untilAnswered(run.signal, () => madeSince(run))
  if (id !== null) await deleteNetwork(run, id)
}

export async function deleteFromPlatform(run: GuestNetworkRun): Promise<void> {
  const id = run.input.network_id
  if (id !== null) await deleteNetwork(run, id)
}

export function isOnPlatform({ deps, input }: GuestNetworkRun): Promise<boolean> {
  return isNetwork(deps.cloudstack, input.network_id)
}

async function isNetwork(cloudstack: CloudStack, id: string | null): Promise<boolean> {
  if (id === null) return false
  return (await findOne(cloudstack, 'listNetworks', 'network', { id, ...WHOLE_SCOPE })) !== undefined
}

/** Throws with the names of the machines that have a NIC in the network. */
export async function requireUnused(
  cloudstack: CloudStack,
  { name, network_id }: { name: string; network_id: string | null },
  signal: AbortSignal,
): Promise<void> {
  const users = await usersOf(cloudstack, network_id, signal)
  if (users.length > 0) throw new ApiError('NETWORK_IN_USE', `Machines use guest network ${name}: ${users.join(', ')}.`)
}

async function usersOf(cloudstack: CloudStack, networkid: string | null, signal: AbortSignal): Promise<string[]> {
  if (networkid === null || !(await isNetwork(cloudstack, networkid))) return []
  const args = { networkid, details: 'min', ...WHOLE_SCOPE, page: 1, pagesize: 20 }
  const content = await cloudstack.call('listVirtualMachines', args, { signal })
  return rowsOf(content, 'virtualmachine').map((row) => textOf(row, 'name') ?? '')
}

async function deleteNetwork(run: GuestNetworkRun, id: string): Promise<void> {
  const postcondition: Postcondition = { thing: 'network', args: { id }, expect: {}, gone: true }
  const change = { name: 'delete', command: 'deleteNetwork', args: { id }, postcondition }
  await changeOnce(run, platformChange(run.deps.cloudstack, run, change))
}

async function madeSince(run: GuestNetworkRun): Promise<string | null> {
  const own = run.state.submissions?.[CREATE]?.made ?? null
  const ids = (await networksByName(run)).map((row) => textOf(row, 'id'))
  if (own !== null) return ids.includes(own) ? own : null
  return ids.find((id) => id !== null && !(run.state.known_ids ?? []).includes(id)) ?? null
}

async function networksByName(run: GuestNetworkRun): Promise<Raw[]> {
  const args = { ...WHOLE_SCOPE, traffictype: 'Guest', keyword: run.input.name, page: 1, pagesize: 500 }
  const content = await run.deps.cloudstack.call('listNetworks', args, { signal: run.signal })
  return rowsOf(content, 'network').filter((row) => textOf(row, 'name') === run.input.name)
}
