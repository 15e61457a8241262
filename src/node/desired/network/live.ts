// The network devices of this node as they are now, and the commands of `ip` that lead from there to a document and back. Pure.
import { isIPv6 } from 'node:net'
import type { NetworkDevice, NetworkDocument } from '#src/contract/nodes/desired-documents.ts'
import type { Host } from '#src/kernel/host.ts'
import type { RunEntry } from '../../guarded/journal.ts'
import { at, listOf, numberOf, parseJson, textOf } from '../../untrusted-json.ts'

export interface LiveDevice {
  name: string
  kind: string | null
  master: string | null
  link: string | null
  vlan_id: number | null
  bond_mode: string | null
  mtu: number
  up: boolean
  /** With prefix length; `lifetime_s` of one that was leased. */
  addresses: readonly { text: string; lifetime_s: number | null }[]
}

export interface LiveRoute {
  device: string
  is_default: boolean
  gateway: string | null
  args: readonly string[]
}

export interface LiveNetwork {
  devices: readonly LiveDevice[]
  routes: readonly LiveRoute[]
}

const TIMEOUT_MS = 10_000

/** Null when `ip` is missing or failed. */
export async function readLive(host: Host): Promise<LiveNetwork | null> {
  const ask = async (...args: string[]): Promise<unknown[] | null> => {
    const run = await host.run('ip', args, { timeout_ms: TIMEOUT_MS })
    if (run.outcome !== 'exited' || run.exit_code !== 0) return null
    return listOf(parseJson(run.stdout))
  }
  const [rows, routes, routes_6] = await Promise.all([
    ask('-j', '-d', '-s', '-s', 'addr', 'show'),
    ask('-j', 'route', 'show'),
    ask('-j', '-6', 'route', 'show'),
  ])
  if (rows === null) return null
  return {
    devices: rows.map(deviceOf).filter((device) => device !== null),
    routes: [...(routes ?? []).map((row) => routeOf(row, false)), ...(routes_6 ?? []).map((row) => routeOf(row, true))]
      .filter((route) => route !== null),
  } // biome-ignore format: one list of both families
}

/** Bottom first: what carries comes before what stands on it. */
export function bottomUp(document: NetworkDocument): NetworkDevice[] {
  const sorted: NetworkDevice[] = []
  const seen = new Set<NetworkDevice>()
  const visit = (device: NetworkDevice): void => {
    if (seen.has(device)) return
    seen.add(device)
    for (const name of lowerNames(device)) {
      const below = document.devices.find((one) => one.name === name)
      if (below !== undefined) visit(below)
    }
    sorted.push(device)
  }
  document.devices.forEach(visit)
  return sorted
}

export function lowerNames({ members = [], link }: NetworkDevice): string[] {
  return link === undefined ? members : [...members, link]
}

/** Arguments of `ip`, in the order of the change. `previous`: what an earlier document made and this one no longer names. */
export function stepsTo(document: NetworkDocument, previous: NetworkDocument | null, live: LiveNetwork): string[][] {
  const order = bottomUp(document)
  const found = (name: string): LiveDevice | undefined => live.devices.find((device) => device.name === name)
  const steps: string[][] = []
  for (const { name } of dropped(document, previous, live).toReversed()) steps.push(['link', 'del', 'dev', name])
  const lowered = new Set<string>()
  for (const device of order) {
    if (found(device.name) === undefined) steps.push(makingOf(device))
    for (const member of device.members ?? []) {
      const port = found(member)
      if (port?.master === device.name) continue
      if ((port?.addresses.length ?? 0) > 0) steps.push(['addr', 'flush', 'dev', member, 'scope', 'global'])
      if (device.kind === 'bond') {
        steps.push(['link', 'set', 'dev', member, 'down'])
        lowered.add(member)
      }
      steps.push(['link', 'set', 'dev', member, 'master', device.name])
    }
    const left = (previous?.devices.find(({ name }) => name === device.name)?.members ?? []).filter(
      (member) => !(device.members ?? []).includes(member) && found(member)?.master === device.name,
    )
    for (const member of left) steps.push(['link', 'set', 'dev', member, 'nomaster'])
  }
  const setMtu = ({ name, mtu }: NetworkDevice): void =>
    void steps.push(['link', 'set', 'dev', name, 'mtu', `${mtu ?? 1500}`])
  const changed = order.filter(({ name, mtu }) => mtu !== undefined && found(name)?.mtu !== mtu)
  const isRaise = ({ name, mtu = 0 }: NetworkDevice): boolean => mtu > (found(name)?.mtu ?? 0)
  changed.filter(isRaise).forEach(setMtu)
  changed.filter((device) => !isRaise(device)).toReversed().forEach(setMtu) // biome-ignore format: short
  const carrying = new Set(order.flatMap((device) => [...(device.members ?? []), device.name]))
  for (const name of carrying) {
    if (found(name)?.up !== true || lowered.has(name)) steps.push(['link', 'set', 'dev', name, 'up'])
  }
  for (const { name, addresses } of order) {
    if (addresses === undefined) continue
    const now = found(name)?.addresses.map(({ text }) => text) ?? []
    for (const text of addresses.filter((one) => !now.includes(one))) steps.push(['addr', 'replace', text, 'dev', name])
    for (const text of now.filter((one) => !addresses.includes(one))) steps.push(['addr', 'del', text, 'dev', name])
  }
  for (const { name, gateway } of order) {
    if (gateway === undefined || hasDefault(live, name, gateway)) continue
    steps.push([...(isIPv6(gateway) ? ['-6'] : []), 'route', 'replace', 'default', 'via', gateway, 'dev', name])
  }
  return steps
}

