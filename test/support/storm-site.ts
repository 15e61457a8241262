// The lines of a storm that are about everything beside machines: addresses and rules, tenants, the catalogue, GPUs, networks.
import assert from 'node:assert/strict'
import type { CloudStackLab } from '../../lab/cloudstack/server.ts'
import { seededId, wellKnown } from '../../lab/site.ts'
import type { Line, LineParts } from './storm-books.ts'

const network_id = wellKnown.networks['acme-net']
const PROVIDER = 'InternalLbVm'
const RANGE = { start_ip: '198.51.100.16', end_ip: '198.51.100.31', gateway: '198.51.100.1', netmask: '255.255.255.0' }

/** A range for a tenant, and room for a provider: there is one of a name in a physical network, and nothing removes it. */
export function prepareSite({ state }: CloudStackLab): void {
  const { vlans, providers: all, elements } = state.tables
  for (const provider of all.filter(({ name }) => name === PROVIDER)) {
    for (const element of elements.filter(({ nspid }) => nspid === provider.id)) elements.remove(element.id)
    all.remove(provider.id)
  }
  const range = vlans.get(wellKnown.public_range)
  assert.ok(range !== null)
  const { start_ip: startip, end_ip: endip, gateway, netmask } = RANGE
  vlans.put({
    ...range,
    id: seededId('vlan', 'storm'),
    startip,
    endip,
    gateway,
    netmask,
    vlan: 'vlan://199',
    domainid: null,
  })
}

export function siteLines(parts: LineParts): Line[] {
  return [
    () => addresses(parts),
    () => tenants(parts),
    () => images(parts),
    () => catalogue(parts),
    () => gpus(parts),
    () => providers(parts),
    () => networks(parts),
    () => archives(parts),
  ]
}

async function addresses(parts: LineParts): Promise<void> {
  const { platform, send } = parts
  const zone_id = wellKnown.zone
  const ip_id = await send('publicIpAcquire', { body: { zone_id, network_id }, makes: 'addresses' })
  const vm_id = machineOfAcme(platform)
  await rules(parts, ip_id, vm_id)
  await balancers(parts, ip_id, vm_id)
  const address = () => platform.state.tables.addresses.get(ip_id)
  const params = { ip_id }
  await send('publicIpAssociate', { params, body: { vm_id }, shows: () => address()?.virtualmachineid === vm_id })
  await send('publicIpDisassociate', { params, shows: () => address()?.isstaticnat === false })
  await send('publicIpRelease', { params, removes: ['addresses', ip_id] })
}

async function rules({ platform, send }: LineParts, public_ip_id: string, virtual_machine_id: string): Promise<void> {
  const firewall = await send('firewallRuleCreate', {
    body: { public_ip_id, protocol: 'tcp', start_port: 8000, end_port: 8010 },
    makes: 'firewallrules',
  })
  await send('firewallRuleDelete', { params: { id: firewall }, removes: ['firewallrules', firewall] })
  const egress = await send('firewallRuleCreate', {
    body: { network_id, protocol: 'tcp', start_port: 25, destination_cidrs: ['192.0.2.0/24'] },
    makes: 'firewallrules',
  })
  await send('firewallRuleDelete', { params: { id: egress }, removes: ['firewallrules', egress] })
  const id = await send('portForwardingCreate', {
    body: { protocol: 'tcp', public_ip_id, virtual_machine_id, public_port: 2200, private_port: 22 },
    makes: 'rules',
  })
  await send('portForwardingUpdate', {
    body: { id, private_port: 23 },
    shows: () => platform.state.tables.rules.get(id)?.privateport === 23,
  })
  await send('portForwardingDelete', { params: { id }, removes: ['rules', id] })
}

