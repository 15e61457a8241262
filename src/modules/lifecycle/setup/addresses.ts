// Addresses and names of a node: allocated and published under keys of the job, so that nothing is given twice.
import { ApiError } from '#src/kernel/errors.ts'
import { type HeldAddress, heldAddresses, holdAddress } from '#src/store/node-lifecycle.ts'
import type { NodeRow } from '#src/store/nodes.ts'
import type { SetupRun, SetupState, WantedAddress } from './input.ts'
import { nodeOf } from './machine.ts'
import { placesOf, wantsAddress } from './plan.ts'

const ONE_PAGE = { page: 1, page_size: 500 }

/** The prefix of each role that the node has an address in; a role without a prefix in the store gets none. */
export async function planAddresses(run: SetupRun): Promise<void> {
  const { deps, input, signal, state } = run
  const wanted: WantedAddress[] = []
  const { rows } = await deps.store.prefixes({ contains: state.node_ip ?? '' }, ONE_PAGE, signal)
  const [own] = rows.toSorted((a, b) => lengthOf(b.cidr) - lengthOf(a.cidr))
  if (own !== undefined)
    wanted.push({ role: 'management', device: '', address: state.node_ip ?? null, ...ofPrefix(own) })
  for (const { role, device } of placesOf(deps.setup, input.nics).filter(wantsAddress)) {
    const of_role = { role, ...(input.site_id === null ? {} : { site_id: input.site_id }) }
    const [prefix] = (await deps.store.prefixes(of_role, ONE_PAGE, signal)).rows
    if (prefix !== undefined) wanted.push({ role, device, address: null, ...ofPrefix(prefix) })
    else await run.note('WARN', `The address store has no prefix of the role ${role}, so ${device} gets no address.`)
  }
  await run.save({ wanted })
}

function ofPrefix({ id, cidr, gateway }: { id: number; cidr: string; gateway: string | null }) {
  return { prefix_id: id, prefix_length: lengthOf(cidr), gateway }
}

function lengthOf(cidr: string): number {
  return Number(cidr.slice(cidr.indexOf('/') + 1))
}

export function wantsAddresses({ state }: SetupRun): string | true {
  return (state.wanted ?? []).length > 0 ? true : 'the address store has no prefix for any role of the node'
}

const keyOf = ({ job_id }: Pick<SetupRun, 'job_id'>, role: string): string => `node-setup:${job_id}:${role}`

export async function allocateAddresses(run: SetupRun): Promise<void> {
  const { deps, input } = run
  const node = await nodeOf(run)
  const before = await heldAddresses(deps.database.db, input.node_id)
  const addresses: NonNullable<SetupState['addresses']> = []
  for (const { role, device, prefix_id, address } of run.state.wanted ?? []) {
    const given = await deps.store.allocate(prefix_id, {
      address,
      status: 'active',
      dns_name: run.state.fqdn ?? null,
      owner_kind: 'node',
      owner_id: node.id,
      description: `${role} of node ${input.bmc_ip}`,
      key: keyOf(run, role),
    })
    const row = typeof given === 'string' ? await ownAddress(run, node, address, given) : given
    addresses.push({ role, address: row.address, ipam_id: row.id })
    const held: HeldAddress = { address: row.address, kind: kindOf(role), interface: device === '' ? null : device, ipam_id: row.id } // biome-ignore format: one record
    // What the installation of the system was given stays its own.
    const holder = before.find(({ address: one, kind }) => one === held.address && kind === held.kind)?.job_id
    await run.fenced((trx) => holdAddress(trx, input.node_id, holder ?? run.job_id, held))
    await run.note('INFO', `Address ${row.address} is held for ${role}.`, { ipam_id: row.id })
  }
  await run.save({ addresses })
}

function kindOf(role: WantedAddress['role']): HeldAddress['kind'] {
  return role === 'benchmark' ? 'tunnel' : role
}

/** An address that the node had before this setup is its own; any other holder is a conflict. */
async function ownAddress(run: SetupRun, node: NodeRow, address: string | null, why: 'no_prefix' | 'full' | 'taken') {
  if (why === 'taken' && address !== null) {
    const [row] = (await run.deps.store.addresses({ address }, ONE_PAGE, run.signal)).rows
    // An installation names the node by its BMC.
    if (row?.owner_id === node.id || row?.owner_id === node.bmc_ip) return row
    const holder =
      row === undefined ? 'the address store excludes it' : `${row.owner_kind ?? ''} ${row.owner_id ?? ''} has it`
    throw new ApiError('IPAM_ADDRESS_TAKEN', `Address ${address} cannot be recorded for the node: ${holder.trim()}. Release it, or register the node with another node_ip.`) // biome-ignore format: one sentence
  }
  throw new ApiError('IPAM_PREFIX_FULL', why === 'full' ? 'A prefix of the node has no free address.' : 'A prefix of the node is gone.') // biome-ignore format: one call
}

/** Asked of the store itself. */
export async function addressesAreHeld({ deps, state, signal }: SetupRun): Promise<boolean> {
  const { wanted, addresses } = state
  if (wanted === undefined || addresses === undefined || addresses.length !== wanted.length) return false
  for (const { address, ipam_id } of addresses) {
    const { rows } = await deps.store.addresses({ address }, ONE_PAGE, signal)
    if (!rows.some(({ id }) => id === ipam_id)) return false
  }
  return true
}

export function hasNames({ deps, state }: SetupRun): string | true {
  if (deps.names === undefined) return 'no name server is configured'
  return state.fqdn == null ? 'the node has no full name; register it with fqdn' : true
}

export async function publishName(run: SetupRun): Promise<void> {
  const { deps, state, input } = run
  const [fqdn, ip_address] = [state.fqdn ?? '', state.node_ip ?? '']
  // Held first: a name whose publication was interrupted is found again.
  await run.fenced((trx) => holdAddress(trx, input.node_id, run.job_id, { address: fqdn, kind: 'dns' }))
  try {
    await deps.names?.publish({ ip_address, hostname: fqdn, dns_zone: undefined, ttl: undefined, create_ptr: true })
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'DNS_ZONE_NOT_FOUND')) throw error
    const zone = fqdn.slice(fqdn.indexOf('.') + 1)
    throw new ApiError('DNS_ZONE_NOT_FOUND', `No zone of the name server holds ${fqdn}; make the zone ${zone}.`)
  }
  await run.save({ is_published: true })
  await run.note('INFO', `${fqdn} leads to ${ip_address}.`)
}

/** Asked of the name server itself, once the name of the address was published, too: it comes second. */
export async function nameIsPublished({ deps, state }: SetupRun): Promise<boolean> {
  if (state.is_published !== true) return false
  const address = state.node_ip ?? ''
  const found = await deps.names?.lookup([address], undefined)
  return found?.get(address)?.fqdn === state.fqdn?.toLowerCase()
}
