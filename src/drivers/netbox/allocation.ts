// Taking and releasing addresses. An answer may be lost after the address was made, so each carries a mark by which it is
// found again before another one is asked for.
import type { IpamAddress } from '#src/contract/ddi/ipam.ts'
import { isLostAnswer } from '#src/kernel/lost-answers.ts'
import type { Allocation, IpamStore } from '../ddi/ipam-store.ts'
import { RejectionError } from '../ddi/rejection.ts'
import { inPrefix } from './prefixes.ts'
import { type Reads, unexpected } from './reads.ts'
import { AddressRow, addressOf, hostOf, isInside, keyMark, markOf, PrefixRow } from './rows.ts'
import type { NetBoxTransport } from './transport.ts'

interface Parts {
  transport: NetBoxTransport
  reads: Reads
}

export function createAllocation(parts: Parts): Pick<IpamStore, 'allocate' | 'release' | 'releaseKey'> {
  const { transport, reads } = parts
  const remove = async (id: number): Promise<void> => {
    await transport.send({ method: 'DELETE', path: `ipam/ip-addresses/${id}/`, expect: [404] })
  }
  const marked = (key: string): Promise<AddressRow[]> =>
    reads.all({
      path: 'ipam/ip-addresses/',
      query: { description__isw: keyMark(key), ordering: 'id' },
      form: AddressRow,
      fits: (row) => row.description.startsWith(keyMark(key)),
    })
  /** What the key got; of several, which only a late answer can make, the first stays. */
  const known = async (key: string): Promise<IpamAddress | undefined> => {
    const [first, ...others] = await marked(key)
    for (const { id } of others) await remove(id)
    return first === undefined ? undefined : addressOf(first)
  }
  return {
    async allocate(prefix_id, wish) {
      const before = await known(wish.key)
      if (before !== undefined) return before
      const prefix = await reads.one(`ipam/prefixes/${prefix_id}/`, PrefixRow)
      if (prefix === undefined) return 'no_prefix'
      try {
        return wish.address === null
          ? await takeNext(transport, prefix, wish)
          : await takeExact(parts, prefix, wish.address, wish, remove)
      } catch (error) {
        const made = isLostAnswer(error) ? await known(wish.key).catch(() => undefined) : undefined
        if (made === undefined) throw error
        return made
      }
    },
    async release(id) {
      const row = await reads.one(`ipam/ip-addresses/${id}/`, AddressRow)
      if (row === undefined) return undefined
      await remove(id)
      return hostOf(row.address)
    },
    async releaseKey(key) {
      const rows = await marked(key)
      for (const { id } of rows) await remove(id)
      return rows.map((row) => hostOf(row.address))
    },
  }
}

const NOT_FOUND = 404
const EXHAUSTED = 409

async function takeNext(
  transport: NetBoxTransport,
  prefix: PrefixRow,
  wish: Allocation,
): Promise<IpamAddress | 'no_prefix' | 'full'> {
  const path = `ipam/prefixes/${prefix.id}/available-ips/`
  const body = fieldsOf(prefix.id, wish)
  const answer = await transport.send({ method: 'POST', path, body, expect: [NOT_FOUND, EXHAUSTED] })
  if (answer.status === NOT_FOUND) return 'no_prefix'
  if (answer.status === EXHAUSTED) return 'full'
  return madeAddress(path, answer.body)
}

/** available-ips takes no address, so this one is made as it is; others that made it meanwhile are found afterwards. */
async function takeExact(
  { transport, reads }: Parts,
  prefix: PrefixRow,
  address: string,
  wish: Allocation,
  remove: (id: number) => Promise<void>,
): Promise<IpamAddress | 'taken'> {
  if (!isInside(address, prefix.prefix) || isEdge(address, prefix)) return 'taken'
  const { vrf_id } = inPrefix(prefix)
  const holders = (): Promise<AddressRow[]> =>
    reads.all({
      path: 'ipam/ip-addresses/',
      query: { address, vrf_id, ordering: 'id' },
      form: AddressRow,
      fits: (row) => hostOf(row.address) === hostOf(address),
    })
  if ((await holders()).length > 0) return 'taken'
  const path = 'ipam/ip-addresses/'
  const length = prefix.prefix.split('/')[1] ?? ''
  const vrf = prefix.vrf === null ? null : prefix.vrf.id
  const body = { ...fieldsOf(prefix.id, wish), address: `${address}/${length}`, vrf }
  try {
    const made = madeAddress(path, (await transport.send({ method: 'POST', path, body })).body)
    // Where the server does not enforce unique addresses two callers both get it: the first one keeps it.
    const [first] = await holders()
    if (first === undefined || first.id === made.id) return made
    await remove(made.id)
    return 'taken'
  } catch (error) {
    // Somebody was faster, or it lies in a range from which nothing is taken.
    if (error instanceof RejectionError && error.detail?.startsWith('address:') === true) return 'taken'
    throw error
  }
}

/** Network and broadcast address, which NetBox gives to who asks for them by name. */
function isEdge(address: string, { prefix, is_pool }: PrefixRow): boolean {
  const [network = '', length = ''] = prefix.split('/')
  const v4 = !network.includes(':')
  if (is_pool || Number(length) >= (v4 ? 31 : 127)) return false
  return hostOf(address) === hostOf(network) || (v4 && hostOf(address) === broadcastOf(network, Number(length)))
}

function broadcastOf(network: string, length: number): string {
  const number = network.split('.').reduce((sum, part) => sum * 256 + Number(part), 0) + 2 ** (32 - length) - 1
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join('.')
}

function fieldsOf(prefix_id: number, { key, owner_kind, owner_id, status, dns_name, description }: Allocation) {
  return {
    status,
    dns_name: dns_name ?? '',
    description: markOf(key, prefix_id, owner_kind, owner_id),
    comments: description,
  }
}

function madeAddress(path: string, body: unknown): IpamAddress {
  if (AddressRow.Check(body)) return addressOf(body)
  throw unexpected(path, 'the address that was made does not have the form that this version knows')
}
