// The whole network of a document for systemd-networkd: a .network a device, and a .netdev for each that is made.
import type { NetworkDevice, NetworkDocument } from '#src/contract/nodes/desired-documents.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { ConfigFile } from '../../../mtu/persist/change.ts'
import { iniValues } from '../../../mtu/persist/ini-text.ts'
import { networkd } from '../../../mtu/persist/networkd.ts'
import { bottomUp } from '../live.ts'
import { type NetworkWriter, OWN_PREFIX, type WrittenFile } from './writer.ts'

const FOLDER = '/etc/systemd/network'
/** networkd takes the first matching file in the order of names. */
const FIRST = `${FOLDER}/05-${OWN_PREFIX}-`

export const networkdWriter: NetworkWriter = { adapter: networkd, write }

function write(files: readonly ConfigFile[], document: NetworkDocument): WrittenFile[] {
  const written = wanted(document)
  const names = written.map(({ path }) => path)
  for (const { path, text } of files) refuseRival({ path, text }, document)
  const leftover = files.filter(({ path }) => path.startsWith(FIRST) && !names.includes(path))
  return [...written, ...leftover.map(({ path }) => ({ path, text: null }))].filter(
    ({ path, text }) => files.find((file) => file.path === path)?.text !== text,
  )
}

function wanted(document: NetworkDocument): WrittenFile[] {
  const listed = bottomUp(document)
  // Members and lower devices that the document does not configure still must say what stands on them.
  const bare = new Set(listed.flatMap(({ members = [], link }) => (link === undefined ? members : [...members, link])))
  const others = [...bare]
    .filter((name) => !listed.some((device) => device.name === name))
    .map((name): NetworkDevice => ({ name, kind: 'physical' }))
  return [...listed, ...others].flatMap((device) => {
    const network = { path: `${FIRST}${device.name}.network`, text: networkText(device, document) }
    if (device.kind === 'physical') return [network]
    return [{ path: `${FIRST}${device.name}.netdev`, text: netdevText(device) }, network]
  })
}

function networkText({ name, mtu, addresses = [], gateway }: NetworkDevice, { devices }: NetworkDocument): string {
  const master = devices.find(({ members = [] }) => members.includes(name))
  const vlans = devices.filter(({ link }) => link === name).map((vlan) => `VLAN=${vlan.name}`)
  const over = master === undefined ? [] : [`${master.kind === 'bond' ? 'Bond' : 'Bridge'}=${master.name}`]
  return [
    '[Match]', `Name=${name}`, '',
    ...(mtu === undefined ? [] : ['[Link]', `MTUBytes=${mtu}`, '']),
    '[Network]',
    ...over, ...vlans, ...addresses.map((address) => `Address=${address}`),
    ...(gateway === undefined ? [] : [`Gateway=${gateway}`]),
    // Of a device without addresses the link-local one would only be noise on a port.
    ...(addresses.length === 0 ? ['LinkLocalAddressing=no', 'IPv6AcceptRA=no'] : []),
    '',
  ].join('\n') // biome-ignore format: one file
}

function netdevText({
  name,
  kind,
  mtu,
  mode = '802.3ad',
  lacp_rate,
  xmit_hash_policy,
  vlan_id,
}: NetworkDevice): string {
  const lines = ['[NetDev]', `Name=${name}`, `Kind=${kind}`, ...(mtu === undefined ? [] : [`MTUBytes=${mtu}`]), '']
  if (kind === 'vlan') lines.push('[VLAN]', `Id=${vlan_id ?? 0}`, '')
  if (kind === 'bond') {
    lines.push('[Bond]', `Mode=${mode}`, 'MIIMonitorSec=100ms')
    if (lacp_rate !== undefined) lines.push(`LACPTransmitRate=${lacp_rate}`)
    if (xmit_hash_policy !== undefined) lines.push(`TransmitHashPolicy=${xmit_hash_policy}`)
    lines.push('')
  }
  return lines.join('\n')
}

/** A file of others that networkd would read instead of ours. */
function refuseRival({ path, text }: ConfigFile, { devices }: NetworkDocument): void {
  if (path.startsWith(FIRST)) return
  const is_netdev = path.endsWith('.netdev')
  const rivals = is_netdev ? iniValues(text, 'NetDev', 'Name') : path < FIRST ? iniValues(text, 'Match', 'Name') : []
  const name = devices.find((device) => rivals.some((one) => one.split(/\s+/).includes(device.name)))?.name
  if (name === undefined) return
  throw new ApiError('DESIRED_CONFLICT', `${path} defines ${name} already; remove it, or leave ${name} out.`)
}
