// Machines that are not tenants' own: virtual routers, system machines, and what could be imported (Part 3, 4.1).
import { Type } from 'typebox'
import {
  Closed,
  KnownText,
  ListOf,
  NullableFlag,
  NullableNumber,
  NullableText,
  OneOf,
  OptionalId,
  PageFields,
  Words,
} from '../common.ts'
import { defineArea } from '../route.ts'
import { VM_STATES } from './vm-can.ts'

const placed = {
  zone_id: NullableText(),
  zone_name: NullableText(),
  pod_id: NullableText(),
  host_id: NullableText('Host it runs on.'),
  host_name: NullableText(),
}

export const Router = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    state: KnownText(['Running', 'Stopped', 'Starting', 'Stopping', 'Error'], 'State of the life cycle.'),
    role: NullableText('VIRTUAL_ROUTER and the like.'),
    ...placed,
    tenant_id: NullableText('Tenant that it works for.'),
    tenant_name: NullableText(),
    account: NullableText(),
    project_id: NullableText(),
    public_ip: NullableText(),
    guest_ip: NullableText(),
    link_local_ip: NullableText(),
    guest_network_id: NullableText(),
    guest_network_name: NullableText(),
    vpc_id: NullableText(),
    version: NullableText(),
    requires_upgrade: NullableFlag('Whether its software is older than the platform’s.'),
    is_redundant: NullableFlag('Whether it is one of two.'),
    redundant_state: NullableText('PRIMARY, BACKUP or FAULT.'),
    health_checks_failed: NullableFlag('Whether a check of its services failed.'),
  },
  { title: 'Router' },
)

export const SystemVm = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    type: KnownText(['consoleproxy', 'secondarystoragevm'], 'What it is for.'),
    state: KnownText(['Running', 'Stopped', 'Starting', 'Stopping', 'Error'], 'State of the life cycle.'),
    agent_state: NullableText('Whether its agent is connected.'),
    ...placed,
    public_ip: NullableText(),
    private_ip: NullableText(),
    link_local_ip: NullableText(),
    active_viewer_sessions: NullableNumber('Open consoles.'),
    template_id: NullableText(),
    version: NullableText(),
  },
  { title: 'SystemVm' },
)

export const ImportCandidate = Type.Object(
  {
    name: Type.String(),
    cluster_id: NullableText(),
    cluster_name: NullableText(),
    host_id: NullableText(),
    host_name: NullableText(),
    power_state: NullableText('PowerOn or PowerOff.'),
    cpu_cores: NullableNumber('Virtual cores.'),
    memory_mb: NullableNumber('Memory in MiB.'),
    os_name: NullableText(),
    boot_mode: NullableText(),
    boot_type: NullableText(),
    disks: Type.Array(
      Type.Object({
        id: NullableText(),
        label: NullableText(),
        size_bytes: NullableNumber('Size of the disk.'),
        controller: NullableText(),
      }),
    ),
    nics: Type.Array(
      Type.Object({
        id: NullableText(),
        mac_address: NullableText(),
        adapter: NullableText(),
        network_name: NullableText(),
        vlan_id: NullableNumber('VLAN of the network.'),
        ip_addresses: Type.Array(Type.String()),
      }),
    ),
  },
  { title: 'ImportCandidate' },
)

const read = { method: 'POST', access: 'viewer', effect: 'read', errors: [400, 500] } as const
const places = { zone_id: OptionalId, host_id: OptionalId, pod_id: OptionalId }

export const vmInventory = defineArea({
  name: 'vm-inventory',
  description: 'Virtual routers, system machines, and machines that could be imported.',
  routes: {
    routerList: {
      ...read,
      path: '/compute/vms/routers',
      summary: 'List virtual routers',
      description: 'Every filter narrows.',
      body: Closed({
        ...places,
        cluster_id: OptionalId,
        state: Type.Optional(OneOf([...VM_STATES], { description: 'A state.' })),
        network_id: OptionalId,
        vpc_id: OptionalId,
        for_vpc: Type.Optional(Type.Boolean({ description: 'Only those of VPCs, or only others.' })),
        keyword: Words('Part of a name.'),
        ...PageFields,
      }),
      body_optional: true,
      ok: { 200: ListOf('routers', Router, 'RouterPage') },
      example: { body: { state: 'Running' }, answer: { routers: [], count: 0, page: 1, page_size: 50 } },
    },
    systemVmList: {
      ...read,
      path: '/compute/vms/systemvms',
      summary: 'List system virtual machines',
      description: 'Every filter narrows.',
      body: Closed({
        ...places,
        type: Type.Optional(OneOf(['consoleproxy', 'secondarystoragevm'], { description: 'What it is for.' })),
        state: Type.Optional(OneOf([...VM_STATES], { description: 'A state.' })),
        keyword: Words('Part of a name.'),
        ...PageFields,
      }),
      body_optional: true,
      ok: { 200: ListOf('system_vms', SystemVm, 'SystemVmPage') },
      example: { body: { type: 'consoleproxy' }, answer: { system_vms: [], count: 0, page: 1, page_size: 50 } },
    },
    importCandidateList: {
      ...read,
      // The platform signs in on an external host for it.
      access: 'operator',
      path: '/compute/vms/list-for-import',
      summary: 'List virtual machines available for import',
      description:
        'Give cluster_id for machines on hosts of the platform that it does not manage, or zone_id and host for machines of a KVM host elsewhere. Slow: the hosts are asked.',
      body: Closed({
        cluster_id: OptionalId,
        name: Words('Exact name; with cluster_id.'),
        zone_id: OptionalId,
        host: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 253,
            pattern: '^[A-Za-z0-9.:-]+$',
            description: 'Name or address of the external host.',
          }),
        ),
        username: Words('User of the external host.'),
        password: Type.Optional(
          Type.String({
            minLength: 1,
            maxLength: 255,
            writeOnly: true,
            description: 'Password of that user; not stored.',
          }),
        ),
        hypervisor: Type.Optional(OneOf(['KVM'], { description: 'Kind of the external host; KVM when left out.' })),
        keyword: Words('Part of a name.'),
        ...PageFields,
      }),
      ok: { 200: ListOf('import_candidates', ImportCandidate, 'ImportCandidatePage') },
      timeout_ms: 180_000,
      example: {
        body: { cluster_id: '4b3a2918-0f7e-4d6c-8b5a-493827160504' },
        answer: { import_candidates: [], count: 0, page: 1, page_size: 50 },
      },
    },
  },
})
