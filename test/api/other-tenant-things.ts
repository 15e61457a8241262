// Things of globex, one of every kind that a tenant-scoped caller of acme might name.
import assert from 'node:assert/strict'
import { wellKnown } from '../../lab/site.ts'
import type { Lab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'

export interface OtherTenant {
  tenant_id: string
  vm_id: string
  vm_name: string
  nic_id: string
  secondary_ip_id: string
  volume_id: string
  vm_snapshot_id: string
  snapshot_id: string
  affinity_group_id: string
  ssh_key_id: string
  user_data_id: string
  network_id: string
  ip_id: string
  rule_id: string
  firewall_rule_id: string
  load_balancer_id: string
  job_id: string
  event_id: string
  platform_event_id: string
  /** A running machine of acme itself. */
  own_vm_id: string
  zone_id: string
  template_id: string
  service_offering_id: string
  disk_offering_id: string
  iso_id: string
  /** Of globex alone. */
  private_template_id: string
  private_iso_id: string
  project_id: string
  backup_id: string
}

const GLOBEX = wellKnown.accounts.globex
const OWNER = { accountid: GLOBEX, projectid: null }
const id = (number: number): string => `7e57ab1e-0000-4000-8000-${String(number).padStart(12, '0')}`

function first<T>(rows: readonly T[]): T {
  const [row] = rows
  assert.ok(row !== undefined)
  return row
}

export async function otherTenantThings(lab: Lab): Promise<OtherTenant> {
  const { tables } = lab.platform.state
  const machineOf = (accountid: string) =>
    first(tables.vms.by('account', accountid).filter((vm) => vm.state === 'Running' && vm.projectid === null))
  const vm = machineOf(GLOBEX)
  const own = machineOf(wellKnown.accounts.acme)
  const acme_net = tables.networks.get(wellKnown.networks['acme-net'])
  assert.ok(acme_net !== null)
  const network = tables.networks.put({
    ...acme_net,
    id: id(1),
    name: 'globex-net',
    displaytext: 'globex-net',
    ...OWNER,
  })
  const nic = {
    ...first(vm.nics), id: id(2), networkid: network.id, ipaddress: '10.1.1.77', isdefault: false,
    secondaryips: [{ id: id(3), ipaddress: '10.1.1.78' }],
  } // biome-ignore format: one record
  tables.vms.put({ ...vm, nics: [...vm.nics, nic] })
  tables.vmsnapshots.put({
    id: id(4), name: 'globex-snap', displayname: 'globex-snap', description: null, state: 'Ready', type: 'Disk',
    virtualmachineid: vm.id, parentid: null, current: true, created: Date.now(), ...OWNER,
  }) // biome-ignore format: one record
  const volume = first(tables.volumes.by('account', GLOBEX))
  const snapshot = first([...tables.snapshots.values()])
  tables.snapshots.put({ ...snapshot, id: id(6), name: 'globex-copy', volumeid: volume.id, ...OWNER })
  const group = first([...tables.affinitygroups.values()])
  tables.affinitygroups.put({ ...group, id: id(7), name: 'globex-apart', ...OWNER })
  tables.userdata.put({ id: id(9), name: 'globex-data', userdata: 'I2Nsb3VkLWNvbmZpZwo=', ...OWNER })
  tables.sshkeypairs.put({ id: id(8), name: 'globex-key', publickey: 'ssh-ed25519 AAAA', fingerprint: '00', ...OWNER })
  const template = tables.templates.get(wellKnown.templates['Debian 12'])
  const iso = tables.templates.get(wellKnown.isos['debian-12-netinst'])
  const project = tables.projects.get(wellKnown.project)
  assert.ok(template !== null && iso !== null && project !== null)
  const unshared = { ispublic: false, isfeatured: false, ...OWNER }
  tables.templates.put({ ...template, id: id(10), name: 'globex-image', ...unshared })
  tables.templates.put({ ...iso, id: id(11), name: 'globex-iso', ...unshared })
  tables.backups.put({
    ...first([...tables.backups.values()]),
    id: id(12),
    name: 'globex-backup',
    virtualmachineid: vm.id,
    ...OWNER,
  })
  tables.projects.put({
    ...project,
    id: id(13),
    name: 'globex-project',
    domainid: wellKnown.domains.globex,
    accountid: GLOBEX,
  })
  const free = first(tables.addresses.filter((address) => address.state === 'Free'))
  const address = tables.addresses.put({
    ...free, state: 'Allocated', allocated: Date.now(), associatednetworkid: network.id, ...OWNER,
  }) // biome-ignore format: one record
  tables.rules.put({
    id: id(5), protocol: 'tcp', publicport: 80, publicendport: 80, privateport: 80, privateendport: 80,
    ipaddressid: address.id, virtualmachineid: vm.id, networkid: network.id, vmguestip: nic.ipaddress, cidrlist: [],
    state: 'Active', fordisplay: true, ...OWNER,
  }) // biome-ignore format: one record
  tables.firewallrules.put({
    id: id(11), protocol: 'tcp', startport: 80, endport: 80, icmptype: null, icmpcode: null, traffictype: 'Ingress',
    ipaddressid: address.id, networkid: network.id, cidrlist: ['0.0.0.0/0'], destcidrlist: [], state: 'Active', relatedruleid: null,
    ...OWNER,
  }) // biome-ignore format: one record
  tables.loadbalancers.put({
    id: id(10), name: 'globex-web', description: null, algorithm: 'roundrobin', protocol: 'tcp', publicport: 443, privateport: 443,
    ipaddressid: address.id, networkid: network.id, cidrlist: [], state: 'Active', virtualmachineids: [vm.id], ...OWNER,
  }) // biome-ignore format: one record
  const done = await finished(lab, vm.id)
  const event = first(tables.events.filter((one) => one.accountid === GLOBEX))
  return {
    tenant_id: wellKnown.domains.globex,
    vm_id: vm.id,
    vm_name: vm.name,
    nic_id: nic.id,
    secondary_ip_id: id(3),
    volume_id: volume.id,
    vm_snapshot_id: id(4),
    snapshot_id: id(6),
    affinity_group_id: id(7),
    ssh_key_id: id(8),
    user_data_id: id(9),
    network_id: network.id,
    ip_id: address.id,
    rule_id: id(5),
    firewall_rule_id: id(11),
    load_balancer_id: id(10),
    ...done,
    platform_event_id: event.id,
    own_vm_id: own.id,
    zone_id: wellKnown.zone,
    template_id: wellKnown.templates['Debian 12'],
    service_offering_id: wellKnown.service_offerings.small,
    disk_offering_id: wellKnown.disk_offerings['ssd-20'],
    iso_id: wellKnown.isos['debian-12-netinst'],
    private_template_id: id(10),
    private_iso_id: id(11),
    backup_id: id(12),
    project_id: id(13),
  }
}

/** A job of ours about globex's machine, ended, and its event. */
async function finished(lab: Lab, vm_id: string): Promise<{ job_id: string; event_id: string }> {
  const asked = await lab.call('POST', '/compute/vms/reboot', { virtual_machine_id: vm_id })
  assert.equal(asked.status, 200, asked.text)
  const { job_id } = asked.body
  await until('the reboot ends', async () => {
    lab.platform.step()
    return (await lab.call('GET', `/jobs/${job_id}`)).body.job_status === 'completed'
  })
  const { body } = await lab.call('POST', '/events/app-events', { page_size: 100 })
  const event = (body.app_events as { id: string; correlation_id: string }[]).find(
    (one) => one.correlation_id === job_id,
  )
  assert.ok(event !== undefined)
  return { job_id, event_id: event.id }
}
