/** What is free in a prefix or range, and taking it: the lowest first, all that was asked for or nothing. */
import { addressOf, gaps, holds, type Network, readNetwork } from './addresses.ts'
import { Problem } from './problem.ts'
import { type Fields, insert, type NetBoxState, type Row, textOf } from './state.ts'
import { checked } from './writes.ts'

interface Interval {
  first: bigint
  last: bigint
}

const EXHAUSTED = 'Insufficient resources are available to satisfy the request'

export function freeAddresses(state: NetBoxState, kind: 'prefix' | 'ip_range', row: Row): Interval[] {
  const bounds = kind === 'prefix' ? prefixBounds(row) : rangeBounds(row)
  if (bounds === undefined || (kind === 'ip_range' && row.mark_populated === true)) return []
  // A container without a VRF counts the addresses of every VRF.
  const everywhere = kind === 'prefix' && row.status === 'container' && row.vrf === null
  const addresses = state.rows.ip_address
    .filter((one) => everywhere || one.vrf === row.vrf)
    .flatMap((one) => readNetwork(textOf(one, 'address')) ?? [])
    .filter((one) => one.family === bounds.family)
    .map(({ host }) => ({ first: host, last: host }))
  const populated = state.rows.ip_range
    .filter((one) => one.mark_populated === true && one.vrf === row.vrf)
    .flatMap((one) => rangeBounds(one) ?? [])
    .filter((one) => one.family === bounds.family)
  return gaps(bounds.first, bounds.last, [...addresses, ...populated])
}

function prefixBounds(row: Row): Network | undefined {
  const network = readNetwork(textOf(row, 'prefix'))
  if (network === undefined) return undefined
  const whole = row.is_pool === true || network.length >= (network.family === 4 ? 31 : 127)
  if (whole) return network
  return { ...network, first: network.first + 1n, last: network.family === 4 ? network.last - 1n : network.last }
}

function rangeBounds(row: Row): Network | undefined {
  const [first, last] = [readNetwork(textOf(row, 'start_address')), readNetwork(textOf(row, 'end_address'))]
  return first === undefined || last === undefined ? undefined : { ...first, first: first.host, last: last.host }
}

/** Without a limit fifty; a wrong or a zero one counts as none, a negative one means all. */
export function listFree(
  state: NetBoxState,
  kind: 'prefix' | 'ip_range',
  row: Row,
  limit_text: string | null,
): { family: number; address: string; vrf: unknown }[] {
  const asked = /^-?\d+$/.test(limit_text ?? '') ? Number(limit_text) : 50
  const limit = asked < 0 ? Number.MAX_SAFE_INTEGER : asked === 0 ? 1000 : Math.min(asked, 1000)
  const { family, length } = networkOf(kind, row)
  const free: { family: number; address: string; vrf: unknown }[] = []
  for (const { first, last } of freeAddresses(state, kind, row))
    for (let at = first; at <= last && free.length < limit; at += 1n)
      free.push({ family, address: `${addressOf(at, family)}/${length}`, vrf: null })
  return free
}

function networkOf(kind: 'prefix' | 'ip_range', row: Row): Network {
  const network = readNetwork(textOf(row, kind === 'prefix' ? 'prefix' : 'start_address'))
  if (network === undefined) throw new Error('a row holds no network')
  return network
}

/** One object or an array of them; nothing is one object without fields. */
export function takeAddresses(state: NetBoxState, kind: 'prefix' | 'ip_range', row: Row, body: unknown): Row | Row[] {
  const wanted: unknown[] = Array.isArray(body) ? body : [body ?? {}]
  const { family, length } = networkOf(kind, row)
  const bits = family === 4 ? 32 : 128
  const lengths = wanted.map((one) => wantedLength(one, length, bits))
  const free: bigint[] = []
  for (const { first, last } of freeAddresses(state, kind, row))
    for (let at = first; at <= last && free.length < wanted.length; at += 1n) free.push(at)
  if (free.length < wanted.length) throw new Problem(409, { detail: EXHAUSTED })
  const errors: unknown[] = []
  const rows: Fields[] = []
  wanted.forEach((one, index) => {
    // Whatever the body says of address and VRF is overwritten.
    const address = `${addressOf(free[index] ?? 0n, family)}/${lengths[index] ?? length}`
    try {
      rows.push(checked(state, 'ip_address', { ...(one as object), address, vrf: row.vrf }))
      errors.push({})
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      errors.push(error.body)
    }
  })
  if (rows.length < wanted.length) throw new Problem(400, Array.isArray(body) ? errors : errors[0])
  const made = rows.map((fields) => insert(state, 'ip_address', fields))
  const [first] = made
  return Array.isArray(body) || first === undefined ? made : first
}

