// Texts of the platform's source that no recording holds, and answers that contradict what it did: what the caller reads names
// the thing and the value, and says what to do.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { wellKnown } from '../../lab/site.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'
import { NOBODY, vmApi } from '../support/vm-api.ts'

let lab: Lab
before(async () => {
  lab = await startLab({ time: 'step', addresses: true })
})
after(() => lab.close())
const api = vmApi(() => lab)
const tables = () => lab.platform.state.tables

const { vms, networks, templates, domains, accounts, service_offerings, zone: zone_id } = wellKnown
const web = vms['web-01']
const template_id = templates['Debian 12']
const network_id = networks['acme-net']
const machine = { name: 'new-01', zone_id, template_id, service_offering_id: service_offerings.small }

function must<T>(value: T | null | undefined): T {
  assert.ok(value !== null && value !== undefined)
  return value
}

const nicOf = (vm_id: string) => must(must(tables().vms.get(vm_id)).nics[0]).id
const freeVolume = NOBODY.replace('4000', '4b01')
const otherOffering = wellKnown.network_offerings['vpc-tier']

const image = () => ({
  name: 'alpine',
  url: 'http://images.example/alpine.qcow2',
  os_type_id: must([...tables().ostypes.values()][0]).id,
  zone_id,
})
const offering = { name: 'fast', display_text: 'Fast', disk_size_gb: 5 }

interface Rejection {
  text: string
  command: string
  at: 'submit' | 'job'
  order: () => [method: string, path: string, body: object]
  code: string
  says: () => string
}

const REJECTIONS: readonly Rejection[] = [
  {
    text: `Unable to use template ${template_id}`,
    command: 'deployVirtualMachine',
    at: 'submit',
    order: () => ['POST', '/compute/vms/provision', machine],
    code: 'COMPUTE_REJECTED',
    says: () =>
      `Template ${template_id} is not ready in this zone; wait until its download has ended, or choose another one.`,
  },
  {
    text: 'Invalid CPU speed value, specify a value between 1 and 2147483647',
    command: 'deployVirtualMachine',
    at: 'submit',
    order: () => ['POST', '/compute/vms/provision', machine],
    code: 'COMPUTE_REJECTED',
    says: () => '`cpu_speed_mhz` must be between 1 and 2147483647.',
  },
  {
    text: 'Please specify a VM that is in the same zone as the volume.',
    command: 'attachVolume',
    at: 'submit',
    order: () => ['POST', '/compute/vms/attach-disk', { volume_id: freeVolume, virtual_machine_id: web }],
    code: 'VOLUME_ZONE',
    says: () => `The volume ${freeVolume} and the virtual machine ${web} are in different zones.`,
  },
  {
    text: 'Maximum Number of IPs per NIC has been crossed.',
    command: 'addIpToNic',
    at: 'job',
    order: () => ['POST', '/compute/vms/nic/ip/add', { nic_id: nicOf(web) }],
    code: 'COMPUTE_REJECTED',
    says: () => `The NIC ${nicOf(web)} has as many addresses as it may have; remove one first.`,
  },
  {
    text: 'Unable to reboot a VM due to concurrent operation',
    command: 'rebootVirtualMachine',
    at: 'job',
    order: () => ['POST', '/compute/vms/reboot', { virtual_machine_id: web }],
    code: 'COMPUTE_CONFLICT',
    says: () => `Another operation on virtual machine ${web} is under way; repeat this when it has ended.`,
  },
  {
    text: `Vm with id ${web} is not in the right state`,
    command: 'rebootVirtualMachine',
    at: 'job',
    order: () => ['POST', '/compute/vms/reboot', { virtual_machine_id: web }],
    code: 'VM_STATE',
    says: () =>
      `The state of virtual machine ${web} does not allow this; read it and wait, or bring it into another state.`,
  },
  {
    text: "Guest VM CIDR can't be specified for zone with Basic networking",
    command: 'updateNetwork',
    at: 'job',
    order: () => ['PUT', '/network/guest-networks', { id: network_id, guest_vm_cidr: '10.10.0.0/24' }],
    code: 'COMPUTE_REJECTED',
    says: () =>
      `The network ${network_id} is in a zone with Basic networking, which has no \`guest_vm_cidr\`; leave out 10.10.0.0/24.`,
  },
  {
    text: 'The new offering:vpc-tier will remove the following services [Vpn, Lb]along with all the related configuration currently in use. will not proceed with the network update.set forced parameter to true for forcing an update.',
    command: 'updateNetwork',
    at: 'submit',
    order: () => ['PUT', '/network/guest-networks', { id: network_id, network_offering_id: otherOffering }],
    code: 'COMPUTE_REJECTED',
    says: () =>
      `The network offering ${otherOffering} takes services away that network ${network_id} uses: Vpn, Lb; give \`forced\` true to go on nevertheless.`,
  },
  {
    text: 'No enum constant com.cloud.storage.Storage.ImageFormat.QCOW9',
    command: 'registerTemplate',
    at: 'submit',
    order: () => ['POST', '/catalog/templates/register', image()],
    code: 'COMPUTE_REJECTED',
    says: () => 'QCOW9 is not one of the values that are allowed.',
  },
]
for (const { text, command, at, order, code, says } of REJECTIONS) {
  test(`"${text.slice(0, 60)}" of the platform is 400 ${code}, with the thing and the value`, async () => {
    const [volume] = tables().volumes.filter((one) => one.virtualmachineid !== null)
    tables().volumes.put({ ...must(volume), id: freeVolume, type: 'DATADISK', virtualmachineid: null, deviceid: null })
    await api.control('fail', { command, at, times: 1, code: 431, text })
    const reply = await api.done(...order())
    assert.deepEqual([reply.status, reply.body.code, reply.body.detail], [400, code, says()], reply.text)
  })
}

