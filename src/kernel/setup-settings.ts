// Settings of node setups: the group `setup` of the configuration.
import { Type } from 'typebox'

const Packages = (names: string[], description: string) => Type.Array(Type.String(), { default: names, description })
const Bridge = (name: string) =>
  Type.String({
    default: name,
    pattern: '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,14}$',
    description: 'Bridge that carries the role.',
  })

export const setupSettings = {
  parallel: Type.Integer({
    default: 4,
    minimum: 1,
    maximum: 100,
    description: 'Setups that run at once; others wait.',
  }),
  cluster: Type.Optional(
    Type.String({ description: 'Name of the cluster that new hosts join; needed where the zone has several.' }),
  ),
  platform_hosts: Type.Array(Type.String(), {
    default: [],
    description: 'Management servers that the agents of the platform connect to; the host of compute.url when empty.',
  }),
  host_username: Type.String({ default: 'root', description: 'As whom the platform signs in to a new host.' }),
  host_password: Type.Optional(
    Type.String({
      minLength: 1,
      'x-secret': true,
      description: 'Its password; left out where the host knows the SSH key of the platform.',
    }),
  ),
  hypervisor_packages: Packages(
    ['qemu-system-x86', 'libvirt-daemon-system', 'libvirt-clients'],
    'Packages of a hypervisor.',
  ),
  storage_packages: Packages(['ceph-common'], 'Packages of a client of the distributed store.'),
  fabric: Type.Optional(
    Type.Object(
      {
        as_number: Type.Integer({
          minimum: 1,
          maximum: 4_294_967_295,
          description: 'Number of the autonomous system.',
        }),
        route_reflectors: Type.Array(Type.String({ format: 'ipv4' }), {
          minItems: 1,
          maxItems: 8,
          description: 'Their addresses; each must let nodes of these networks connect (in FRR: bgp listen range).',
        }),
        packages: Packages(['frr'], 'Packages of the routing daemons.'),
      },
      {
        additionalProperties: false,
        description: 'The overlay fabric (BGP EVPN) that new hypervisors join; without it none is configured.',
      },
    ),
  ),
  platform_packages: Packages(['cloudstack-agent'], 'Packages of the platform’s agent.'),
  repositories: Type.Array(
    Type.Object(
      {
        uri: Type.String({ description: 'Of the mirror.' }),
        suites: Type.Array(Type.String(), { minItems: 1 }),
        components: Type.Array(Type.String(), { minItems: 1 }),
        key: Type.Optional(Type.String({ description: 'ASCII-armoured public key of the signer.' })),
      },
      { additionalProperties: false },
    ),
    { default: [], description: 'Package mirrors of nodes; those of the installed system when empty.' },
  ),
  time_zone: Type.String({ default: 'UTC', description: 'Of nodes, such as Europe/Berlin.' }),
  time_servers: Type.Array(Type.String(), { default: [], description: 'Of nodes; unchanged when empty.' }),
  default_mtu: Type.Integer({
    default: 1500,
    minimum: 1280,
    maximum: 65_535,
    description: 'MTU of roles for which none is declared.',
  }),
  management_bridge: Bridge('cloudbr0'),
  public_bridge: Bridge('cloudbr1'),
  storage_bridge: Bridge('cloudbr2'),
  guest_bridge: Bridge('cloudbr3'),
  tunnel_bridge: Bridge('cloudbr4'),
  benchmark_bridge: Bridge('cloudbr5'),
}
