// Placement of machines on other hosts, against exhaustive search.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { capacityFor, type Demand, leftOver, type Target } from './capacity.ts'

const names = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`)
const GROUPS = names('group-', 2)
const TAGS = names('tag-', 2)
const HOSTS = names('host-', 3)
const some = (values: readonly string[]) => fc.subarray([...values])

const demands = fc
  .array(
    fc.record({
      cpu_mhz: fc.integer({ min: 0, max: 6 }),
      mem_bytes: fc.integer({ min: 1, max: 6 }),
      tags: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: some(TAGS) }),
      apart: some(GROUPS),
      together: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: fc.constant(['pair']) }),
      suitable: fc.option(some(HOSTS), { nil: undefined }),
    }),
    { maxLength: 5 },
  )
  .map((list): Demand[] =>
    list.map(({ suitable, ...rest }, index) => ({
      ...rest,
      id: `vm-${index}`,
      name: `vm-${index}`,
      ...(suitable === undefined ? {} : { suitable: new Set(suitable) }),
    })),
  )
const targets = fc
  .array(
    fc.record({
      free_cpu_mhz: fc.integer({ min: 0, max: 12 }),
      free_mem_bytes: fc.integer({ min: 0, max: 12 }),
      tags: some(TAGS),
      groups: some(GROUPS),
    }),
    { maxLength: 3 },
  )
  .map((list): Target[] => list.map((one, index) => ({ ...one, id: `host-${index}`, name: `host-${index}` })))

/** Tries every way to place them. */
function canBePlaced(all: readonly Demand[], hosts: readonly Target[]): boolean {
  const walk = (index: number, placed: readonly number[]): boolean => {
    if (index === all.length) return isAllowed(all, hosts, placed)
    return hosts.some((_host, at) => walk(index + 1, [...placed, at]))
  }
  return walk(0, [])
}

function isAllowed(all: readonly Demand[], hosts: readonly Target[], placed: readonly number[]): boolean {
  return hosts.every((host, at) => {
    const here = all.filter((_demand, index) => placed[index] === at)
    const total = (of: (demand: Demand) => number): number => here.reduce((sum, demand) => sum + of(demand), 0)
    const apart = here.flatMap((demand) => demand.apart)
    return (
      total(({ cpu_mhz }) => cpu_mhz) <= host.free_cpu_mhz &&
      total(({ mem_bytes }) => mem_bytes) <= host.free_mem_bytes &&
      here.every((demand) => demand.tags.every((tag) => host.tags.includes(tag))) &&
      here.every((demand) => demand.suitable?.has(host.id) !== false) &&
      new Set(apart).size === apart.length &&
      apart.every((group) => !host.groups.includes(group)) &&
      (here.length === all.length ||
        !here.some((demand) => demand.together.length > 0) ||
        all.every((demand, index) => demand.together.length === 0 || placed[index] === at))
    )
  })
}

test('there is never room where no way of placing the machines exists', () => {
  fc.assert(
    fc.property(demands, targets, (all, hosts) => {
      if (capacityFor(all, hosts).ok) assert.ok(canBePlaced(all, hosts))
    }),
    { numRuns: 2000 },
  )
})

test('what is left over finds no room, and the rest does', () => {
  fc.assert(
    fc.property(demands, targets, (all, hosts) => {
      const left = leftOver(all, hosts)
      const rest = all.filter((demand) => !left.includes(demand))
      assert.ok(canBePlaced(rest, hosts))
    }),
    { numRuns: 500 },
  )
})

const target = (id: string, free: number): Target => ({
  id, name: id, free_cpu_mhz: 10_000, free_mem_bytes: free, tags: [], groups: [],
}) // biome-ignore format: a record
const demand = (name: string, mem_bytes: number): Demand => ({
  id: name, name, cpu_mhz: 100, mem_bytes, tags: [], apart: [], together: [],
}) // biome-ignore format: a record

test('enough in sum is not enough: one large machine needs one host', () => {
  const answer = capacityFor([demand('large', 64)], [target('a', 50), target('b', 50)])
  assert.ok(!answer.ok)
  assert.match(answer.reason, /large.*64 bytes.*50 bytes on a/)
})

test('five per cent stay free, and nothing to move needs no host', () => {
  assert.ok(!capacityFor([demand('one', 100)], [target('a', 104)]).ok)
  assert.ok(capacityFor([demand('one', 100)], [target('a', 105)]).ok)
  assert.ok(capacityFor([], []).ok)
})

test('where first fit fails, best fit or another order may find the place', () => {
  const all = [demand('a', 6), demand('b', 5), demand('c', 4), demand('d', 3)]
  assert.ok(capacityFor(all, [target('a', 9), target('b', 10)]).ok)
  assert.ok(!capacityFor(all, [target('a', 9), target('b', 9)]).ok, 'no room to spare')
})