/** Leads back to `live` from wherever the change was interrupted; each command may be repeated. */
export function undoOf(
  document: NetworkDocument,
  previous: NetworkDocument | null,
  live: LiveNetwork,
): RunEntry['undo'] {
  const found = (name: string): LiveDevice | undefined => live.devices.find((device) => device.name === name)
  const undo: { device: string; args: string[] }[] = []
  const add = (device: string, ...args: string[]): void => void undo.push({ device, args })
  for (const { name } of bottomUp(document).toReversed()) {
    if (found(name) === undefined) add(name, 'link', 'del', 'dev', name)
  }
  const gone = dropped(document, previous, live)
  for (const device of gone) {
    add(device.name, 'link', 'del', 'dev', device.name)
    add(device.name, ...makingOf(device))
  }
  const is_member = new Set([...document.devices, ...gone].flatMap(({ members = [] }) => members))
  const touched = touchedNames(document, gone).flatMap((name) => found(name) ?? [])
  const moved = touched.filter(({ name }) => is_member.has(name))
  for (const { name, master } of moved) {
    if (master === null) add(name, 'link', 'set', 'dev', name, 'nomaster')
    else {
      // A bond takes only members that are down.
      if (found(master)?.kind === 'bond') add(name, 'link', 'set', 'dev', name, 'down')
      add(name, 'link', 'set', 'dev', name, 'master', master)
    }
  }
  for (const { name, mtu } of touched) add(name, 'link', 'set', 'dev', name, 'mtu', `${mtu}`)
  for (const { name, up } of touched) add(name, 'link', 'set', 'dev', name, up ? 'up' : 'down')
  const readdressed = touched.filter(
    ({ name }) =>
      is_member.has(name) ||
      gone.some((one) => one.name === name) ||
      document.devices.some((one) => one.name === name && one.addresses !== undefined),
  )
  for (const { name, addresses } of readdressed) {
    add(name, 'addr', 'flush', 'dev', name, 'scope', 'global')
    for (const { text, lifetime_s } of addresses) {
      const lifetime = lifetime_s === null ? [] : ['valid_lft', `${lifetime_s}`, 'preferred_lft', `${lifetime_s}`]
      add(name, 'addr', 'replace', text, 'dev', name, ...lifetime)
    }
  }
  const names = new Set(readdressed.map(({ name }) => name))
  for (const { device, is_default, args } of live.routes) if (is_default || names.has(device)) add(device, ...args)
  return undo
}

/** A sentence each about what is not as the document says. */
export function differencesOf(document: NetworkDocument, live: LiveNetwork): string[] {
  return document.devices.flatMap((device) => {
    const { name, kind, mtu, addresses, gateway, members = [] } = device
    const now = live.devices.find((one) => one.name === name)
    if (now === undefined) return [`${name} is missing`]
    const found: string[] = []
    if (kindOf(now) !== kind) found.push(`${name} is of kind ${kindOf(now)}, not ${kind}`)
    if (!now.up) found.push(`${name} is switched off`)
    if (mtu !== undefined && now.mtu !== mtu) found.push(`${name} runs at MTU ${now.mtu}, not ${mtu}`)
    if (device.vlan_id !== undefined && now.vlan_id !== device.vlan_id)
      found.push(`${name} carries VLAN ${now.vlan_id ?? 'none'}, not ${device.vlan_id}`)
    if (device.link !== undefined && now.link !== device.link) found.push(`${name} does not stand on ${device.link}`)
    for (const member of members) {
      if (live.devices.find((one) => one.name === member)?.master !== name)
        found.push(`${member} is no member of ${name}`)
    }
    const texts = now.addresses.map(({ text }) => text)
    for (const text of addresses ?? []) if (!texts.includes(text)) found.push(`${name} lacks the address ${text}`)
    for (const text of addresses === undefined ? [] : texts) {
      if (!addresses?.includes(text)) found.push(`${name} has the address ${text}, which is not wanted`)
    }
    if (gateway !== undefined && !hasDefault(live, name, gateway)) found.push(`no default route leads to ${gateway}`)
    return found
  })
}

