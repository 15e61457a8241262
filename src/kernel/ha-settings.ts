// Settings of what the management nodes share: the group `ha` of the configuration, and the replication of their database.
import { Type } from 'typebox'

export const haSettings = {
  address: Type.Optional(
    Type.String({
      description:
        'Address of this management node on the cluster network: peers reach it there under mutual TLS, and its failover events carry it. Without one, failover is for this machine alone.',
    }),
  ),
  port: Type.Integer({
    default: 8444,
    minimum: 1,
    maximum: 65_535,
    description: 'Port that every management node listens on for its peers, at its address.',
  }),
  virtual_addresses: Type.Array(Type.String(), {
    default: [],
    description: 'Addresses that move between the management nodes, with their prefix length: 10.60.0.100/24.',
  }),
  virtual_router_id: Type.Integer({
    default: 51,
    minimum: 1,
    maximum: 255,
    description: 'Of the failover daemons, unique in their network.',
  }),
  check_ms: Type.Integer({
    default: 10_000,
    minimum: 100,
    description: 'How often it is checked who holds the virtual addresses, and what waits in the spool.',
  }),
  authorized_keys_file: Type.Optional(
    Type.String({
      description: 'Where the lines of the file-sync keys of peers stand; left out: ha/authorized_keys below data_dir.',
    }),
  ),
  scope_dir: Type.String({
    default: '/var/lib/groundplane/dhcp-scopes',
    pattern: '^/[A-Za-z0-9/._-]*$',
    description: 'The only folder that peers can write to with their file-sync keys.',
  }),
}

export const replicationSettings = Type.Optional(
  Type.Object(
    {
      username: Type.String({
        pattern: '^[A-Za-z0-9_-]{1,63}$',
        description: 'Superuser that standbys copy as; slots are made and standbys are promoted as it, too.',
      }),
      password: Type.String({ description: 'Its password.', 'x-secret': true, minLength: 1 }),
      port: Type.Integer({ default: 5432, minimum: 1, maximum: 65535, description: 'Of every server.' }),
      version: Type.String({ default: '15', pattern: '^\\d{2}$', description: 'Major version of PostgreSQL.' }),
      cluster: Type.String({
        default: 'main',
        pattern: '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$',
        description: 'Name of the cluster of Debian on every management node.',
      }),
    },
    {
      additionalProperties: false,
      description: 'The servers on the management nodes: one primary, and standbys that stream from it.',
    },
  ),
)
