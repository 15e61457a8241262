// Every optional field of every request reaches the platform under a name that the platform knows: it would ignore a
// misspelt one in silence.
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { wellKnown } from '../../lab/site.ts'
import catalogue from '../fixtures/cloudstack-commands.json' with { type: 'json' }
import { type Lab, startLab } from '../support/start-lab.ts'

let lab: Lab

before(async () => {
  lab = await startLab({ time: 'step', config: { compute: { events_poll_ms: 600_000, states_poll_ms: 600_000 } } })
})
after(() => lab.close())
beforeEach(() => {
  lab.platform.reset()
  const { serviceofferings } = lab.platform.state.tables
  const custom = serviceofferings.get(wellKnown.service_offerings.custom)
  assert.ok(custom !== null)
  // One that leaves everything open takes every field.
  serviceofferings.put({ ...custom, cpuspeed: null })
})

const some = '5d4c3b2a-1908-4f7e-8d6c-5b4a39281706'
const virtual_machine_id = wellKnown.vms['web-01']
const page = { page: 2, page_size: 10 }

const VM_LIST = {
  id: some, ids: [some, virtual_machine_id], name: 'a', state: 'Running', zone_id: some, pod_id: some, cluster_id: some, host_id: some,
  network_id: some, vpc_id: some, template_id: some, service_offering_id: some, account: 'acme', domain_id: some, hypervisor: 'KVM',
  ha_enabled: true, gpu_enabled: false, affinity_group_id: some, tags: { role: 'web', tier: '1' }, keyword: 'k', ...page,
} // biome-ignore format: one request
const custom_ssd = wellKnown.disk_offerings['custom-ssd']
const { 'acme-net': acme_net, 'office-shared': shared } = wellKnown.networks
const PROVISION = {
  name: 'all-fields', display_name: 'd', group: 'g', zone_id: wellKnown.zone, template_id: wellKnown.templates['Debian 12'],
  service_offering_id: wellKnown.service_offerings.custom, disk_offering_id: custom_ssd, disk_size_gb: 5, root_disk_size_gb: 6,
  networks: [{ network_id: acme_net, ip_address: '10.0.0.9', mac_address: '02:00:00:00:00:01' }, { network_id: shared }],
  cpu_cores: 1, memory_mb: 512, cpu_speed_mhz: 500, hypervisor: 'KVM', boot_type: 'UEFI', boot_mode: 'SECURE', user_data: 'aGVsbG8=',
  key_pairs: ['a', 'b'], affinity_group_ids: [some], host_id: some, pod_id: some, account: 'acme',
  domain_id: wellKnown.domains.acme, start: true, data_disks: [{ disk_offering_id: custom_ssd, size_gb: 1 }, { disk_offering_id: custom_ssd, size_gb: 2 }],
  extra_config: 'cpu mode', details: { keyboard: 'uk' },
} // biome-ignore format: one request
const UPDATE = {
  virtual_machine_id, display_name: 'd', name: 'n', group: 'g', ha_enabled: true, os_type_id: some, dynamically_scalable: true,
  delete_protection: false, user_data: 'aGVsbG8=', user_data_id: some, security_group_ids: [some], lease_duration_days: 3,
  lease_expiry_action: 'STOP',
} // biome-ignore format: one request
const NETWORKS = {
  id: some, name: 'a', zone_id: some, type: 'isolated', account: 'acme', domain_id: some, vpc_id: some, physical_network_id: some,
  network_offering_id: some, restart_required: true, can_use_for_deploy: true, network_filter: 'all', keyword: 'k', ...page,
} // biome-ignore format: one request

