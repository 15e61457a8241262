/** A simulated Ceph 16: what its client `ceph` prints for the commands by which a machine is looked at and leaves. */

export interface SimulatedOsd {
  id: number
  host: string
  device_class: string
  /** TiB. */
  weight: number
  is_in: boolean
  is_up: boolean
  kb: number
  kb_used: number
}

export interface SimulatedPool {
  name: string
  size: number
  min_size: number
  /** Type of bucket that no two copies share. */
  apart: 'host' | 'osd'
}

export interface CephState {
  osds: SimulatedOsd[]
  pools: SimulatedPool[]
  /** Of the tree; one stays when its last disk goes. */
  hosts: string[]
  monitors: { name: string; host: string; is_up: boolean }[]
  managers: { name: string; host: string }[]
  active_manager: string
  /** Further findings of its health, by their code. */
  findings: Record<string, string>
  /** Keys of clients, by their name. */
  clients: Record<string, string>
  /** Copies that a removed disk still held. A test looks here: nothing brings them back. */
  lost: string[]
  /** How often its state must be asked before data that moves has arrived. */
  moves_after: number
  /** It answers nobody. */
  is_silent: boolean
}

export interface CephAnswer {
  exit_code: number
  stdout: string
  stderr: string
}

export interface SimulatedCeph {
  state: CephState
  /** Commands that change something, as they came. */
  changes: string[]
  /** Words after the options; none: the commands come on standard input, a line each. */
  answer(args: readonly string[], stdin: string): CephAnswer
}

/** Two disks a host, a pool of two copies, three monitors and two managers elsewhere. */
export function cephState(hosts: readonly string[]): CephState {
  const disk = {
    device_class: 'ssd',
    weight: 3.49,
    is_in: true,
    is_up: true,
    kb: 3_750_736_896,
    kb_used: 1_125_221_068,
  }
  return {
    osds: hosts.flatMap((host, at) => [0, 1].map((nth) => ({ id: 2 * at + nth, host, ...disk }))),
    pools: [
      { name: 'vm-images', size: 2, min_size: 1, apart: 'host' },
      { name: 'vm-volumes', size: 2, min_size: 1, apart: 'host' },
    ],
    hosts: [...hosts],
    monitors: ['mgmt-01', 'mgmt-02', 'mgmt-03'].map((host) => ({ name: host, host, is_up: true })),
    managers: ['mgmt-01', 'mgmt-02'].map((host) => ({ name: host, host })),
    active_manager: 'mgmt-01',
    findings: {},
    clients: {},
    lost: [],
    moves_after: 2,
    is_silent: false,
  }
}

const VALUE_OPTIONS = new Set(['--conf', '--keyring', '--name', '--connect-timeout', '--format'])
const FSID = 'e8b25934-f13e-474b-af68-c860fd49b1be'
const [EPERM, ENOENT, EBUSY, EINVAL, ENOTEMPTY] = [1, 2, 16, 22, 39]

class Rejected extends Error {
  readonly errno: number
  constructor(errno: number, message: string) {
    super(message)
    this.errno = errno
  }
}

export function simulatedCeph(state: CephState): SimulatedCeph {
  const changes: string[] = []
  let asked = 0

  function run(words: readonly string[]): string {
    const line = words.join(' ')
    const read = READS[line] ?? READS_OF.find(([start]) => line.startsWith(start))?.[1]
    if (read !== undefined) {
      if (line === 'status' && isMoving(state) && (asked += 1) >= state.moves_after) {
        move(state)
        asked = 0
      }
      return `\n${JSON.stringify(read(state, words))}\n`
    }
    const found = CHANGES.find(([start]) => line.startsWith(start))
    if (found === undefined) throw new Rejected(EINVAL, 'invalid command')
    const [start, change] = found
    if (!start.startsWith('mon ok')) changes.push(line)
    change(state, words.slice(start.trim().split(' ').length))
    return '\n'
  }

  return {
    state,
    changes,
    answer(args, stdin) {
      const words = args.filter((word, at) => !VALUE_OPTIONS.has(word) && !VALUE_OPTIONS.has(args[at - 1] ?? ''))
      if (state.is_silent) return { exit_code: EPERM, stdout: '', stderr: '[errno 110] RADOS timed out (error connecting to the cluster)\n' } // biome-ignore format: one answer
      if (args[args.indexOf('--format') + 1] !== 'json') throw new Error('only JSON is simulated')
      const commands = words.length > 0 ? [words] : stdin.split('\n').filter((line) => line !== '').map((line) => line.split(' ')) // biome-ignore format: one choice
      const answer: CephAnswer = { exit_code: 0, stdout: '', stderr: '' }
      for (const command of commands) {
        try {
          answer.stdout += run(command)
        } catch (error) {
          if (!(error instanceof Rejected)) throw error
          answer.stderr += `Error ${error.message}\n`
          // Typed commands go on after one that was rejected.
          if (words.length > 0) answer.exit_code = error.errno
        }
      }
      return answer
    },
  }
}

