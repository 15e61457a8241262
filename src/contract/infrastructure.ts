// What a person needs to know before provisioning: zones, clusters, hosts, templates, service offerings (extensions).
import { Type } from 'typebox'
import { Id, KnownText, ListOf, NullableFlag, NullableNumber, NullableText, PageFields } from './common.ts'
import { Template } from './compute/images.ts'
import { defineArea } from './route.ts'

const named = { id: Type.String(), name: Type.String() }

export const Zone = Type.Object(
  {
    ...named,
    network_type: NullableText('Basic or Advanced.'),
    allocation_state: NullableText('Enabled or Disabled.'),
    security_groups_enabled: NullableFlag('Whether networks use security groups.'),
    local_storage_enabled: NullableFlag('Whether disks may be on a host.'),
    type: NullableText('Core or Edge.'),
    gpus_total: NullableNumber('GPUs in the zone.'),
    gpus_used: NullableNumber('GPUs in use.'),
  },
  { title: 'Zone' },
)

export const Cluster = Type.Object(
  {
    ...named,
    zone_id: NullableText(),
    zone_name: NullableText(),
    pod_id: NullableText(),
    pod_name: NullableText(),
    hypervisor: NullableText(),
    allocation_state: NullableText('Enabled or Disabled.'),
    managed_state: NullableText(),
    cpu_overcommit_ratio: NullableNumber('How often CPU is promised.'),
    memory_overcommit_ratio: NullableNumber('How often memory is promised.'),
  },
  { title: 'Cluster' },
)

export const Host = Type.Object(
  {
    ...named,
    ip_address: NullableText(),
    state: KnownText(['Up', 'Down', 'Disconnected', 'Alert', 'Connecting', 'Removed', 'Error'], 'Whether it answers.'),
    resource_state: NullableText('Enabled, Disabled, Maintenance, …'),
    zone_id: NullableText(),
    pod_id: NullableText(),
    cluster_id: NullableText(),
    cluster_name: NullableText(),
    hypervisor: NullableText(),
    cpu_cores: NullableNumber('Cores of the host.'),
    cpu_speed_mhz: NullableNumber('Speed of a core.'),
    memory_total_bytes: NullableNumber('Memory of the host.'),
    memory_allocated_bytes: NullableNumber('Memory promised to machines.'),
    gpus_total: NullableNumber('GPUs of the host.'),
    gpus_used: NullableNumber('GPUs in use.'),
    uefi_capable: NullableFlag('Whether machines can start with UEFI.'),
    tags: Type.Array(Type.String()),
  },
  { title: 'Host' },
)

export const OsType = Type.Object(
  { ...named, category: NullableText('Family of operating systems.') },
  { title: 'OsType' },
)

export const ServiceOffering = Type.Object(
  {
    ...named,
    display_text: NullableText(),
    state: NullableText('Active or Inactive.'),
    cpu_cores: NullableNumber('Cores; null when the machine chooses.'),
    cpu_speed_mhz: NullableNumber('Speed of a core; null when the machine chooses.'),
    memory_mb: NullableNumber('Memory in MiB; null when the machine chooses.'),
    is_custom: NullableFlag('Whether the machine chooses cores and memory.'),
    min_cpu_cores: NullableNumber('Least cores of a custom offering.'),
    max_cpu_cores: NullableNumber('Most cores of a custom offering.'),
    min_memory_mb: NullableNumber('Least memory of a custom offering.'),
    max_memory_mb: NullableNumber('Most memory of a custom offering.'),
    ha_offered: NullableFlag('Whether machines restart elsewhere when a host fails.'),
    dynamic_scaling_enabled: NullableFlag('Whether running machines may grow.'),
    gpu_count: NullableNumber('GPUs a machine gets.'),
    gpu_card_name: NullableText(),
    vgpu_profile_name: NullableText(),
    host_tags: Type.Array(Type.String()),
    zone_id: NullableText('Zones it is limited to, with commas; null for all.'),
  },
  { title: 'ServiceOffering' },
)

const common = { method: 'GET', access: 'viewer', extension: true, errors: [400, 500], example: {} } as const
const keyword = Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: 'Part of a name.' }))
const zone_id = Type.Optional(Id)

export const infrastructure = defineArea({
  name: 'infrastructure',
  description: 'Zones, clusters, hosts, templates and offerings of the compute platform.',
  routes: {
    zoneList: {
      ...common,
      path: '/infrastructure/zones',
      summary: 'List zones',
      tenant: 'own',
      query: Type.Object({ keyword, ...PageFields }),
      ok: { 200: ListOf('zones', Zone, 'ZonePage') },
    },
    clusterList: {
      ...common,
      path: '/infrastructure/clusters',
      summary: 'List clusters',
      query: Type.Object({ keyword, zone_id, ...PageFields }),
      ok: { 200: ListOf('clusters', Cluster, 'ClusterPage') },
    },
    hostList: {
      ...common,
      path: '/infrastructure/hosts',
      summary: 'List hosts',
      query: Type.Object({ keyword, zone_id, cluster_id: Type.Optional(Id), ...PageFields }),
      ok: { 200: ListOf('hosts', Host, 'HostPage') },
    },
    templateList: {
      ...common,
      path: '/catalog/templates',
      summary: 'List templates',
      description: 'One row a zone; those that are downloaded still, or could not be, say so.',
      tenant: 'own',
      query: Type.Object({ keyword, zone_id, ...PageFields }),
      ok: { 200: ListOf('templates', Template, 'TemplatePage') },
    },
    osTypeList: {
      ...common,
      path: '/catalog/ostypes',
      summary: 'List operating system types',
      description: 'What templates, ISO images and machines say of their operating system.',
      tenant: 'own',
      query: Type.Object({ keyword, ...PageFields }),
      ok: { 200: ListOf('os_types', OsType, 'OsTypePage') },
    },
    serviceOfferingList: {
      ...common,
      path: '/catalog/serviceofferings',
      summary: 'List service offerings',
      tenant: 'own',
      query: Type.Object({ keyword, zone_id, ...PageFields }),
      ok: { 200: ListOf('service_offerings', ServiceOffering, 'ServiceOfferingPage') },
    },
  },
})