test('a machine whose service offering is gone is scaled with a named offering alone', async () => {
  const { serviceofferingid } = must(tables().vms.get(vms.gitlab))
  const offering = must(tables().serviceofferings.get(serviceofferingid))
  tables().serviceofferings.remove(serviceofferingid)
  const reply = await api.post('/compute/vms/scale', { virtual_machine_id: vms.gitlab, cpu_cores: 8 })
  tables().serviceofferings.put(offering)
  api.refused(
    reply,
    'SCALE_REFUSED',
    new RegExp(`Service offering ${serviceofferingid} of the virtual machine is gone`),
  )
  assert.equal((await api.calls('scaleVirtualMachine')).length, 0)
})

test('settings beside a detail whose name cannot be sent are not written, and the detail is named', async () => {
  await api.put('vms', vms['legacy-crm'], { details: { 'note[1]': 'x' } })
  const order = { virtual_machine_id: vms['legacy-crm'], boot_type: 'UEFI', secure_boot: false }
  const reply = await api.post('/compute/vms/configure-tpm', order)
  api.refused(reply, 'SETTING_FORBIDDEN', /The detail note\[1\] cannot be carried over; nothing was written/)
  assert.equal((await api.calls('updateVirtualMachine')).length, 0)
})

test('an address goes to no tenant whose accounts are all disabled', async () => {
  await api.put('accounts', accounts.globex, { state: 'disabled' })
  const reply = await api.post('/ddi/public-ips', { zone_id, domain_id: domains.globex })
  api.refused(reply, 'RESOURCE_NOT_FOUND', new RegExp(`Tenant ${domains.globex} has no enabled account .*activate it`))
  assert.equal((await api.calls('associateIpAddress')).length, 0)
})

test('an owner without an isolated network, or with several, has to name one, and the candidates are listed', async () => {
  const none = await api.post('/ddi/public-ips', { zone_id, domain_id: domains.globex })
  api.refused(none, 'INVALID_REQUEST', /the owner has no isolated network in the zone/)
  const net = must(tables().networks.get(network_id))
  const second = NOBODY.replace('4000', '4a02')
  tables().networks.put({ ...net, id: second, name: 'acme-second' })
  const several = await api.post('/ddi/public-ips', { zone_id, domain_id: domains.acme })
  api.refused(
    several,
    'INVALID_REQUEST',
    new RegExp(`the owner has 2 isolated networks: .*acme-second \\(${second}\\)`),
  )
  assert.equal((await api.calls('associateIpAddress')).length, 0)
})

/** An address of acme's network that leads nowhere. */
async function address(): Promise<string> {
  const reply = await api.done('POST', '/ddi/public-ips', { zone_id, network_id })
  assert.equal(reply.status, 200, reply.text)
  return reply.body.data.id
}

test('an address with rules, and a guest address of another machine, are refused before static NAT is set', async () => {
  const id = await address()
  const elsewhere = await api.post(`/ddi/public-ips/${id}/associate`, { vm_id: web, vm_guest_ip: '10.99.0.9' })
  api.refused(elsewhere, 'INVALID_REQUEST', /body\.vm_guest_ip.*is no address of web-01 in this network/)
  const order = { public_ip_id: id, public_port: 8443, private_port: 443, protocol: 'tcp', virtual_machine_id: web }
  const rule = await api.done('POST', '/network/port-forwarding', order)
  assert.equal(rule.status, 201, rule.text)
  const ruled = await api.post(`/ddi/public-ips/${id}/associate`, { vm_id: web })
  api.refused(ruled, 'PUBLIC_IP_STATE', /has forwarding or firewall rules; remove them first/)
  assert.equal((await api.calls('enableStaticNat')).length, 0)
})