const takesData = ({ is_in, is_up, weight }: SimulatedOsd): boolean => is_in && is_up && weight > 0
const leavers = ({ osds }: CephState): SimulatedOsd[] => osds.filter((osd) => !osd.is_in || osd.weight === 0)
const isMoving = (state: CephState): boolean => leavers(state).some(({ kb_used }) => kb_used > 0)

function places({ osds }: CephState, { apart }: SimulatedPool): number {
  return new Set(osds.filter(takesData).map((osd) => (apart === 'osd' ? osd.id : osd.host))).size
}

/** Copies without a place of their own stay where they are. */
function move(state: CephState): void {
  if (state.pools.some((pool) => places(state, pool) < pool.size)) return
  const targets = state.osds.filter(takesData)
  const weight = targets.reduce((sum, osd) => sum + osd.weight, 0)
  for (const osd of leavers(state)) {
    for (const target of targets) target.kb_used += Math.round((osd.kb_used * target.weight) / weight)
    osd.kb_used = 0
  }
}

function healthOf(state: CephState) {
  const down = state.osds.filter(({ is_in, is_up }) => is_in && !is_up).length
  const short = state.pools.filter((pool) => places(state, pool) < pool.size)
  const found = {
    ...state.findings,
    ...(down > 0 && { OSD_DOWN: `${down} osds down` }),
    ...(short.length > 0 && { PG_DEGRADED: 'Degraded data redundancy: 64 pgs undersized' }),
  }
  const checks = Object.entries(found).map(([code, message]) => [
    code,
    { severity: 'HEALTH_WARN', summary: { message, count: 1 }, muted: false },
  ])
  return { status: checks.length === 0 ? 'HEALTH_OK' : 'HEALTH_WARN', checks: Object.fromEntries(checks), mutes: [] }
}

const quorum = ({ monitors }: CephState): string[] => monitors.filter(({ is_up }) => is_up).map(({ name }) => name)

function status(state: CephState) {
  const pgs = isMoving(state)
    ? [['active+clean', 65] as const, ['active+remapped+backfilling', 64] as const]
    : [['active+clean', 129] as const]
  const up = state.osds.filter(({ is_up }) => is_up).length
  return {
    fsid: FSID,
    health: healthOf(state),
    quorum_names: quorum(state),
    monmap: { epoch: 1, num_mons: state.monitors.length },
    osdmap: { epoch: 408, num_osds: state.osds.length, num_up_osds: up },
    pgmap: { pgs_by_state: pgs.map(([state_name, count]) => ({ state_name, count })), num_pgs: 129, num_pools: state.pools.length },
    mgrmap: { available: true, num_standbys: Math.max(0, state.managers.length - 1) },
  } // biome-ignore format: a record
}

function byHost<T, U>(rows: readonly T[], hostOf: (row: T) => string, itemOf: (row: T) => U): Record<string, U[]> {
  const found: Record<string, U[]> = {}
  for (const row of rows) (found[hostOf(row)] ??= []).push(itemOf(row))
  return found
}

const nodeList = ({ monitors, osds, managers }: CephState) => ({
  mon: byHost(monitors, ({ host }) => host, ({ name }) => name),
  osd: byHost(osds, ({ host }) => host, ({ id }) => id),
  mgr: byHost(managers, ({ host }) => host, ({ name }) => name),
}) // biome-ignore format: a table

function tree({ osds, hosts }: CephState) {
  const bucket = (at: number): number => -2 - at
  const root = { id: -1, name: 'default', type: 'root', type_id: 11, children: hosts.map((_host, at) => bucket(at)) }
  const buckets = hosts.map((name, at) => ({
    id: bucket(at), name, type: 'host', type_id: 1, children: osds.filter(({ host }) => host === name).map(({ id }) => id),
  })) // biome-ignore format: a record
  const disks = osds.map(({ id, device_class, weight, is_in, is_up, kb, kb_used }) => ({
    id, device_class, name: `osd.${id}`, type: 'osd', type_id: 0, crush_weight: weight, depth: 2, reweight: is_in ? 1 : 0, kb, kb_used,
    kb_avail: kb - kb_used, utilization: (100 * kb_used) / kb, pgs: kb_used > 0 ? 64 : 0, status: is_up ? 'up' : 'down',
  })) // biome-ignore format: a record
  return { nodes: [root, ...buckets, ...disks], stray: [], summary: {} }
}

function safeToDestroy({ osds }: CephState, words: readonly string[]) {
  const ids = words.slice(2).map(Number)
  const active = ids.filter((id) => osds.some((osd) => osd.id === id && osd.kb_used > 0))
  return { safe_to_destroy: ids.filter((id) => !active.includes(id)), active, missing_stats: [], stored_pgs: [] }
}

