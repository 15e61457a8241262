// The whole network of a document in keyfiles of NetworkManager; profiles of others for the same devices no longer start by themselves.
import { createHash } from 'node:crypto'
import { isIPv6 } from 'node:net'
import type { NetworkDevice, NetworkDocument } from '#src/contract/nodes/desired-documents.ts'
import type { ConfigFile } from '../../../mtu/persist/change.ts'
import { iniSet, iniValues } from '../../../mtu/persist/ini-text.ts'
import { networkManager } from '../../../mtu/persist/network-manager.ts'
import { bottomUp } from '../live.ts'
import { type NetworkWriter, OWN_PREFIX, type WrittenFile } from './writer.ts'

const OWN = `/etc/NetworkManager/system-connections/${OWN_PREFIX}-`
const TYPES = { physical: 'ethernet', bond: 'bond', vlan: 'vlan', bridge: 'bridge' } as const

export const networkManagerWriter: NetworkWriter = { adapter: networkManager, write }

function write(files: readonly ConfigFile[], document: NetworkDocument): WrittenFile[] {
  const listed = bottomUp(document)
  const bare = [...new Set(listed.flatMap(({ members = [] }) => members))]
    .filter((name) => !listed.some((device) => device.name === name))
    .map((name): NetworkDevice => ({ name, kind: 'physical' }))
  const devices = [...bare, ...listed]
  const own = devices.map((device) => ({
    path: `${OWN}${device.name}.nmconnection`,
    text: profileOf(device, document),
    // It is ignored when others may read it.
    mode: 0o600,
  }))
  const others = files.flatMap(({ path, text }): WrittenFile[] => {
    if (path.startsWith(OWN)) return own.some((one) => one.path === path) ? [] : [{ path, text: null }]
    const bound = iniValues(text, 'connection', 'interface-name').some((name) =>
      devices.some((device) => device.name === name),
    )
    return bound ? [{ path, text: iniSet(text, 'connection', 'autoconnect', 'false') }] : []
  })
  return [...own, ...others].filter(({ path, text }) => files.find((file) => file.path === path)?.text !== text)
}

function profileOf(device: NetworkDevice, { devices }: NetworkDocument): string {
  const { name, kind, mtu, mode = '802.3ad', lacp_rate, xmit_hash_policy, vlan_id, link } = device
  const master = devices.find(({ members = [] }) => members.includes(name))
  const lines = [
    '[connection]', `id=${OWN_PREFIX}-${name}`, `uuid=${uuidOf(name)}`, `type=${TYPES[kind]}`, `interface-name=${name}`,
    'autoconnect-priority=100',
    ...(master === undefined ? [] : [`master=${master.name}`, `slave-type=${master.kind}`]), '',
  ] // biome-ignore format: one section
  if (mtu !== undefined || kind === 'physical')
    lines.push('[ethernet]', ...(mtu === undefined ? [] : [`mtu=${mtu}`]), '')
  if (kind === 'vlan') lines.push('[vlan]', `id=${vlan_id ?? 0}`, `parent=${link ?? ''}`, '')
  if (kind === 'bridge') lines.push('[bridge]', 'stp=false', '')
  if (kind === 'bond') {
    lines.push('[bond]', `mode=${mode}`, 'miimon=100')
    if (lacp_rate !== undefined) lines.push(`lacp_rate=${lacp_rate}`)
    if (xmit_hash_policy !== undefined) lines.push(`xmit_hash_policy=${xmit_hash_policy}`)
    lines.push('')
  }
  if (master === undefined) lines.push(...addressSection(device, false), ...addressSection(device, true))
  return lines.join('\n')
}

function addressSection({ addresses = [], gateway }: NetworkDevice, is_6: boolean): string[] {
  const mine = addresses.filter((address) => isIPv6(address.split('/')[0] ?? '') === is_6)
  const route = gateway !== undefined && isIPv6(gateway) === is_6 ? [`gateway=${gateway}`] : []
  const listed = mine.map((address, at) => `address${at + 1}=${address}`)
  return [is_6 ? '[ipv6]' : '[ipv4]', `method=${mine.length === 0 ? 'disabled' : 'manual'}`, ...listed, ...route, '']
}

/** The same for a device each time, so that writing it again is no change. */
function uuidOf(name: string): string {
  const hex = createHash('sha256').update(`${OWN_PREFIX} ${name}`).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
