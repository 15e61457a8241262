// What the distributed store tells of itself, read once: its health, its daemons by machine, its pools and how their copies are spread.
import { type Static, type TSchema, Type } from 'typebox'
import Value from 'typebox/value'

export type StoreHealth = 'HEALTH_OK' | 'HEALTH_WARN' | 'HEALTH_ERR'

export interface StoreOsd {
  id: number
  /** Machine that it runs on; null: it never ran. */
  host: string | null
  /** Above it in the tree, from its own up to the root: name and type of each. */
  above: readonly { name: string; type: string }[]
  device_class: string | null
  is_up: boolean
  is_in: boolean
  weight: number
  size_bytes: number
  used_bytes: number
}

export interface StorePool {
  name: string
  /** Copies of each piece of data, and how few are enough to read and write. */
  copies: number
  min_copies: number
  /** Where they are placed: below this bucket, on disks of this class (null: any), no two in one bucket of this type. */
  root: string
  device_class: string | null
  apart: string
}

export interface StoreFinding {
  /** The store's own word for it, such as OSD_DOWN. */
  code: string
  severity: Exclude<StoreHealth, 'HEALTH_OK'>
  message: string
}

export interface StoreState {
  health: StoreHealth
  /** What is wrong, without what a person has muted. */
  findings: readonly StoreFinding[]
  /** Every piece of data has all its copies where they belong. */
  is_clean: boolean
  osds: readonly StoreOsd[]
  pools: readonly StorePool[]
  /** Buckets of type `host` without anything below them. */
  empty_hosts: readonly string[]
  near_full_share: number
  /** No data is moved onto a disk that is as full as this. */
  full_share: number
  monitors: readonly { name: string; host: string; in_quorum: boolean }[]
  managers: readonly { name: string; host: string; is_active: boolean }[]
}

const Status = Type.Object({
  health: Type.Object({
    status: Type.Enum(['HEALTH_OK', 'HEALTH_WARN', 'HEALTH_ERR']),
    checks: Type.Record(
      Type.String(),
      Type.Object({
        severity: Type.Enum(['HEALTH_WARN', 'HEALTH_ERR']),
        summary: Type.Object({ message: Type.String() }),
        muted: Type.Boolean(),
      }),
    ),
  }),
  quorum_names: Type.Array(Type.String()),
  pgmap: Type.Object({
    // Left out while there is none.
    pgs_by_state: Type.Optional(Type.Array(Type.Object({ state_name: Type.String(), count: Type.Integer() }))),
    num_pgs: Type.Integer(),
  }),
})
const ByHost = <T extends TSchema>(item: T) => Type.Optional(Type.Record(Type.String(), Type.Array(item)))
const NodeList = Type.Object({ mon: ByHost(Type.String()), osd: ByHost(Type.Integer()), mgr: ByHost(Type.String()) })
const TreeNode = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  type: Type.String(),
  children: Type.Optional(Type.Array(Type.Integer())),
  device_class: Type.Optional(Type.String()),
  crush_weight: Type.Optional(Type.Number()),
  reweight: Type.Optional(Type.Number()),
  kb: Type.Optional(Type.Number()),
  kb_used: Type.Optional(Type.Number()),
  status: Type.Optional(Type.String()),
})
type TreeNode = Static<typeof TreeNode>
const Tree = Type.Object({ nodes: Type.Array(TreeNode), stray: Type.Array(TreeNode) })
const MgrStat = Type.Object({ active_name: Type.String() })
const OsdDump = Type.Object({
  backfillfull_ratio: Type.Number(),
  nearfull_ratio: Type.Number(),
  pools: Type.Array(
    Type.Object({
      pool_name: Type.String(),
      size: Type.Integer(),
      min_size: Type.Integer(),
      crush_rule: Type.Integer(),
    }),
  ),
})
const Rules = Type.Array(
  Type.Object({
    rule_id: Type.Integer(),
    steps: Type.Array(
      Type.Object({ op: Type.String(), item_name: Type.Optional(Type.String()), type: Type.Optional(Type.String()) }),
    ),
  }),
)
const Answers = Type.Tuple([Status, NodeList, Tree, MgrStat, OsdDump, Rules])

