// Turns the platform's virtual machine into ours. Runs for every row of every list: plain loops, no schema work, and fields
// read by name right here, which the engine does three times as fast as through a function that all lists share.
import type { VirtualMachine, VmNic } from '#src/contract/compute/virtual-machine.ts'
import { asFlag, asInteger, type Raw, rowsOf, asText, asTime } from '#src/drivers/cloudstack/fields.ts'

/** What `details` a list must ask for, so that every field below is filled and no statistics are computed. */
export const VM_DETAILS = 'min,nics,servoff,tmpl,iso'

export function vmOf(raw: Raw): VirtualMachine {
  const nics = nicsOf(raw)
  return {
    id: asText(raw.id) ?? '',
    name: asText(raw.name) ?? '',
    display_name: asText(raw.displayname),
    instance_name: asText(raw.instancename),
    state: asText(raw.state) ?? 'Unknown',
    tenant_id: asText(raw.domainid),
    tenant_name: asText(raw.domain),
    account: asText(raw.account),
    project_id: asText(raw.projectid),
    zone_id: asText(raw.zoneid),
    zone_name: asText(raw.zonename),
    host_id: asText(raw.hostid),
    host_name: asText(raw.hostname),
    template_id: asText(raw.templateid),
    template_name: asText(raw.templatename),
    iso_id: asText(raw.isoid),
    iso_name: asText(raw.isoname),
    service_offering_id: asText(raw.serviceofferingid),
    service_offering_name: asText(raw.serviceofferingname),
    cpu_cores: asInteger(raw.cpunumber),
    cpu_speed_mhz: asInteger(raw.cpuspeed),
    memory_mb: asInteger(raw.memory),
    gpu_count: asInteger(raw.gpucount),
    hypervisor: asText(raw.hypervisor),
    os_type_id: asText(raw.ostypeid),
    os_type_name: asText(raw.osdisplayname),
    group: asText(raw.group),
    ha_enabled: asFlag(raw.haenable),
    dynamically_scalable: asFlag(raw.isdynamicallyscalable),
    delete_protection: asFlag(raw.deleteprotection),
    ip_address: asText(raw.ipaddress) ?? defaultAddress(nics),
    public_ip_address: asText(raw.publicip),
    nics,
    pending_job_id: asInteger(raw.jobstatus) === 0 ? asText(raw.jobid) : null,
    created_at: asTime(raw.created),
    updated_at: asTime(raw.lastupdated),
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
    const text = asText(address.ipaddress)
    if (text !== null) secondary.push(text)
  }
  return {
    id: asText(raw.id) ?? '',
    network_id: asText(raw.networkid),
    network_name: asText(raw.networkname),
    ip_address: asText(raw.ipaddress),
    ipv6_address: asText(raw.ip6address),
    mac_address: asText(raw.macaddress),
    netmask: asText(raw.netmask),
    gateway: asText(raw.gateway),
    is_default: asFlag(raw.isdefault),
    secondary_ip_addresses: secondary,
  }
}

function defaultAddress(nics: readonly VmNic[]): string | null {
  for (const nic of nics) if (nic.is_default === true) return nic.ip_address
  return null
}
