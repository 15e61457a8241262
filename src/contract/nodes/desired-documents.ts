// The documents of the agent's desired-state areas: what a node should be, area by area. Every text of them ends up in a file or
// in an argument of a command, so each pattern excludes line breaks and whatever has a meaning there.
import { type Static, Type } from 'typebox'
import { Closed, IpAddress, OneOf } from '../common.ts'
import { BridgeSpec, DeviceName } from './agent-bridges.ts'

const Label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
const HostName = Type.String({ pattern: `^${Label}$`, description: 'One label, in lower case.' })
const DomainName = Type.String({ pattern: `^${Label}(?:\\.${Label})*$`, maxLength: 253 })
/** A name or an address. */
const HostAddress = Type.String({ pattern: '^[A-Za-z0-9.:-]{1,253}$' })
const Cidr = Type.String({ pattern: '^[0-9a-fA-F.:]{2,39}/\\d{1,3}$', description: 'Address with prefix length.' })
const Word = Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._+-]{0,127}$' })
const Line = Type.String({ pattern: '^[^\\u0000-\\u001f\\u007f]*$', maxLength: 1000 })
const AbsolutePath = Type.String({ pattern: '^(?:/(?!\\.{1,2}(?:/|$))[A-Za-z0-9._+-]+)+$', maxLength: 200 })
const PackageName = Type.String({ pattern: '^[a-z0-9][a-z0-9+.-]{1,127}$' })
const Secret = Type.String({ minLength: 1, maxLength: 500, pattern: '^[\\x21-\\x7e]+$' })
const Packages = Type.Array(PackageName, { maxItems: 100, uniqueItems: true })
const Mtu = Type.Integer({ minimum: 1280, maximum: 65_535 })

/** Fields that belong to one kind are refused with another; the agent says which. */
export const NetworkDevice = Closed({
  name: DeviceName,
  kind: OneOf(['physical', 'bond', 'vlan', 'bridge']),
  mtu: Type.Optional(Mtu),
  addresses: Type.Optional(Type.Array(Cidr, { maxItems: 32, uniqueItems: true })),
  gateway: Type.Optional(IpAddress),
  members: Type.Optional(
    Type.Array(DeviceName, { maxItems: 32, uniqueItems: true, description: 'Of a bond or a bridge.' }),
  ),
  mode: Type.Optional(
    OneOf(['balance-rr', 'active-backup', 'balance-xor', '802.3ad', 'balance-tlb', 'balance-alb'], {
      description: 'Of a bond; 802.3ad when left out.',
    }),
  ),
  lacp_rate: Type.Optional(OneOf(['slow', 'fast'])),
  xmit_hash_policy: Type.Optional(OneOf(['layer2', 'layer2+3', 'layer3+4', 'encap2+3', 'encap3+4'])),
  vlan_id: Type.Optional(Type.Integer({ minimum: 1, maximum: 4094 })),
  link: Type.Optional(DeviceName),
})
export type NetworkDevice = Static<typeof NetworkDevice>

export const NetworkDocument = Closed({ devices: Type.Array(NetworkDevice, { minItems: 1, maxItems: 100 }) })
export type NetworkDocument = Static<typeof NetworkDocument>

export const BaseDocument = Closed({
  hostname: HostName,
  fqdn: Type.Optional(DomainName),
  hosts: Type.Optional(
    Type.Array(Closed({ address: IpAddress, names: Type.Array(DomainName, { minItems: 1, maxItems: 20 }) }), {
      maxItems: 1000,
    }),
  ),
  time_zone: Type.Optional(Type.String({ pattern: '^[A-Z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+){0,2}$', maxLength: 64 })),
  time_servers: Type.Optional(Type.Array(HostAddress, { maxItems: 16, uniqueItems: true })),
  sysctl: Type.Optional(
    Type.Record(Type.String({ pattern: '^[a-z0-9_]+(?:[./][A-Za-z0-9_-]+)+$' }), Line, {
      maxProperties: 200,
      additionalProperties: false,
    }),
  ),
  repositories: Type.Optional(
    Type.Array(
      Closed({
        uri: Type.String({ pattern: '^https?://[A-Za-z0-9.:_~/%-]+$', maxLength: 500, description: 'Of the mirror.' }),
        suites: Type.Array(Type.String({ pattern: '^[A-Za-z0-9./_-]{1,64}$' }), { minItems: 1, maxItems: 10 }),
        components: Type.Array(Word, { minItems: 1, maxItems: 10 }),
        /** ASCII-armoured public key of the signer; without one the keys of the distribution count. */
        key: Type.Optional(
          Type.String({
            pattern: '^-----BEGIN PGP PUBLIC KEY BLOCK-----\\n[A-Za-z0-9+/=:. \\n-]+$',
            maxLength: 50_000,
          }),
        ),
      }),
      { maxItems: 20 },
    ),
  ),
})
export type BaseDocument = Static<typeof BaseDocument>