/** Of the answers to `status`, `node ls`, `osd df tree`, `mgr stat`, `osd dump`, `osd crush rule dump`; undefined: one is none. */
export function parseState(answers: readonly unknown[]): StoreState | undefined {
  if (!Value.Check(Answers, answers)) return undefined
  const [status, nodes, tree, manager, dump, rules] = answers
  const machine_of = new Map(
    Object.entries(nodes.osd ?? {}).flatMap(([host, ids]) => ids.map((id) => [id, host] as const)),
  )
  const named = (daemons: Record<string, string[]> | undefined): { name: string; host: string }[] =>
    Object.entries(daemons ?? {}).flatMap(([host, names]) => names.map((name) => ({ name, host })))
  return {
    health: status.health.status,
    findings: Object.entries(status.health.checks).flatMap(([code, { severity, summary, muted }]) => muted ? [] : [{ code, severity, message: summary.message }]),
    is_clean: allClean(status),
    osds: osdsOf([...tree.nodes, ...tree.stray], machine_of),
    pools: dump.pools.map(({ pool_name, size, min_size, crush_rule }) => ({
      name: pool_name,
      copies: size,
      min_copies: min_size,
      ...placementOf(rules.find(({ rule_id }) => rule_id === crush_rule)?.steps ?? []),
    })),
    empty_hosts: tree.nodes.filter(({ type, children = [] }) => type === 'host' && children.length === 0).map(({ name }) => name),
    near_full_share: dump.nearfull_ratio,
    full_share: dump.backfillfull_ratio,
    monitors: named(nodes.mon).map((one) => ({ ...one, in_quorum: status.quorum_names.includes(one.name) })),
    managers: named(nodes.mgr).map((one) => ({ ...one, is_active: one.name === manager.active_name })),
  } // biome-ignore format: a record
}

const CLEAN = /^active\+clean(\+(scrubbing|deep|snaptrim|snaptrim_wait))*$/

/** Of the answer to `status`; false also when it tells nothing. */
export function allClean(status: unknown): boolean {
  if (!Value.Check(Status, status)) return false
  const { pgs_by_state = [], num_pgs } = status.pgmap
  const clean = pgs_by_state.filter(({ state_name }) => CLEAN.test(state_name))
  return clean.reduce((sum, { count }) => sum + count, 0) === num_pgs
}

/** Of the answer to `osd safe-to-destroy`. */
export function destroyable(answer: unknown): readonly number[] {
  const shape = Type.Object({ safe_to_destroy: Type.Array(Type.Integer()) })
  return Value.Check(shape, answer) ? answer.safe_to_destroy : []
}

export interface StoreMonitors {
  fsid: string
  /** Host names or addresses, with a port where it is not the usual one. */
  addresses: readonly string[]
}

const MonDump = Type.Object({
  fsid: Type.String(),
  mons: Type.Array(
    Type.Object({ public_addrs: Type.Object({ addrvec: Type.Array(Type.Object({ addr: Type.String() })) }) }),
  ),
})
const USUAL_PORT = /:(?:3300|6789)$/

/** Of the answer to `mon dump`; undefined: it is none. */
export function monitorsIn(answer: unknown): StoreMonitors | undefined {
  if (!Value.Check(MonDump, answer)) return undefined
  const addresses = answer.mons.flatMap(({ public_addrs: { addrvec } }) => addrvec[0]?.addr ?? [])
  const plain = addresses.map((addr) => addr.replace(USUAL_PORT, '').replace(/^\[(.*)\]$/, '$1'))
  return { fsid: answer.fsid, addresses: plain }
}

/** Of the answer to `auth get`. */
export function keyIn(answer: unknown): string | undefined {
  const shape = Type.Array(Type.Object({ key: Type.String({ minLength: 1 }) }))
  return Value.Check(shape, answer) ? answer[0]?.key : undefined
}

function osdsOf(nodes: readonly TreeNode[], machine_of: ReadonlyMap<number, string>): StoreOsd[] {
  const parent_of = new Map(nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node] as const)))
  const above = (id: number): StoreOsd['above'] => {
    const parent = parent_of.get(id)
    return parent === undefined ? [] : [{ name: parent.name, type: parent.type }, ...above(parent.id)]
  }
  return nodes
    .filter(({ type }) => type === 'osd')
    .map(({ id, device_class, status, reweight = 0, crush_weight = 0, kb = 0, kb_used = 0 }) => ({
      id,
      host: machine_of.get(id) ?? null,
      above: above(id),
      device_class: device_class ?? null,
      is_up: status === 'up',
      is_in: reweight > 0,
      weight: crush_weight,
      size_bytes: kb * 1024,
      used_bytes: kb_used * 1024,
    }))
}

/** A rule takes a bucket, of one class of disks where it says `default~ssd`, and chooses places apart by their type. */
function placementOf(steps: Static<typeof Rules>[number]['steps']): Pick<StorePool, 'root' | 'device_class' | 'apart'> {
  const [root = '', device_class = null] = (steps.find(({ op }) => op === 'take')?.item_name ?? '').split('~')
  const apart = steps.findLast(({ op }) => op.startsWith('choose'))?.type ?? 'osd'
  return { root, device_class, apart }
}
