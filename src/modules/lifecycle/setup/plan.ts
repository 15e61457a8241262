// What a setup makes of its request: devices, bridges and documents of the agent. Pure, so that it is the same on every resume.
import type { NetworkDevice, NetworkDocument } from '#src/contract/nodes/desired-documents.ts'
import type { NetworkRole } from '#src/contract/nodes/lifecycle-setup.ts'
import type { Config } from '#src/kernel/config.ts'
import type { ResolvedNic, SetupInput, SetupState, WantedAddress } from './input.ts'

type Settings = Config['setup']

/** Where each role stands on the node. */
export interface RolePlace {
  role: NetworkRole
  device: string
  /** NIC or bond below it. */
  carrier: string
  /** Null: untagged. */
  vlan: number | null
}

export function bridgeOf(settings: Settings, role: NetworkRole): string {
  return settings[`${role}_bridge`]
}

/** The first VLAN of a role carries its bridge; further ones are for guest networks, which bring bridges of their own. */
export function placesOf(settings: Settings, nics: readonly ResolvedNic[]): RolePlace[] {
  return nics.flatMap(({ interface: carrier, untagged, tagged }) => [
    ...(untagged === null ? [] : [{ role: untagged, device: bridgeOf(settings, untagged), carrier, vlan: null }]),
    ...tagged.map(({ role, vlans: [vlan = null] }) => ({ role, device: bridgeOf(settings, role), carrier, vlan })),
  ])
}

/** Roles in which the node itself has an address. */
const ADDRESSED: ReadonlySet<NetworkRole> = new Set(['storage', 'tunnel', 'benchmark'])

export function wantsAddress({ role }: RolePlace): boolean {
  return ADDRESSED.has(role)
}

export type Mtus = Readonly<Partial<Record<NetworkRole, number>>>

export function mtuOf(settings: Settings, declared: Mtus, role: NetworkRole): number {
  return declared[role] ?? settings.default_mtu
}

/**
 * The devices of the node but those that management stands on: the setup comes in over them, so it leaves them as they are.
 * A carrier takes the largest MTU of the roles above it. Null: nothing is to be changed.
 */
export function networkDocument(
  settings: Settings,
  input: SetupInput,
  state: Pick<Partial<SetupState>, 'wanted' | 'addresses'>,
  declared: Mtus,
): NetworkDocument | null {
  const places = placesOf(settings, input.nics).filter(({ role }) => role !== 'management')
  const { bond } = input
  const devices: NetworkDevice[] = []
  for (const carrier of new Set(places.map((place) => place.carrier))) {
    const mtu = Math.max(
      ...places.filter((one) => one.carrier === carrier).map(({ role }) => mtuOf(settings, declared, role)),
    )
    if (bond?.name === carrier) {
      devices.push(...bond.members.map((name): NetworkDevice => ({ name, kind: 'physical', mtu })))
      devices.push({ name: carrier, kind: 'bond', mtu, members: [...bond.members] })
    } else if (!carriesManagement(settings, input, carrier)) {
      devices.push({ name: carrier, kind: carrier.startsWith('bond') ? 'bond' : 'physical', mtu })
    }
  }
  for (const { role, device, carrier, vlan } of places) {
    const mtu = mtuOf(settings, declared, role)
    const member = vlan === null ? carrier : `${carrier}.${vlan}`
    if (vlan !== null) devices.push({ name: member, kind: 'vlan', link: carrier, vlan_id: vlan, mtu })
    const addresses = cidrsOf(role, state)
    devices.push({
      name: device,
      kind: 'bridge',
      members: [member],
      mtu,
      ...(addresses.length === 0 ? {} : { addresses }),
    })
  }
  return devices.length === 0 ? null : { devices }
}

function carriesManagement(settings: Settings, { nics }: SetupInput, carrier: string): boolean {
  return placesOf(settings, nics).some((place) => place.role === 'management' && place.carrier === carrier)
}

function cidrsOf(role: NetworkRole, { wanted = [], addresses = [] }: Parameters<typeof networkDocument>[2]): string[] {
  return wanted.flatMap((want: WantedAddress) => {
    const given = addresses.find((one) => one.role === role)
    return want.role !== role || given === undefined ? [] : [`${given.address}/${want.prefix_length}`]
  })
}