export const HypervisorDocument = Closed({
  packages: Packages,
  libvirt: Closed({
    listen_tls: Type.Optional(Type.Boolean()),
    listen_tcp: Type.Optional(Type.Boolean()),
    tcp_port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535 })),
    vnc_listen: Type.Optional(IpAddress),
  }),
})
export type HypervisorDocument = Static<typeof HypervisorDocument>

export const BridgesDocument = Closed({ bridges: Type.Array(BridgeSpec, { maxItems: 1000 }) })
export type BridgesDocument = Static<typeof BridgesDocument>

export const StorageDocument = Closed({
  packages: Type.Optional(Packages),
  fsid: Type.String({ pattern: '^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$' }),
  monitors: Type.Array(HostAddress, { minItems: 1, maxItems: 15, uniqueItems: true }),
  /** `client.` and this is the name of the key. */
  client: Word,
  key: Type.String({ pattern: '^[A-Za-z0-9+/]{16,200}={0,2}$' }),
})
export type StorageDocument = Static<typeof StorageDocument>

export const PlatformAgentDocument = Closed({
  packages: Packages,
  management_hosts: Type.Array(HostAddress, { minItems: 1, maxItems: 15, uniqueItems: true }),
  port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535 })),
  zone: Line,
  pod: Line,
  cluster: Line,
  guid: Type.String({ pattern: '^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$' }),
  private_device: DeviceName,
  public_device: DeviceName,
  guest_device: DeviceName,
  /** Further lines of agent.properties. */
  properties: Type.Optional(
    Type.Record(Type.String({ pattern: '^[a-z][A-Za-z0-9._-]{0,100}$' }), Line, {
      maxProperties: 100,
      additionalProperties: false,
    }),
  ),
})
export type PlatformAgentDocument = Static<typeof PlatformAgentDocument>

/** A leaf of the overlay fabric: it learns from route reflectors which node has which machine's address. */
export const FabricDocument = Closed({
  packages: Packages,
  as_number: Type.Integer({ minimum: 1, maximum: 4_294_967_295 }),
  /** Of this node: router id, and where its sessions begin. */
  address: Type.String({ format: 'ipv4' }),
  route_reflectors: Type.Array(Type.String({ format: 'ipv4' }), { minItems: 1, maxItems: 8, uniqueItems: true }),
})
export type FabricDocument = Static<typeof FabricDocument>

const Port = Type.Integer({ minimum: 1, maximum: 65_535 })

export const DatabaseDocument = Closed({
  /** Major version of the server, as Debian numbers its clusters. */
  version: Type.String({ pattern: '^\\d{2}$' }),
  cluster: Word,
  primary: Closed({ host: HostAddress, port: Port, user: Word, password: Secret }),
  slot: Type.String({ pattern: '^[a-z0-9_]{1,63}$' }),
  /** Of the primary: a copy of another one is refused. */
  system_identifier: Type.String({ pattern: '^\\d{10,20}$' }),
  /** Job that makes the standby; a folder with its mark may be emptied and copied again. */
  job_id: Type.String({ pattern: '^[\\w-]{1,64}$' }),
  data_dir: Type.Optional(AbsolutePath),
})
export type DatabaseDocument = Static<typeof DatabaseDocument>

export const ServicesDocument = Closed({
  /** Of this product: the node must run the same as the cluster. */
  version: Word,
  /** Text of the configuration of the control plane. */
  control_config: Type.String({ maxLength: 100_000, pattern: '^[^\\u0000]*$' }),
  /** Secrets of the control plane, read by its unit. */
  environment: Type.Record(Type.String({ pattern: '^[A-Z][A-Z0-9_]{0,63}$' }), Line, {
    maxProperties: 50,
    additionalProperties: false,
  }),
  /** Keys that encrypt what is secret in the database: all members have the same. */
  keys: Type.Optional(
    Closed({ path: AbsolutePath, text: Type.String({ minLength: 1, maxLength: 10_000, pattern: '^[^\\u0000]*$' }) }),
  ),
})
export type ServicesDocument = Static<typeof ServicesDocument>
