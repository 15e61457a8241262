/** What commands of `ip` make of the recorded devices and routes of a captured host. */
import { isIPv6 } from 'node:net'

export type Row = Record<string, unknown>

export interface LinkState {
  /** Every device as it is now, by name. */
  devices: Map<string, Row>
  /** Fields of recorded devices that were changed. */
  changed: Map<string, Row>
  routes: { family: 4 | 6; row: Row }[]
  recorded: ReadonlySet<string>
}

export function newLinkState(base: { rows: readonly Row[]; routes: readonly Row[] }): LinkState {
  const devices = new Map(base.rows.map((row) => [String(row['ifname']), row]))
  const routes = base.routes.map((row) => ({ family: 4 as const, row }))
  return { devices, changed: new Map(), routes, recorded: new Set(devices.keys()) }
}

/** Null when it was done; else what the kernel or the tool says. */
export function applyCommand(state: LinkState, args: readonly string[]): string | null {
  const words = args[0] === '-6' || args[0] === '-4' ? args.slice(1) : args
  switch (`${words[0]} ${words[1]}`) {
    case 'link add':
      return addLink(state, words)
    case 'link del':
      return deleteLink(state, words[3] ?? '')
    case 'link set':
      return setLink(state, words[3] ?? '', words.slice(4))
    case 'addr replace':
      return changeAddresses(state, words[4] ?? '', (all) => [
        ...without(all, words[2] ?? ''),
        addressOf(words[2] ?? ''),
      ])
    case 'addr del':
      return changeAddresses(state, words[4] ?? '', (all) => without(all, words[2] ?? ''))
    case 'addr flush':
      return flush(state, words[3] ?? '')
    case 'route replace':
      return replaceRoute(state, words, args[0] === '-6')
    default:
      return `Command "${words[1] ?? ''}" is unknown, try "ip ${words[0] ?? ''} help".`
  }
}

/** Recorded rows with what was changed on top, without what was deleted, and with what was added. */
export function shownRows({ devices, changed, recorded }: LinkState, rows: readonly Row[]): Row[] {
  const named = new Set(rows.map((row) => String(row['ifname'])))
  const left = rows.filter((row) => devices.has(String(row['ifname'])))
  const added = [...devices].filter(([name]) => !recorded.has(name) && !named.has(name)).map(([, row]) => row)
  return [...left.map((row) => ({ ...row, ...changed.get(String(row['ifname'])) })), ...added]
}

export function mtuOf({ devices }: LinkState, name: string): number | undefined {
  const mtu = devices.get(name)?.['mtu']
  return typeof mtu === 'number' ? mtu : undefined
}

function addLink(state: LinkState, words: readonly string[]): string | null {
  // `ip link add link bond0 …`: the first `link` is the command.
  const options = words.slice(2)
  const after = (word: string): string | undefined => {
    const at = options.indexOf(word)
    return at < 0 ? undefined : options[at + 1]
  }
  const kind = after('type') ?? ''
  const name = after('name') ?? words[2] ?? ''
  if (state.devices.has(name)) return 'RTNETLINK answers: File exists'
  const lower = kind === 'vlan' ? after('link') : undefined
  const below = lower === undefined ? undefined : state.devices.get(lower)
  if (lower !== undefined && below === undefined) return `Cannot find device "${lower}"`
  const id = after('id')
  const mode = after('mode')
  const index = 10_001 + state.devices.size
  state.devices.set(name, {
    ifindex: index,
    ifname: name,
    flags: ['BROADCAST', 'MULTICAST'],
    mtu: kind === 'vxlan' ? 1450 : (below?.['mtu'] ?? 1500),
    operstate: 'DOWN',
    link_type: 'ether',
    address: `02:00:00:00:${hex(index >> 8)}:${hex(index & 255)}`,
    ...(lower === undefined ? {} : { link: lower }),
    linkinfo: {
      info_kind: kind,
      ...(id === undefined ? {} : { info_data: { id: Number(id) } }),
      ...(mode === undefined ? {} : { info_data: { mode } }),
    },
    addr_info: [],
  })
  return null
}

