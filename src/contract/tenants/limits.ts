// How much a tenant may use (Part 3, 4.9): our names and units.
import { type Static, Type } from 'typebox'
import { Closed, Nullable } from '../common.ts'

export const LIMIT_FIELDS = {
  cpus: 'CPU cores.',
  instances: 'Virtual machines.',
  ips: 'Public addresses.',
  memory: 'Memory in MiB.',
  networks: 'Guest networks.',
  primary_storage: 'Volumes in GiB.',
  projects: 'Projects.',
  secondary_storage: 'Templates and snapshots in GiB.',
  snapshots: 'Snapshots.',
  templates: 'Templates.',
  volumes: 'Volumes.',
  vpcs: 'Virtual private clouds.',
} as const
export type LimitField = keyof typeof LIMIT_FIELDS

const MOST = 2_147_483_647

const shown = (field: LimitField) => Nullable(Type.Integer({ description: `${LIMIT_FIELDS[field]} -1: unlimited.` }))
const asked = (field: LimitField) =>
  Type.Optional(Type.Integer({ minimum: -1, maximum: MOST, description: `${LIMIT_FIELDS[field]} -1: unlimited.` }))

export const TenantLimits = Type.Object(
  {
    cpus: shown('cpus'),
    instances: shown('instances'),
    ips: shown('ips'),
    memory: shown('memory'),
    networks: shown('networks'),
    primary_storage: shown('primary_storage'),
    projects: shown('projects'),
    secondary_storage: shown('secondary_storage'),
    snapshots: shown('snapshots'),
    templates: shown('templates'),
    volumes: shown('volumes'),
    vpcs: shown('vpcs'),
  },
  { title: 'TenantLimits' },
)
export type TenantLimits = Static<typeof TenantLimits>

export const TenantLimitsChange = Closed(
  {
    cpus: asked('cpus'),
    instances: asked('instances'),
    ips: asked('ips'),
    memory: asked('memory'),
    networks: asked('networks'),
    primary_storage: asked('primary_storage'),
    projects: asked('projects'),
    secondary_storage: asked('secondary_storage'),
    snapshots: asked('snapshots'),
    templates: asked('templates'),
    volumes: asked('volumes'),
    vpcs: asked('vpcs'),
  },
  { title: 'TenantLimitsChange' },
)
