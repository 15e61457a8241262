/** Hosts, capacity, alerts, events, images, networks, GPUs and tenants of the simulated compute platform. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { hostFacts, wellKnown } from '../../lab/site.ts'
import { errorOf, fields, startLab } from './cloudstack-client.ts'
import type { LabClient } from './cloudstack-client.ts'
import { DEPLOY, stepsOf } from './cloudstack-steps.ts'

const { vms } = wellKnown

let client: LabClient
before(async () => {
  client = await startLab()
})
after(() => client.lab.close())
beforeEach(() => {
  client.lab.reset()
})
const { deploy } = stepsOf(() => client)

describe('site', () => {
  test('a host is emptied for maintenance and can then be removed', async () => {
    const id = wellKnown.hosts['kvm-04']
    await client.job('prepareHostForMaintenance', { id })
    const [host] = await client.rows('listHosts', { id })
    assert.equal(host?.['resourcestate'], 'Maintenance')
    assert.deepEqual(await client.ok('listVirtualMachines', { hostid: id, listall: true, projectid: -1 }), {})
    await client.job('cancelHostMaintenance', { id })
    assert.equal((await client.rows('listHosts', { id }))[0]?.['resourcestate'], 'Enabled')
    await client.job('prepareHostForMaintenance', { id })
    await client.ok('deleteHost', { id })
    assert.equal((await client.ok('listHosts', { type: 'Routing' }))['count'], 5)
  })

  test('hosts have the names and addresses of the shared state', async () => {
    const hosts = await client.rows('listHosts', { type: 'Routing', details: 'min,capacity' })
    assert.deepEqual(
      hosts.map((host) => [host['name'], host['ipaddress']]),
      [0, 1, 2, 3, 4, 5].map((index) => [hostFacts(index).name, hostFacts(index).ip]),
    )
  })

  test('capacity ignores paging and counts its rows', async () => {
    const body = await client.ok('listCapacity', { clusterid: wellKnown.clusters['cluster-a'], page: 2, pagesize: 1 })
    assert.equal(body['count'], 3)
    assert.ok(Array.isArray(body['capacity']))
    for (const row of body['capacity']) assert.match(String(fields(row)['percentused']), /^\d+\.\d\d$/)
  })

  test('an archived alert is never listed again, an unknown one is refused', async () => {
    const [alert] = await client.rows('listAlerts')
    await client.ok('archiveAlerts', { ids: String(alert?.['id']) })
    assert.deepEqual(await client.ok('listAlerts', { id: String(alert?.['id']) }), {})
    assert.equal((await client.send('archiveAlerts', { ids: String(alert?.['id']) })).status, 530)
  })

  test('a job writes three events that hang together, a failed one ends with level ERROR', async () => {
    await client.job('startVirtualMachine', { id: vms['build-win'] })
    const events = await client.rows('listEvents', {
      resourceid: vms['build-win'],
      resourcetype: 'VirtualMachine',
      type: 'VM.START',
      listall: true,
      projectid: -1,
    })
    assert.deepEqual(
      events.slice(0, 3).map((one) => one['state']),
      ['Completed', 'Started', 'Scheduled'],
    )
    const root = String(events[2]?.['id'])
    assert.equal((await client.rows('listEvents', { startid: root, listall: true })).length, 3)
    await client.job('startVirtualMachine', { id: vms['build-win'] })
    const [last] = await client.rows('listEvents', { type: 'VM.START', listall: true, projectid: -1 })
    assert.deepEqual([last?.['level'], last?.['state']], ['ERROR', 'Completed'])
  })

  test('a registered image downloads by steps, and a broken address ends in an error', async () => {
    const register = {
      displaytext: 'd',
      zoneid: wellKnown.zone,
      hypervisor: 'KVM',
      format: 'QCOW2',
      ostypeid: String((await client.rows('listOsTypes', { keyword: 'Debian' }))[0]?.['id']),
    }
    const [good] = await client.rows('registerTemplate', {
      ...register,
      name: 'good',
      url: 'http://10.0.0.60/good.qcow2',
    })
    const [broken] = await client.rows('registerTemplate', {
      ...register,
      name: 'bad',
      url: 'http://10.0.0.60/broken.qcow2',
    })
    client.lab.step()
    const state = async (id: unknown): Promise<Record<string, unknown>> =>
      (await client.rows('listTemplates', { templatefilter: 'all', id: String(id) }))[0] ?? {}
    assert.deepEqual(
      [(await state(good?.['id']))['status'], (await state(good?.['id']))['isready']],
      ['34% Downloaded', false],
    )
    client.lab.step(2)
    client.lab.step()
    assert.equal((await state(good?.['id']))['status'], 'Download Complete')
    assert.match(JSON.stringify((await state(broken?.['id']))['downloaddetails']), /DOWNLOAD_ERROR/)
  })

  test('a network is made, restarted only when implemented, and deleted only when empty', async () => {
    const made = fields(
      (
        await client.ok('createNetwork', {
          name: 'n',
          zoneid: wellKnown.zone,
          networkofferingid: wellKnown.network_offerings['isolated-nat'],
        })
      )['network'],
    )
    const id = String(made['id'])
    assert.equal(made['state'], 'Allocated')
    assert.match(errorOf(await client.job('restartNetwork', { id })).text, /not in the right state to be restarted/)
    const { id: machine } = await deploy({ name: 'inside', networkids: id })
    assert.equal((await client.job('restartNetwork', { id, cleanup: true }))['jobstatus'], 1)
    assert.equal((await client.job('deleteNetwork', { id }))['jobstatus'], 2)
    await client.job('destroyVirtualMachine', { id: machine, expunge: true })
    assert.equal((await client.job('deleteNetwork', { id }))['jobstatus'], 1)
  })
})

describe('GPU', () => {
  test('a device in use is not unmanaged, a free one is, and both failures are 530', async () => {
    const devices = await client.rows('listGpuDevices', { hostid: wellKnown.hosts['kvm-01'] })
    const used = devices.find((one) => one['state'] === 'Allocated')
    const free = devices.find((one) => one['state'] === 'Free')
    const refused = await client.send('unmanageGpuDevice', { ids: String(used?.['id']) })
    assert.equal(refused.status, 530)
    assert.match(String(refused.body['errortext']), /in use by VM/)
    await client.ok('unmanageGpuDevice', { ids: String(free?.['id']) })
    assert.equal((await client.rows('listGpuDevices', { id: String(free?.['id']) }))[0]?.['managedstate'], 'Unmanaged')
    assert.match(
      String((await client.send('updateGpuDevice', { id: String(used?.['id']), type: 'PCI' })).body['errortext']),
      /currently allocated to VM/,
    )
  })

  test('a taken vGPU marks its card as partially allocated', async () => {
    const made = fields(
      (
        await client.ok('createServiceOffering', {
          name: 'vgpu',
          cpunumber: 2,
          cpuspeed: 1000,
          memory: 2048,
          vgpuprofileid: wellKnown.vgpu_profiles['NVIDIA A16-4Q'],
          gpucount: 2,
        })
      )['serviceoffering'],
    )
    assert.equal((await deploy({ name: 'v', serviceofferingid: String(made['id']) })).job['jobstatus'], 1)
    const devices = await client.rows('listGpuDevices', { hostid: wellKnown.hosts['kvm-02'] })
    assert.equal(devices.filter((one) => one['state'] === 'Allocated').length, 2)
    assert.equal(devices.find((one) => one['gpudevicetype'] === 'VGPUOnly')?.['state'], 'PartiallyAllocated')
  })
})

describe('tenants', () => {
  test('a tenant is made with a chosen id, an account, a range of its own, and taken away whole', async () => {
    const domainid = '7c7c7c7c-0000-4000-8000-000000000001'
    const domain = fields(
      (await client.ok('createDomain', { name: 'initech', domainid, networkdomain: 'initech.example' }))['domain'],
    )
    assert.deepEqual([domain['id'], domain['path'], domain['level']], [domainid, 'ROOT/initech', 1])
    await client.ok('createAccount', {
      accounttype: 2,
      account: 'initech',
      username: 'admin-i',
      password: 'x',
      firstname: 'a',
      lastname: 'b',
      email: 'a@b',
      domainid,
    })
    const range = fields(
      (
        await client.ok('createVlanIpRange', {
          zoneid: wellKnown.zone,
          startip: '198.51.100.10',
          endip: '198.51.100.19',
          gateway: '198.51.100.1',
          netmask: '255.255.255.0',
          vlan: 'untagged',
          forvirtualnetwork: true,
          domainid,
        })
      )['vlan'],
    )
    assert.match(
      String((await client.send('dedicatePublicIpRange', { id: String(range['id']), domainid })).body['errortext']),
      /has already been dedicated/,
    )
    assert.equal((await client.rows('listVlanIpRanges', { domainid })).length, 1)
    assert.match(errorOf(await client.job('deleteDomain', { id: domainid })).text, /delete failed/)
    assert.equal((await client.job('deleteDomain', { id: domainid, cleanup: true }))['jobstatus'], 1)
    assert.deepEqual(await client.ok('listDomains', { id: domainid }), {})
  })

  test('limits are listed by name and number, set one by one, and show on the domain', async () => {
    await client.ok('updateResourceLimit', { domainid: wellKnown.domains.globex, resourcetype: 8, max: 123 })
    const rows = await client.rows('listResourceLimits', { domainid: wellKnown.domains.globex })
    const cpu = rows.find((row) => row['resourcetypename'] === 'cpu')
    assert.deepEqual([cpu?.['resourcetype'], cpu?.['max']], ['8', 123])
    const [domain] = await client.rows('listDomains', { id: wellKnown.domains.globex, details: 'resource' })
    assert.equal(domain?.['cpulimit'], '123')
    assert.equal(typeof domain['vmtotal'], 'number')
    assert.equal(domain['vpclimit'], '40')
  })

  test('locking lets machines run, disabling stops them, enabling starts nothing', async () => {
    const running = async (): Promise<number> =>
      (
        await client.rows('listVirtualMachines', {
          account: 'acme',
          domainid: wellKnown.domains.acme,
          state: 'Running',
        })
      ).length
    const before = await running()
    assert.ok(before > 0)
    await client.job('disableAccount', { id: wellKnown.accounts.acme, lock: true })
    assert.equal(await running(), before)
    const refused = await client.send('deployVirtualMachine', {
      ...DEPLOY,
      account: 'acme',
      domainid: wellKnown.domains.acme,
    })
    assert.equal(refused.status, 531)
    await client.job('disableAccount', { id: wellKnown.accounts.acme, lock: false })
    assert.equal(await running(), 0)
    await client.ok('enableAccount', { id: wellKnown.accounts.acme })
    assert.equal(await running(), 0)
  })
})
