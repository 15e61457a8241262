// The whole network of a document for netplan: one file of ours, and the devices taken out of every other one, because netplan
// joins the addresses of all files.
import { isIPv6 } from 'node:net'
import { isMap, parseDocument, stringify } from 'yaml'
import type { NetworkDevice, NetworkDocument } from '#src/contract/nodes/desired-documents.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { ConfigFile } from '../../../mtu/persist/change.ts'
import { netplan } from '../../../mtu/persist/netplan.ts'
import { bottomUp } from '../live.ts'
import { type NetworkWriter, OWN_PREFIX, type WrittenFile } from './writer.ts'

const OWN = `/etc/netplan/99-${OWN_PREFIX}.yaml`
const SECTIONS = { physical: 'ethernets', bond: 'bonds', vlan: 'vlans', bridge: 'bridges' } as const

export const netplanWriter: NetworkWriter = { adapter: netplan, write }

function write(files: readonly ConfigFile[], document: NetworkDocument): WrittenFile[] {
  const own = { path: OWN, text: stringify({ network: networkOf(document) }, { lineWidth: 0 }), mode: 0o600 }
  const names = document.devices.flatMap(({ name, members = [] }) => [name, ...members])
  const others = files
    .filter(({ path }) => path !== OWN)
    .map((file) => ({ path: file.path, text: withoutDevices(file, names) }))
  return [own, ...others].filter(({ path, text }) => files.find((file) => file.path === path)?.text !== text)
}

function networkOf(document: NetworkDocument): Record<string, unknown> {
  const network: Record<string, unknown> = { version: 2 }
  const listed = bottomUp(document)
  const bare = listed
    .flatMap(({ members = [] }) => members)
    .filter((name) => !listed.some((device) => device.name === name))
    .map((name): NetworkDevice => ({ name, kind: 'physical' }))
  for (const device of [...bare, ...listed]) {
    const section = SECTIONS[device.kind]
    network[section] = { ...(network[section] as object | undefined), [device.name]: settingsOf(device) }
  }
  return network
}

function settingsOf({ kind, mtu, addresses, gateway, members = [], mode = '802.3ad', ...more }: NetworkDevice): object {
  const bond = {
    mode,
    'mii-monitor-interval': 100,
    ...(more.lacp_rate === undefined ? {} : { 'lacp-rate': more.lacp_rate }),
    ...(more.xmit_hash_policy === undefined ? {} : { 'transmit-hash-policy': more.xmit_hash_policy }),
  }
  const route = { to: gateway !== undefined && isIPv6(gateway) ? '::/0' : '0.0.0.0/0', via: gateway }
  return {
    ...(kind === 'vlan' ? { id: more.vlan_id, link: more.link } : {}),
    ...(kind === 'bond' || kind === 'bridge' ? { interfaces: members } : {}),
    ...(kind === 'bond' ? { parameters: bond } : {}),
    ...(kind === 'bridge' ? { parameters: { stp: false, 'forward-delay': 0 } } : {}),
    ...(mtu === undefined ? {} : { mtu }),
    dhcp4: false,
    dhcp6: false,
    ...(addresses === undefined ? {} : { addresses }),
    ...(gateway === undefined ? {} : { routes: [route] }),
  }
}

function withoutDevices({ path, text }: ConfigFile, names: readonly string[]): string {
  const document = parseDocument(text)
  if (document.errors.length > 0) throw new ApiError('DESIRED_CONFLICT', `${path} is no valid YAML; correct it first.`)
  let changed = false
  for (const section of Object.values(SECTIONS)) {
    for (const name of names.filter((one) => document.hasIn(['network', section, one]))) {
      document.deleteIn(['network', section, name])
      changed = true
    }
    const left = document.getIn(['network', section])
    if (changed && isMap(left) && left.items.length === 0) document.deleteIn(['network', section])
  }
  return changed ? document.toString({ lineWidth: 0 }) : text
}