const REQUESTS: readonly [string, string, object | undefined, string][] = [
  ['POST', '/compute/vms/list', VM_LIST, 'listVirtualMachines'],
  ['POST', '/compute/vms/list', { project_id: some }, 'listVirtualMachines'],
  ['POST', '/compute/vms/provision', PROVISION, 'deployVirtualMachine'],
  ['POST', '/compute/vms/update', UPDATE, 'updateVirtualMachine'],
  ['POST', '/compute/vms/reboot', { virtual_machine_id, forced: true, boot_into_setup: true }, 'rebootVirtualMachine'],
  ['POST', '/compute/vms/stop', { virtual_machine_id, forced: true }, 'stopVirtualMachine'],
  ['POST', '/compute/vms/destroy', { virtual_machine_id, expunge: true, volume_ids: [some] }, 'destroyVirtualMachine'],
  ['GET', `/compute/vms/isos?zone_id=${some}&keyword=k&bootable=true&page=2&page_size=5`, undefined, 'listIsos'],
  ['GET', '/compute/vms/metrics/aggregate', undefined, 'listVirtualMachinesMetrics'],
  ['GET', '/compute/vms/usage-history?keyword=web', undefined, 'listVirtualMachinesUsageHistory'],
  ['GET', `/catalog/templates?zone_id=${some}&keyword=k`, undefined, 'listTemplates'],
  ['POST', '/network/guest-networks/list', NETWORKS, 'listNetworks'],
]

interface Call {
  command: string
  params: Record<string, string>
}

async function calls(): Promise<Call[]> {
  const answer = (await (await fetch(`${lab.platform.control_url}/calls`)).json()) as { calls: Call[] }
  return answer.calls
}

const GENERAL = new Set(['command', 'response', 'apikey', 'signature', 'signatureversion', 'expires', 'customjobid'])

function unknownNames({ command, params }: Call): string[] {
  const entry = Object.entries(catalogue).find(([name]) => name === command)?.[1]
  assert.ok(entry !== undefined, `${command} is no command of the platform`)
  const known = new Set(entry.params.map((param) => param.name))
  return Object.keys(params)
    .map((name) => name.replace(/\[\d+\].*$/, ''))
    .filter((name) => !GENERAL.has(name) && !known.has(name))
    .map((name) => `${command}.${name}`)
}

for (const [method, path, body, command] of REQUESTS) {
  test(`${method} ${path.split('?')[0]} sends only what ${command} knows`, async () => {
    const reply = await lab.call(method, path, body)
    const sent = await calls()
    assert.ok(
      sent.some((call) => call.command === command),
      `${reply.status} ${reply.text}`,
    )
    assert.deepEqual(sent.flatMap(unknownNames), [])
  })
}

test('the fields of an order arrive under the right names', async () => {
  await lab.call('POST', '/compute/vms/provision', PROVISION)
  const deploy = (await calls()).find((call) => call.command === 'deployVirtualMachine')
  assert.ok(deploy !== undefined)
  const { params } = deploy
  const expected: Record<string, string> = {
    name: 'all-fields', displayname: 'd', zoneid: wellKnown.zone, rootdisksize: '6', size: '5', boottype: 'UEFI', bootmode: 'SECURE',
    'iptonetworklist[0].networkid': acme_net, 'iptonetworklist[0].ip': '10.0.0.9', 'iptonetworklist[0].mac': '02:00:00:00:00:01',
    'iptonetworklist[1].networkid': shared, 'datadisksdetails[0].size': '1', 'datadisksdetails[1].diskofferingid': custom_ssd,
    'details[0].cpuNumber': '1', 'details[0].memory': '512', 'details[0].cpuSpeed': '500', 'details[0].keyboard': 'uk',
    keypairs: 'a,b', account: 'acme', domainid: wellKnown.domains.acme, startvm: 'true', extraconfig: 'cpu%20mode',
  } // biome-ignore format: one request
  const found = Object.fromEntries(Object.keys(expected).map((name) => [name, params[name]]))
  assert.deepEqual(found, expected)
  assert.match(params['customjobid'] ?? '', /^[0-9a-f-]{36}$/)
})

test('starting on a host names the host', async () => {
  const { body } = await lab.call('POST', '/compute/vms/list', { state: 'Stopped' })
  const host_id = wellKnown.hosts['kvm-01']
  const id: string = body.virtual_machines[0].id
  await lab.call('POST', '/compute/vms/start', {
    virtual_machine_id: id,
    host_id,
    consider_last_host: true,
    boot_into_setup: false,
  })
  const start = (await calls()).find((call) => call.command === 'startVirtualMachine')
  assert.ok(start !== undefined)
  assert.deepEqual([start.params.id, start.params.hostid, start.params.considerlasthost], [id, host_id, 'true'])
  assert.deepEqual(unknownNames(start), [])
})
