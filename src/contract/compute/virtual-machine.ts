// The virtual machine as callers see it: our names, null where the platform says nothing.
import { type Static, Type } from 'typebox'
import { KnownText, NullableFlag, NullableInteger, NullableText, NullableTime } from '../common.ts'
import { VM_STATES } from './vm-can.ts'

export const VmNic = Type.Object(
  {
    id: Type.String(),
    network_id: NullableText(),
    network_name: NullableText(),
    ip_address: NullableText('Primary IPv4 address.'),
    ipv6_address: NullableText(),
    mac_address: NullableText(),
    netmask: NullableText(),
    gateway: NullableText(),
    is_default: NullableFlag('Whether the default route leaves here.'),
    secondary_ip_addresses: Type.Array(Type.String()),
  },
  { title: 'VmNic' },
)
export type VmNic = Static<typeof VmNic>

const identity = {
  id: Type.String({ description: 'Opaque identifier, a UUID.' }),
  name: Type.String({ description: 'Host name; unique within a network domain only.' }),
}

export const VM_COLUMNS = [
  'name', 'state', 'tenant_name', 'host_name', 'ip_address', 'cpu_cores', 'memory_mb', 'created_at',
] as const // biome-ignore format: a list

export const VirtualMachine = Type.Object(
  {
    ...identity,
    display_name: NullableText('Name for people; free text.'),
    instance_name: NullableText('Name on the hypervisor.'),
    state: KnownText(VM_STATES, 'State of the life cycle.'),
    tenant_id: NullableText('Tenant that owns it.'),
    tenant_name: NullableText(),
    account: NullableText('Account within the tenant.'),
    project_id: NullableText(),
    zone_id: NullableText(),
    zone_name: NullableText(),
    host_id: NullableText('Host it runs on; null while it runs on none.'),
    host_name: NullableText(),
    template_id: NullableText(),
    template_name: NullableText(),
    iso_id: NullableText('Attached ISO image.'),
    iso_name: NullableText(),
    service_offering_id: NullableText(),
    service_offering_name: NullableText(),
    cpu_cores: NullableInteger('Virtual cores.'),
    cpu_speed_mhz: NullableInteger('Speed promised for each core.'),
    memory_mb: NullableInteger('Memory in MiB.'),
    gpu_count: NullableInteger('GPUs or vGPUs it has.'),
    hypervisor: NullableText(),
    os_type_id: NullableText(),
    os_type_name: NullableText(),
    group: NullableText('Free word that groups machines.'),
    ha_enabled: NullableFlag('Restarted elsewhere when its host fails.'),
    dynamically_scalable: NullableFlag('Its compute size may grow while it runs.'),
    delete_protection: NullableFlag('Refuses to be destroyed.'),
    ip_address: NullableText('Primary address of the default NIC.'),
    public_ip_address: NullableText('Public address by static NAT.'),
    nics: Type.Array(VmNic),
    pending_job_id: NullableText('Job that is changing it now.'),
    created_at: NullableTime,
    updated_at: NullableTime,
  },
  { title: 'VirtualMachine' },
)
export type VirtualMachine = Static<typeof VirtualMachine>

export const VmRef = Type.Object(identity, { title: 'VmRef' })

export const ProvisionedVm = Type.Object(
  {
    ...VirtualMachine.properties,
    initial_password: NullableText('Password of a template that sets one at first boot. Shown in this answer alone.'),
  },
  { title: 'ProvisionedVm' },
)

export const vmExample: VirtualMachine = {
  id: '6a1f2c9e-0d4b-4d8a-9b52-5d9a7c1e0041', name: 'web-41', display_name: 'Web server 41', instance_name: 'i-2-41-VM',
  state: 'Running', tenant_id: '2d0c7c52-8e0e-4b1f-9d3f-0a4f5a0c1d10', tenant_name: 'acme', account: 'acme', project_id: null,
  zone_id: '1b0f6f0e-54d1-4d2e-8a60-2f1d6b7c0001', zone_name: 'Frankfurt-1', host_id: '7c5e9d80-6a43-4b9e-8f0e-3a2b1c0d0001',
  host_name: 'node-01', template_id: '9e8d7c6b-5a49-4838-8726-150403020100', template_name: 'Debian 12', iso_id: null, iso_name: null,
  service_offering_id: '3f2e1d0c-9b8a-4796-8584-736251400000', service_offering_name: 'small', cpu_cores: 2, cpu_speed_mhz: 2000,
  memory_mb: 4096, gpu_count: null, hypervisor: 'KVM', os_type_id: null, os_type_name: 'Debian GNU/Linux 12 (64-bit)', group: null,
  ha_enabled: true, dynamically_scalable: false, delete_protection: false, ip_address: '10.1.1.41', public_ip_address: null,
  nics: [
    {
      id: '0c1b2a39-4857-4665-8473-829100000041', network_id: '5d4c3b2a-1908-4f7e-8d6c-5b4a39281706', network_name: 'acme-web',
      ip_address: '10.1.1.41', ipv6_address: null, mac_address: '02:00:4c:9f:00:29', netmask: '255.255.255.0', gateway: '10.1.1.1',
      is_default: true, secondary_ip_addresses: [],
    },
  ],
  pending_job_id: null, created_at: '2026-11-20T03:12:45.000Z', updated_at: '2026-11-20T03:12:58.000Z',
} // biome-ignore format: one record