function wantedLength(one: unknown, parent: number, bits: number): number {
  if (typeof one !== 'object' || one === null) {
    const word = typeof one === 'string' ? 'str' : 'int'
    throw new Problem(400, [{ non_field_errors: [`Invalid data. Expected a dictionary, but got ${word}.`] }])
  }
  const given = 'prefix_length' in one ? one.prefix_length : parent
  if (typeof given !== 'number') throw new Problem(400, [{ prefix_length: ['A valid integer is required.'] }])
  if (given < parent) {
    const text = `Prefix length must be greater than or equal to the parent mask length (${parent})`
    throw new Problem(400, [{ prefix_length: text }])
  }
  // The server names the wrong family, too.
  if (given > bits) throw new Problem(400, [{ prefix_length: `Invalid prefix length (${given}) for IPv6` }])
  return given
}

export function freePrefixes(state: NetBoxState, row: Row): Interval[] {
  const network = networkOf('prefix', row)
  const children = state.rows.prefix
    .filter((one) => one.id !== row.id && one.vrf === row.vrf)
    .flatMap((one) => readNetwork(textOf(one, 'prefix')) ?? [])
    .filter((one) => holds(network, one) && one.length > network.length)
  return gaps(network.first, network.last, children)
}

/** The gaps as the fewest networks. */
export function listFreePrefixes(state: NetBoxState, row: Row): { family: number; prefix: string; vrf: unknown }[] {
  const { family } = networkOf('prefix', row)
  const bits = family === 4 ? 32 : 128
  return freePrefixes(state, row)
    .flatMap((gap) => blocksOf(gap, bits))
    .map(({ first, length }) => ({ family, prefix: `${addressOf(first, family)}/${length}`, vrf: null }))
}

function blocksOf({ first, last }: Interval, bits: number): { first: bigint; length: number }[] {
  const blocks: { first: bigint; length: number }[] = []
  for (let at = first; at <= last; ) {
    let size = 0n
    while (at % (1n << (size + 1n)) === 0n && at + (1n << (size + 1n)) - 1n <= last && size < BigInt(bits)) size += 1n
    blocks.push({ first: at, length: bits - Number(size) })
    at += 1n << size
  }
  return blocks
}

export function takePrefixes(state: NetBoxState, row: Row, body: unknown): Row | Row[] {
  const wanted: unknown[] = Array.isArray(body) ? body : [body]
  const { family } = networkOf('prefix', row)
  const bits = family === 4 ? 32 : 128
  const lengths = wanted.map((one) => requiredLength(one, bits))
  const before = structuredClone({ rows: state.rows.prefix, next: state.next })
  const made: Row[] = []
  for (const [index, length] of lengths.entries()) {
    const place = listFreePrefixes(state, row).find(({ prefix }) => Number(prefix.split('/')[1]) <= length)
    if (place === undefined) {
      // All or nothing.
      state.rows.prefix = before.rows
      state.next = before.next
      throw new Problem(409, { detail: EXHAUSTED })
    }
    const prefix = `${place.prefix.split('/')[0] ?? ''}/${length}`
    const fields = checked(state, 'prefix', { ...(wanted[index] as object), prefix, vrf: row.vrf })
    made.push(insert(state, 'prefix', fields))
  }
  const [first] = made
  return Array.isArray(body) || first === undefined ? made : first
}

function requiredLength(one: unknown, bits: number): number {
  const given = typeof one === 'object' && one !== null && 'prefix_length' in one ? one.prefix_length : undefined
  if (given === undefined) throw new Problem(400, [{ prefix_length: 'this field can not be missing' }])
  if (typeof given !== 'number') throw new Problem(400, [{ prefix_length: 'this field must be int type' }])
  if (given > bits)
    throw new Problem(400, [{ prefix_length: `Invalid prefix length (${given}) for IPv${bits === 32 ? 4 : 6}` }])
  return given
}