function authGet({ clients }: CephState, words: readonly string[]) {
  const entity = words[2] ?? ''
  const key = clients[entity]
  if (key === undefined) throw new Rejected(ENOENT, `ENOENT: failed to find ${entity} in keyring`)
  return [{ entity, key, caps: { mon: 'profile rbd', osd: 'profile rbd' } }]
}

const READS_OF: readonly (readonly [start: string, read: (state: CephState, words: readonly string[]) => unknown])[] = [
  ['osd safe-to-destroy ', safeToDestroy],
  ['auth get ', authGet],
]

const READS: Readonly<Record<string, (state: CephState, words: readonly string[]) => unknown>> = {
  status,
  'node ls': nodeList,
  'osd df tree': tree,
  'mgr stat': ({ active_manager }) => ({ epoch: 9, available: true, active_name: active_manager, num_standby: 1 }),
  'mon dump': ({ monitors }) => ({
    epoch: 1,
    fsid: FSID,
    mons: monitors.map(({ name }, at) => ({
      rank: at,
      name,
      public_addrs: { addrvec: [{ type: 'v2', addr: `10.20.0.${at + 1}:3300`, nonce: 0 }] },
    })),
  }),
  'osd dump': ({ pools }) => ({
    epoch: 408, full_ratio: 0.95, backfillfull_ratio: 0.9, nearfull_ratio: 0.85,
    pools: pools.map(({ name, size, min_size, apart }, at) => ({
      pool: at + 1, pool_name: name, type: 1, size, min_size, crush_rule: apart === 'host' ? 0 : 1,
    })),
  }), // biome-ignore format: a record
  'osd crush rule dump': () =>
    (['host', 'osd'] as const).map((type, rule_id) => ({
      rule_id,
      rule_name: `by_${type}`,
      type: 1,
      steps: [
        { op: 'take', item: -1, item_name: 'default' },
        { op: 'chooseleaf_firstn', num: 0, type },
        { op: 'emit' },
      ],
    })),
}

type Change = (state: CephState, words: readonly string[]) => void

/** What is not there is no error but for a weight, as with the real one. */
const CHANGES: readonly (readonly [start: string, change: Change])[] = [
  ['osd out ', ({ osds }, ids) => osds.filter(isOneOf(ids)).forEach((osd) => (osd.is_in = false))],
  ['osd stop ', ({ osds }, ids) => osds.filter(isOneOf(ids)).forEach((osd) => (osd.is_up = false))],
  ['osd crush reweight ', reweight],
  ['osd crush rm ', removeBucket],
  ['osd purge ', purge],
  ['mon ok-to-rm ', requireMajorityWithout],
  ['mon remove ', (state, [name]) => void (state.monitors = state.monitors.filter((one) => one.name !== name))],
  ['mgr fail ', failManager],
  [
    'auth get-or-create ',
    ({ clients }, [entity = '']) => void (clients[entity] ??= Buffer.from(`key of ${entity}`).toString('base64')),
  ],
  ['auth rm ', ({ clients }, [entity = '']) => void delete clients[entity]],
]

const isOneOf = (ids: readonly string[]) => (osd: SimulatedOsd): boolean => ids.includes(String(osd.id)) // biome-ignore format: one line

function reweight({ osds }: CephState, [name = '', weight = '']: readonly string[]): void {
  const osd = osds.find(({ id }) => `osd.${id}` === name)
  if (osd === undefined) throw new Rejected(ENOENT, `ENOENT: device '${name}' does not appear in the crush map`)
  osd.weight = Number(weight)
}

function removeBucket(state: CephState, [name = '']: readonly string[]): void {
  if (state.osds.some(({ host }) => host === name)) throw new Rejected(ENOTEMPTY, 'ENOTEMPTY: (39) Directory not empty')
  state.hosts = state.hosts.filter((host) => host !== name)
}

function purge(state: CephState, [id = '', sure]: readonly string[]): void {
  if (sure !== '--yes-i-really-mean-it') throw new Rejected(EPERM, 'EPERM: Are you SURE?')
  const osd = state.osds.find((one) => String(one.id) === id)
  if (osd?.is_up === true) throw new Rejected(EBUSY, `EBUSY: osd.${id} is not \`down\`.`)
  if (osd !== undefined && osd.kb_used > 0) state.lost.push(`osd.${id}`)
  state.osds = state.osds.filter((one) => one !== osd)
}

function requireMajorityWithout(state: CephState, [name = '']: readonly string[]): void {
  const left = state.monitors.filter((one) => one.name !== name)
  if (left.filter(({ is_up }) => is_up).length > Math.floor(left.length / 2)) return
  throw new Rejected(EBUSY, `EBUSY: removing mon.${name} would break quorum`)
}

/** The one that failed comes back in reserve. */
function failManager(state: CephState, [name]: readonly string[]): void {
  if (state.active_manager !== name) return
  state.active_manager = state.managers.find((one) => one.name !== name)?.name ?? name
}