test('a name that an address does not have is not deleted, and address and zone are named', async () => {
  const id = await address()
  const { ip_address } = (await lab.call('GET', `/ddi/public-ips/${id}`)).body.data
  const gone = await lab.call('PUT', `/ddi/public-ips/${id}/dns`, { action: 'delete', dns_zone: 'lab.example' })
  assert.deepEqual(
    [gone.status, gone.body.code, gone.body.message],
    [400, 'RESOURCE_NOT_FOUND', `Address ${ip_address} has no record in zone lab.example.`],
    gone.text,
  )
})

test('a domain that the platform has by then, though no list showed it, is 409 TENANT_EXISTS by its name', async () => {
  const text = 'Domain with name initech already exists for the parent id=1'
  await api.control('fail', { command: 'createDomain', at: 'submit', times: 1, code: 431, text })
  const reply = await api.done('POST', '/admin/tenants', { name: 'initech' })
  assert.deepEqual([reply.status, reply.body.code], [409, 'TENANT_EXISTS'], reply.text)
  assert.equal(reply.body.detail, 'A domain named initech exists.')
  assert.equal((await api.calls('createAccount')).length, 0)
})

test('a range that the platform only pretends to dedicate is 500 with both its ends', async () => {
  const { addresses, vlans } = tables()
  const used = addresses.filter((one) => one.vlanid === wellKnown.public_range && one.state !== 'Free')
  for (const one of used) addresses.put({ ...one, state: 'Free' })
  const { startip, endip, gateway, netmask } = must(vlans.get(wellKnown.public_range))
  await known(domains.globex)
  await api.control('pretend', { command: 'dedicatePublicIpRange', times: 1 })
  const order = { zone_id, start_ip: startip, end_ip: endip, gateway, netmask }
  const reply = await api.post(`/admin/tenants/${domains.globex}/network`, order)
  assert.deepEqual([reply.status, reply.body.code], [500, 'CHANGE_NOT_SEEN'], reply.text)
  const says = `The compute platform took the range ${startip} to ${endip}, but does not show it as dedicated.`
  assert.equal(reply.body.detail, says)
})

const known = (id: string) =>
  until(`tenant ${id} is known`, async () => (await lab.call('GET', `/admin/tenants/${id}`)).status === 200)

test('ranges are not dedicated in a zone with Basic networking', async () => {
  await api.put('zones', zone_id, { networktype: 'Basic' })
  await lab.restart()
  await known(domains.acme)
  const range = {
    zone_id,
    start_ip: '198.51.100.16',
    end_ip: '198.51.100.20',
    gateway: '198.51.100.1',
    netmask: '255.255.255.0',
  }
  const reply = await api.post(`/admin/tenants/${domains.acme}/network`, range)
  api.refused(reply, 'INVALID_REQUEST', new RegExp(`${zone_id} is a zone whose networking has no public ranges`))
})

test('a guest network of nodes is refused while no hypervisor has an agent', async () => {
  const order = {
    name: 'office-1', zone_id, network_offering_id: wellKnown.network_offerings.l2, kind: 'vlan', segment_id: 1, nic: 'bond0',
  } // biome-ignore format: one record
  const reply = await api.post('/network/guest-networks', order)
  assert.deepEqual([reply.status, reply.body.code], [400, 'NODES_UNREACHABLE'], reply.text)
  assert.match(reply.body.detail, /No agent has enrolled from any hypervisor node.*groundplane node enrol/)
})

for (const [thing, command, path, order] of [
  ['disk offering', 'createDiskOffering', '/catalog/serviceofferings/diskoffering/create', () => offering],
  ['template', 'registerTemplate', '/catalog/templates/register', image],
  ['SSH key', 'registerSSHKeyPair', '/compute/ssh-keys/create', () => ({ name: 'deploy' })],
  ['user data', 'registerUserData', '/compute/user-data/create', () => ({ name: 'first-boot', user_data: 'IyEK' })],
] as const) {
  test(`without saying which ${thing} it made the platform is not believed, and no other one is taken for it`, async () => {
    await api.control('pretend', { command, times: 1 })
    const reply = await api.post(path, order())
    assert.deepEqual([reply.status, reply.body.code], [500, 'CHANGE_NOT_SEEN'], reply.text)
    assert.match(
      reply.body.detail,
      new RegExp(`did not say which ${thing} it made; look for it before you repeat this`),
    )
  })
}
