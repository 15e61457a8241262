// The part of Kea's configuration that this service reads and writes; every other member passes through untouched.
import { Compile } from 'typebox/compile'
import { type Static, Type } from 'typebox'
import { UpstreamError } from '#src/kernel/errors.ts'

export const KeaReservation = Type.Object({
  'hw-address': Type.Optional(Type.String()),
  'ip-address': Type.Optional(Type.String()),
  hostname: Type.Optional(Type.String()),
  'user-context': Type.Optional(Type.Record(Type.String(), Type.Unknown())),
})
export type KeaReservation = Static<typeof KeaReservation>

export const KeaSubnet = Type.Object({
  id: Type.Integer(),
  subnet: Type.String(),
  pools: Type.Optional(Type.Array(Type.Object({ pool: Type.String() }))),
  'option-data': Type.Optional(
    Type.Array(Type.Object({ name: Type.Optional(Type.String()), data: Type.Optional(Type.String()) })),
  ),
  reservations: Type.Optional(Type.Array(KeaReservation)),
  'valid-lifetime': Type.Optional(Type.Integer()),
  'min-valid-lifetime': Type.Optional(Type.Integer()),
  'max-valid-lifetime': Type.Optional(Type.Integer()),
  'client-class': Type.Optional(Type.String()),
  'user-context': Type.Optional(Type.Record(Type.String(), Type.Unknown())),
})
export type KeaSubnet = Static<typeof KeaSubnet>

export const Dhcp4 = Type.Object({
  subnet4: Type.Optional(Type.Array(KeaSubnet)),
  'shared-networks': Type.Optional(Type.Array(Type.Object({ subnet4: Type.Optional(Type.Array(KeaSubnet)) }))),
  'client-classes': Type.Optional(Type.Array(Type.Object({ name: Type.String(), test: Type.Optional(Type.String()) }))),
  'valid-lifetime': Type.Optional(Type.Integer()),
  'user-context': Type.Optional(Type.Record(Type.String(), Type.Unknown())),
})
export type Dhcp4 = Static<typeof Dhcp4>

const ConfigAnswer = Compile(Type.Object({ Dhcp4 }))

/** The object that config-get gave, so that what we do not know goes back as it came. */
export function dhcp4Of(answer: unknown): Dhcp4 {
  if (ConfigAnswer.Check(answer)) return answer.Dhcp4
  const detail = 'the configuration does not have the form of a DHCPv4 server'
  throw new UpstreamError({ upstream: 'DHCP', operation: 'config-get', failure: 'error', detail })
}

export function subnetsOf(dhcp4: Dhcp4): KeaSubnet[] {
  const shared = (dhcp4['shared-networks'] ?? []).flatMap((network) => network.subnet4 ?? [])
  return [...(dhcp4.subnet4 ?? []), ...shared]
}

export function removeSubnet(dhcp4: Dhcp4, id: number): void {
  for (const holder of [dhcp4, ...(dhcp4['shared-networks'] ?? [])]) {
    if (holder.subnet4 !== undefined) holder.subnet4 = holder.subnet4.filter((subnet) => subnet.id !== id)
  }
}

/** What config-get adds to every reservation; with ten thousands of them Kea would take twice as long to read them back. */
const RESERVATION_DEFAULTS: Readonly<Record<string, unknown>> = {
  'boot-file-name': '',
  'client-classes': [],
  'next-server': '0.0.0.0',
  'option-data': [],
  'server-hostname': '',
}

export function withoutDefaults(reservation: KeaReservation): KeaReservation {
  return Object.fromEntries(Object.entries(reservation).filter(([name, value]) => !isDefault(name, value)))
}

function isDefault(name: string, value: unknown): boolean {
  const usual = RESERVATION_DEFAULTS[name]
  return Array.isArray(usual) ? Array.isArray(value) && value.length === 0 : usual !== undefined && value === usual
}