export function kindOf({ kind }: LiveDevice): string {
  // Only a network namespace has veths for its cards.
  return kind === null || kind === 'veth' ? 'physical' : kind
}

/** Devices that the earlier document made and this one does not name, bottom first. */
export function dropped(
  document: NetworkDocument,
  previous: NetworkDocument | null,
  live: LiveNetwork,
): NetworkDevice[] {
  if (previous === null) return []
  return bottomUp(previous).filter(
    ({ name, kind }) =>
      kind !== 'physical' &&
      !document.devices.some((one) => one.name === name) &&
      live.devices.some((one) => one.name === name),
  )
}

function touchedNames(document: NetworkDocument, gone: readonly NetworkDevice[]): string[] {
  const names = [...gone, ...bottomUp(document)].flatMap(({ name, members = [] }) => [...members, name])
  return [...new Set(names)]
}

function makingOf({
  name,
  kind,
  mode = '802.3ad',
  lacp_rate,
  xmit_hash_policy,
  link = '',
  vlan_id,
}: NetworkDevice): string[] {
  if (kind === 'vlan') return ['link', 'add', 'link', link, 'name', name, 'type', 'vlan', 'id', `${vlan_id ?? 0}`]
  if (kind === 'bridge') return ['link', 'add', 'name', name, 'type', 'bridge']
  const rate = lacp_rate === undefined ? [] : ['lacp_rate', lacp_rate]
  const policy = xmit_hash_policy === undefined ? [] : ['xmit_hash_policy', xmit_hash_policy]
  return ['link', 'add', 'name', name, 'type', 'bond', 'mode', mode, 'miimon', '100', ...rate, ...policy]
}

function hasDefault({ routes }: LiveNetwork, device: string, gateway: string): boolean {
  return routes.some((route) => route.is_default && route.device === device && route.gateway === gateway)
}

function deviceOf(row: unknown): LiveDevice | null {
  const name = textOf(at(row, 'ifname'))
  const mtu = numberOf(at(row, 'mtu'))
  if (name === null || mtu === null || name === 'lo') return null
  const data = at(row, 'linkinfo', 'info_data')
  const kind = textOf(at(row, 'linkinfo', 'info_kind'))
  return {
    name,
    kind,
    mtu,
    master: textOf(at(row, 'master')),
    link: textOf(at(row, 'link')),
    vlan_id: kind === 'vlan' ? numberOf(at(data, 'id')) : null,
    bond_mode: kind === 'bond' ? textOf(at(data, 'mode')) : null,
    up: listOf(at(row, 'flags')).includes('UP'),
    addresses: listOf(at(row, 'addr_info')).flatMap((one) => {
      const local = textOf(at(one, 'local'))
      const length = numberOf(at(one, 'prefixlen'))
      // What a router advertised comes and goes by itself.
      const advertised = at(one, 'mngtmpaddr') === true || at(one, 'temporary') === true
      if (local === null || length === null || at(one, 'scope') !== 'global' || advertised) return []
      const lifetime_s = at(one, 'dynamic') === true ? numberOf(at(one, 'valid_life_time')) : null
      return [{ text: `${local}/${length}`, lifetime_s }]
    }),
  }
}

/** The kernel's own routes come and go with the addresses. */
function routeOf(row: unknown, is_6: boolean): LiveRoute | null {
  const destination = textOf(at(row, 'dst'))
  const device = textOf(at(row, 'dev'))
  const protocol = textOf(at(row, 'protocol')) ?? ''
  if (destination === null || device === null || ['kernel', 'ra'].includes(protocol)) return null
  const gateway = textOf(at(row, 'gateway'))
  const metric = numberOf(at(row, 'metric'))
  const source = textOf(at(row, 'prefsrc'))
  const args = [
    ...(is_6 ? ['-6'] : []), 'route', 'replace', destination,
    ...(gateway === null ? [] : ['via', gateway]), 'dev', device,
    ...(protocol === '' || protocol === 'boot' ? [] : ['proto', protocol]),
    ...(source === null ? [] : ['src', source]),
    ...(metric === null ? [] : ['metric', `${metric}`]),
  ] // biome-ignore format: one command
  return { device, is_default: destination === 'default', gateway, args }
}