async function balancers({ platform, send, tag }: LineParts, public_ip_id: string, vm_id: string): Promise<void> {
  const id = await send('loadBalancerCreate', {
    body: { name: `lb-${tag}`, public_ip_id, public_port: 8443, private_port: 443, algorithm: 'roundrobin' },
    makes: 'loadbalancers',
  })
  const balancer = () => platform.state.tables.loadbalancers.get(id)
  await send('loadBalancerUpdate', {
    body: { id, algorithm: 'leastconn' },
    shows: () => balancer()?.algorithm === 'leastconn',
  })
  const has = () => balancer()?.virtualmachineids.includes(vm_id) === true
  await send('loadBalancerMachineAssign', { params: { id }, body: { virtual_machine_id: vm_id }, shows: has })
  await send('loadBalancerMachineRemove', { params: { id, virtual_machine_id: vm_id }, shows: () => !has() })
  await send('loadBalancerDelete', { params: { id }, removes: ['loadbalancers', id] })
}

async function tenants({ platform, send, tag }: LineParts): Promise<void> {
  const { tables } = platform.state
  const id = await send('tenantCreate', { body: { name: `storm-${tag}` }, makes: 'domains' })
  const params = { id }
  const limits = () => tables.limits.by('owner', id)
  await send('tenantLimitsSet', { params, body: { instances: 7 }, shows: () => limits().some(({ max }) => max === 7) })
  const range = seededId('vlan', 'storm')
  await send('tenantNetworkDedicate', {
    params,
    body: { zone_id: wellKnown.zone, ...RANGE },
    shows: () => tables.vlans.get(range)?.domainid === id,
  })
  const passwords = () =>
    tables.accounts
      .by('domain', id)
      .flatMap((one) => tables.users.by('account', one.id))
      .map((one) => one.password)
  const before = passwords().join(' ')
  await send('tenantAdminCredentialsReset', { params, shows: () => passwords().join(' ') !== before })
  const directories = () => tables.ldap.filter((one) => one['domainid'] === id).length
  const ldap = { hostname: `ldap-${tag}.example`, port: 636, base_dn: 'dc=x', group: 'cn=cloud,dc=x' }
  await send('tenantAuthSourceSet', {
    params,
    body: { auth_source: 'ldap', ldap },
    shows: () => directories() === 1 && tables.ldaplinks.has(id),
  })
  await send('tenantAuthSourceSet', { params, body: { auth_source: 'local' }, shows: () => directories() === 0 })
  const closed = () => tables.accounts.by('domain', id).every((one) => one.state !== 'enabled')
  await send('tenantStatusSet', { params, body: { is_active: false }, shows: closed })
  await send('tenantDelete', { params, confirm: `storm-${tag}`, removes: ['domains', id] })
  assert.equal(tables.accounts.by('domain', id).length, 0, 'a tenant leaves no account behind')
}

async function images({ platform, send, tag }: LineParts): Promise<void> {
  const zone_id = wellKnown.zone
  const os_type_id = seededId('ostype', 'Debian GNU/Linux 12 (64-bit)')
  for (const [kind, id_field, format] of [
    ['template', 'template_id', 'qcow2'],
    ['iso', 'iso_id', 'iso'],
  ] as const) {
    const name = `${kind}-${tag}`
    const url = `https://images.example.com/${name}.${format}`
    const id = await send(`${kind}Register`, { body: { name, url, zone_id, os_type_id }, makes: 'templates' })
    await send(`${kind}Update`, {
      body: { [id_field]: id, display_text: 'Second' },
      shows: () => platform.state.tables.templates.get(id)?.displaytext === 'Second',
    })
    await send(`${kind}Delete`, { body: { [id_field]: id }, removes: ['templates', id] })
  }
}

