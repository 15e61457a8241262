// Whether a network document makes sense, by itself and on this node, before anything is touched.
import { BlockList, isIP } from 'node:net'
import type { NetworkDevice, NetworkDocument } from '#src/contract/nodes/desired-documents.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import { bottomUp, dropped, kindOf, type LiveNetwork, lowerNames } from './live.ts'

/** Fields that only one kind of device has. */
const OF_KIND = {
  members: ['bond', 'bridge'],
  mode: ['bond'],
  lacp_rate: ['bond'],
  xmit_hash_policy: ['bond'],
  vlan_id: ['vlan'],
  link: ['vlan'],
} as const satisfies Partial<Record<keyof NetworkDevice, readonly string[]>>

/** Throws at the first thing that cannot be. */
export function checkNetwork(document: NetworkDocument, previous: NetworkDocument | null, live: LiveNetwork): void {
  const { devices } = document
  devices.forEach((device, at) => checkDevice(device, `document.devices.${at}`))
  for (const [at, { name }] of devices.entries()) {
    if (devices.findIndex((one) => one.name === name) !== at) throw wrong(at, `${name} is named twice`)
  }
  for (const [at, device] of devices.entries()) {
    checkLowers(document, live, device, at)
    checkLive([...devices, ...(previous?.devices ?? [])], device, live, at)
  }
  for (const family of [4, 6]) {
    const gateways = devices.flatMap(({ gateway = '' }) => (isIP(gateway) === family ? [gateway] : []))
    if (gateways.length > 1)
      throw invalidField(
        'document.devices',
        `only one gateway of IPv${family} is possible, not ${gateways.join(' and ')}`,
      )
  }
  refuseGuests(document, previous, live)
}

function checkDevice(device: NetworkDevice, path: string): void {
  const { name, kind, addresses = [], gateway } = device
  if (name === 'lo') throw invalidField(`${path}.name`, 'lo is not configured')
  for (const [field, kinds] of Object.entries(OF_KIND)) {
    const is_given = device[field as keyof typeof OF_KIND] !== undefined
    if (is_given && !(kinds as readonly string[]).includes(kind))
      throw invalidField(`${path}.${field}`, `a device of kind ${kind} has none`)
  }
  if (kind === 'vlan' && device.vlan_id === undefined) throw invalidField(`${path}.vlan_id`, 'a VLAN needs its id')
  if (kind === 'vlan' && device.link === undefined)
    throw invalidField(`${path}.link`, 'a VLAN needs the device below it')
  if (kind === 'bond' && (device.members ?? []).length === 0)
    throw invalidField(`${path}.members`, 'a bond needs members')
  for (const address of addresses) subnetOf(address, `${path}.addresses`)
  if (gateway === undefined) return
  if (isIP(gateway) === 0) throw invalidField(`${path}.gateway`, 'not an IP address')
  const reached = addresses.some((address) => subnetOf(address, path).check(gateway, familyOf(gateway)))
  if (!reached) throw invalidField(`${path}.gateway`, `${gateway} lies in the subnet of no address of ${name}`)
}

function checkLowers(document: NetworkDocument, live: LiveNetwork, device: NetworkDevice, at: number): void {
  for (const lower of lowerNames(device)) {
    const listed = document.devices.find(({ name }) => name === lower)
    if (listed === undefined && !live.devices.some(({ name }) => name === lower))
      throw wrong(at, `the node has no device ${lower}`)
    if (device.members?.includes(lower) !== true) {
      if (listed?.mtu !== undefined && device.mtu !== undefined && device.mtu > listed.mtu)
        throw wrong(at, `${device.name} cannot have a larger MTU than ${lower}`)
      continue
    }
    const users = document.devices.filter(({ members = [] }) => members.includes(lower))
    if (users.length > 1) throw wrong(at, `${lower} can only be a member of one device`)
    if ((listed?.addresses ?? []).length > 0) throw wrong(at, `${lower} is a member and can have no addresses`)
  }
  const sorted = bottomUp(document)
  const above = sorted.findIndex(({ name }) => name === device.name)
  const circular = lowerNames(device).some((lower) => sorted.findIndex(({ name }) => name === lower) > above)
  if (circular || lowerNames(device).includes(device.name)) throw wrong(at, `${device.name} stands on itself`)
}

/** What exists is never made into something else: a bond that changes its mode would take its members down. */
function checkLive(ours: readonly NetworkDevice[], device: NetworkDevice, live: LiveNetwork, at: number): void {
  for (const member of device.members ?? []) {
    const master = live.devices.find(({ name }) => name === member)?.master ?? device.name
    // A member may move between devices of the documents alone.
    if (master !== device.name && !ours.some(({ name }) => name === master))
      throw new ApiError('DESIRED_CONFLICT', `${member} belongs to ${master}.`)
  }
  const now = live.devices.find(({ name }) => name === device.name)
  if (now === undefined && device.kind === 'physical') throw wrong(at, `the node has no device ${device.name}`)
  if (now === undefined) return
  const differs =
    kindOf(now) !== device.kind ||
    (device.kind === 'vlan' && (now.vlan_id !== device.vlan_id || now.link !== device.link)) ||
    (device.kind === 'bond' && device.mode !== undefined && now.bond_mode !== device.mode)
  if (differs) throw new ApiError('DESIRED_CONFLICT', `The node has a device ${device.name} that is something else.`)
}

/** Throws when something of others hangs on what would be removed. */
export function refuseGuests(document: NetworkDocument, previous: NetworkDocument | null, live: LiveNetwork): void {
  for (const { name, members = [] } of dropped(document, previous, live)) {
    const guest = live.devices.find((device) => device.master === name && !members.includes(device.name))
    if (guest !== undefined)
      throw new ApiError('DESIRED_CONFLICT', `${name} cannot be removed: ${guest.name} is attached to it.`)
    const user = live.devices.find(
      (device) => device.link === name && !previous?.devices.some((one) => one.name === device.name),
    )
    if (user !== undefined)
      throw new ApiError('DESIRED_CONFLICT', `${name} cannot be removed: ${user.name} stands on it; remove that first.`)
  }
}

function subnetOf(address: string, path: string): BlockList {
  const [ip = '', length = ''] = address.split('/')
  if (isIP(ip) === 0 || Number(length) > (isIP(ip) === 4 ? 32 : 128))
    throw invalidField(path, `${address} is no address with a prefix length`)
  const subnet = new BlockList()
  subnet.addSubnet(ip, Number(length), familyOf(ip))
  return subnet
}

function familyOf(ip: string): 'ipv4' | 'ipv6' {
  return isIP(ip) === 4 ? 'ipv4' : 'ipv6'
}

function wrong(at: number, message: string): ApiError {
  return invalidField(`document.devices.${at}`, message)
}
