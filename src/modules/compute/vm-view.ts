// Turns the platform's virtual machine into ours. Runs for every row of every list: plain loops, no schema work.
import type { VirtualMachine, VmNic } from '#src/contract/compute/virtual-machine.ts'
import { flagOf, integerOf, type Raw, rowsOf, textOf, timeOf } from '#src/drivers/cloudstack/fields.ts'

/** What `details` a list must ask for, so that every field below is filled and no statistics are computed. */
export const VM_DETAILS = 'min,nics,servoff,tmpl,iso'

export function vmOf(raw: Raw): VirtualMachine {
  const nics = nicsOf(raw)
  return {
    id: textOf(raw, 'id') ?? '',
    name: textOf(raw, 'name') ?? '',
    display_name: textOf(raw, 'displayname'),
    instance_name: textOf(raw, 'instancename'),
    state: textOf(raw, 'state') ?? 'Unknown',
    tenant_id: textOf(raw, 'domainid'),
    tenant_name: textOf(raw, 'domain'),
    account: textOf(raw, 'account'),
    project_id: textOf(raw, 'projectid'),
    zone_id: textOf(raw, 'zoneid'),
    zone_name: textOf(raw, 'zonename'),
    host_id: textOf(raw, 'hostid'),
    host_name: textOf(raw, 'hostname'),
    template_id: textOf(raw, 'templateid'),
    template_name: textOf(raw, 'templatename'),
    iso_id: textOf(raw, 'isoid'),
    iso_name: textOf(raw, 'isoname'),
    service_offering_id: textOf(raw, 'serviceofferingid'),
    service_offering_name: textOf(raw, 'serviceofferingname'),
    cpu_cores: integerOf(raw, 'cpunumber'),
    cpu_speed_mhz: integerOf(raw, 'cpuspeed'),
    memory_mb: integerOf(raw, 'memory'),
    gpu_count: integerOf(raw, 'gpucount'),
    hypervisor: textOf(raw, 'hypervisor'),
    os_type_id: textOf(raw, 'ostypeid'),
    os_type_name: textOf(raw, 'osdisplayname'),
    group: textOf(raw, 'group'),
    ha_enabled: flagOf(raw, 'haenable'),
    dynamically_scalable: flagOf(raw, 'isdynamicallyscalable'),
    delete_protection: flagOf(raw, 'deleteprotection'),
    ip_address: textOf(raw, 'ipaddress') ?? defaultAddress(nics),
    public_ip_address: textOf(raw, 'publicip'),
    nics,
    pending_job_id: integerOf(raw, 'jobstatus') === 0 ? textOf(raw, 'jobid') : null,
    created_at: timeOf(raw, 'created'),
    updated_at: timeOf(raw, 'lastupdated'),
  }
}

function nicsOf(raw: Raw): VmNic[] {
  const nics: VmNic[] = []
  for (const nic of rowsOf(raw, 'nic')) nics.push(nicOf(nic))
  return nics
}

function nicOf(raw: Raw): VmNic {
  const secondary: string[] = []
  for (const address of rowsOf(raw, 'secondaryip')) {
    const text = textOf(address, 'ipaddress')
    if (text !== null) secondary.push(text)
  }
  return {
    id: textOf(raw, 'id') ?? '',
    network_id: textOf(raw, 'networkid'),
    network_name: textOf(raw, 'networkname'),
    ip_address: textOf(raw, 'ipaddress'),
    ipv6_address: textOf(raw, 'ip6address'),
    mac_address: textOf(raw, 'macaddress'),
    netmask: textOf(raw, 'netmask'),
    gateway: textOf(raw, 'gateway'),
    is_default: flagOf(raw, 'isdefault'),
    secondary_ip_addresses: secondary,
  }
}

function defaultAddress(nics: readonly VmNic[]): string | null {
  for (const nic of nics) if (nic.is_default === true) return nic.ip_address
  return null
}