async function catalogue({ platform, send, tag }: LineParts): Promise<void> {
  const ssh_key_id = await send('sshKeyCreate', { body: { name: `key-${tag}` }, makes: 'sshkeypairs' })
  await send('sshKeyDelete', { body: { ssh_key_id }, removes: ['sshkeypairs', ssh_key_id] })
  const user_data = Buffer.from('#cloud-config\n').toString('base64')
  const user_data_id = await send('userDataCreate', { body: { name: `data-${tag}`, user_data }, makes: 'userdata' })
  await send('userDataDelete', { body: { user_data_id }, removes: ['userdata', user_data_id] })
  const id = await send('diskOfferingCreate', {
    body: { name: `offering-${tag}`, disk_size_gb: 7 },
    makes: 'diskofferings',
  })
  await send('diskOfferingUpdate', {
    body: { id, display_text: 'Second' },
    shows: () => platform.state.tables.diskofferings.get(id)?.displaytext === 'Second',
  })
}

async function gpus({ platform, send, tag }: LineParts): Promise<void> {
  const { state } = platform
  const { gpudevices } = state.tables
  const host_id = wellKnown.hosts['kvm-01']
  const device = gpudevices.by('host', host_id).find((one) => one.virtualmachineid === null)
  assert.ok(device !== undefined)
  const held = () => gpudevices.get(device.id)?.managedstate
  await send('gpuDeviceUnmanage', { body: { ids: [device.id] }, shows: () => held() === 'Unmanaged' })
  await send('gpuDeviceManage', { body: { ids: [device.id] }, shows: () => held() === 'Managed' })
  const card_id = wellKnown.gpu_cards['NVIDIA A16']
  await send('vgpuProfileCreate', { body: { name: `profile-${tag}`, card_id }, makes: 'vgpuprofiles' })
  const busaddress = `d8:00.${gpudevices.by('host', host_id).length % 8}`
  state.gpu_hardware.set(host_id, [
    {
      busaddress,
      gpudevicetype: 'PCI',
      gpucardid: card_id,
      vgpuprofileid: device.vgpuprofileid,
      parentbusaddress: null,
    },
  ])
  const found = () => gpudevices.by('host', host_id).filter((one) => one.busaddress === busaddress).length === 1
  await send('gpuDeviceDiscover', { body: { host_id }, shows: found })
}

async function providers({ platform, send }: LineParts): Promise<void> {
  const { tables } = platform.state
  const body = { physical_network_id: wellKnown.physical_network, name: PROVIDER }
  const id = await send('serviceProviderAdd', { body, makes: 'providers' })
  const params = { nsp_type: PROVIDER }
  const element = await send('serviceProviderElementCreate', { params, body: { nsp_id: id }, makes: 'elements' })
  await send('serviceProviderElementConfigure', {
    params,
    body: { id: element, enabled: true },
    shows: () => tables.elements.get(element)?.enabled === true,
  })
  await send('serviceProviderUpdate', {
    body: { id, state: 'Enabled' },
    shows: () => tables.providers.get(id)?.state === 'Enabled',
  })
}

async function networks({ platform, send, tag }: LineParts): Promise<void> {
  const display_text = `Storm ${tag}`
  await send('guestNetworkUpdate', {
    body: { id: network_id, display_text },
    shows: () => platform.state.tables.networks.get(network_id)?.displaytext === display_text,
  })
  await send('guestNetworkRestart', { params: { id: network_id }, body: {}, runs: 'restartNetwork' })
}

async function archives({ platform, send, tag }: LineParts): Promise<void> {
  const { alerts } = platform.state.tables
  const id = seededId('alert', tag)
  alerts.put({ id, type: 0, name: 'ALERT.MEMORY', description: tag, sent: 0, archived: false })
  await send('alertArchive', { body: { ids: [id] }, shows: () => alerts.get(id)?.archived === true })
}

function machineOfAcme({ state }: CloudStackLab): string {
  const { addresses: all, vms } = state.tables
  const taken = new Set(all.filter((one) => one.isstaticnat).map((one) => one.virtualmachineid))
  const [vm] = vms.filter(
    (one) => one.state === 'Running' && !taken.has(one.id) && one.nics.some((nic) => nic.networkid === network_id),
  )
  assert.ok(vm !== undefined, 'a machine without an address is left')
  return vm.id
}