function deleteLink(state: LinkState, name: string): string | null {
  if (!state.devices.delete(name)) return noDevice(name)
  state.changed.delete(name)
  for (const [other, row] of state.devices) {
    if (row['master'] === name) update(state, other, { master: undefined })
    if (row['link'] === name) deleteLink(state, other)
  }
  dropRoutes(state, name)
  return null
}

function setLink(state: LinkState, name: string, [word, value = '']: readonly string[]): string | null {
  const row = state.devices.get(name)
  if (row === undefined) return noDevice(name)
  const flags = (Array.isArray(row['flags']) ? row['flags'] : []).filter((flag) => flag !== 'UP' && flag !== 'LOWER_UP')
  switch (word) {
    case 'mtu':
      return setMtu(state, row, Number(value))
    case 'master':
      if (!state.devices.has(value)) return `Error: argument "${value}" is wrong: Device does not exist`
      return update(state, name, { master: value })
    case 'nomaster':
      return update(state, name, { master: undefined })
    case 'up':
      return update(state, name, { operstate: 'UP', flags: [...flags, 'UP', 'LOWER_UP'] })
    case 'down':
      dropRoutes(state, name)
      return update(state, name, { operstate: 'DOWN', flags })
    default:
      return `Error: either "dev" is duplicate, or "${word ?? ''}" is a garbage.`
  }
}

function setMtu(state: LinkState, row: Row, mtu: number): string | null {
  const most = Number(row['max_mtu'] ?? 0)
  if (most !== 0 && mtu > most) return 'Error: mtu greater than device maximum.'
  return update(state, String(row['ifname']), { mtu })
}

function changeAddresses(state: LinkState, name: string, next: (all: readonly Row[]) => Row[]): string | null {
  const row = state.devices.get(name)
  if (row === undefined) return noDevice(name)
  const all = Array.isArray(row['addr_info']) ? row['addr_info'].map((one): Row => ({ ...(one as object) })) : []
  return update(state, name, { addr_info: next(all) })
}

function flush(state: LinkState, name: string): string | null {
  const problem = changeAddresses(state, name, (all) => all.filter((one) => one['scope'] !== 'global'))
  if (problem === null) dropRoutes(state, name)
  return problem
}

function replaceRoute(state: LinkState, words: readonly string[], is_6: boolean): string | null {
  const after = (word: string): string | undefined => {
    const at = words.indexOf(word)
    return at < 0 ? undefined : words[at + 1]
  }
  const device = after('dev') ?? ''
  if (!state.devices.has(device)) return noDevice(device)
  const metric = after('metric')
  const gateway = after('via')
  const row: Row = {
    dst: words[2],
    ...(gateway === undefined ? {} : { gateway }),
    dev: device,
    ...(after('proto') === undefined ? {} : { protocol: after('proto') }),
    ...(metric === undefined ? {} : { metric: Number(metric) }),
    flags: [],
  }
  const family = is_6 ? 6 : 4
  const others = state.routes.filter(
    (route) => route.family !== family || route.row['dst'] !== row['dst'] || route.row['metric'] !== row['metric'],
  )
  state.routes = [...others, { family, row }]
  return null
}

function update(state: LinkState, name: string, fields: Row): null {
  state.devices.set(name, { ...state.devices.get(name), ...fields })
  if (state.recorded.has(name)) state.changed.set(name, { ...state.changed.get(name), ...fields })
  return null
}

function dropRoutes(state: LinkState, device: string): void {
  state.routes = state.routes.filter(({ row }) => row['dev'] !== device)
}

function addressOf(text: string): Row {
  const [local = '', length = ''] = text.split('/')
  return { family: isIPv6(local) ? 'inet6' : 'inet', local, prefixlen: Number(length), scope: 'global' }
}

function without(all: readonly Row[], text: string): Row[] {
  return all.filter((one) => `${String(one['local'])}/${String(one['prefixlen'])}` !== text)
}

function noDevice(name: string): string {
  return `Cannot find device "${name}"`
}

function hex(byte: number): string {
  return (byte & 255).toString(16).padStart(2, '0')
}
