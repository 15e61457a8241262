/** Machines of the simulated compute platform: placing, room, quota, settings, metrics. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { wellKnown } from '../../lab/site.ts'
import { errorOf, fields, startLab } from './cloudstack-client.ts'
import type { LabClient, Params } from './cloudstack-client.ts'
import { DEPLOY, stepsOf } from './cloudstack-steps.ts'

const { vms, service_offerings: offerings, templates } = wellKnown

let client: LabClient
before(async () => {
  client = await startLab()
})
after(() => client.lab.close())
beforeEach(() => {
  client.lab.reset()
})
const { vm, deploy, stop, capacityUsed } = stepsOf(() => client)

describe('machines', () => {
  test('a deployed machine runs on a host, has an address in its network, and its room is counted', async () => {
    const before = await capacityUsed(1)
    const { id, job } = await deploy({ name: 'fresh' })
    assert.equal(job['jobstatus'], 1)
    const made = await vm(id)
    assert.deepEqual([made['state'], made['name']], ['Running', 'fresh'])
    assert.match(String(made['ipaddress']), /^10\.20\.0\.\d+$/)
    assert.equal((await capacityUsed(1)) - before, 1000)
    await stop(id)
    assert.equal(await capacityUsed(1), before)
  })

  test('two machines never get the same address', async () => {
    const ips = new Set<unknown>()
    for (let index = 0; index < 6; index += 1)
      ips.add((await vm((await deploy({ name: `n-${index}` })).id))['ipaddress'])
    assert.equal(ips.size, 6)
  })

  test('a failed deploy leaves its machine in Error', async () => {
    const { id, job } = await deploy({ templateid: templates['Alpine 3.20 (downloading)'] })
    assert.equal(job['jobstatus'], 2)
    assert.equal((await vm(id))['state'], 'Error')
  })

  test('a cluster over its threshold takes nothing, and the deploy fails with 533', async () => {
    for (const clusterid of Object.values(wellKnown.clusters))
      await client.ok('updateConfiguration', {
        name: 'cluster.memory.allocated.capacity.disablethreshold',
        value: '0.001',
        clusterid,
      })
    const { job } = await deploy()
    assert.equal(errorOf(job).code, 533)
    assert.match(errorOf(job).text, /Unable to create a deployment/)
    const [row] = await client.rows('listConfigurations', {
      name: 'cluster.memory.allocated.capacity.disablethreshold',
      clusterid: wellKnown.clusters['cluster-a'],
    })
    assert.equal(row?.['value'], '0.001')
  })

  test('a machine with GPU takes the device of one host, and none is left for the one after the last', async () => {
    const gpu = { serviceofferingid: offerings['gpu-a2'] }
    const { id } = await deploy({ ...gpu, name: 'g-1' })
    assert.equal((await vm(id))['hostname'], 'kvm-01')
    const held = await client.rows('listGpuDevices', { virtualmachineid: id })
    assert.deepEqual(
      held.map((device) => [device['state'], device['virtualmachinename']]),
      [['Allocated', 'g-1']],
    )
    assert.equal(errorOf((await deploy({ ...gpu, name: 'g-2' })).job).code, 533)
    await client.job('destroyVirtualMachine', { id, expunge: true })
    assert.equal((await deploy({ ...gpu, name: 'g-3' })).job['jobstatus'], 1)
  })

  test('a quota is refused with 535 and names what is full', async () => {
    await client.ok('updateResourceLimit', { domainid: wellKnown.domains.acme, resourcetype: 0, max: 1 })
    const answer = await client.send('deployVirtualMachine', {
      ...DEPLOY,
      account: 'acme',
      domainid: wellKnown.domains.acme,
    })
    assert.equal(answer.status, 535)
    assert.match(String(answer.body['errortext']), /resource limits of Type 'user_vm'.* is exceeded/)
  })

  test('destroyed machines are listed until they are expunged, and can be brought back before', async () => {
    await client.job('destroyVirtualMachine', { id: vms['web-03'] })
    assert.equal((await vm(vms['web-03']))['state'], 'Destroyed')
    assert.equal(
      fields((await client.ok('recoverVirtualMachine', { id: vms['web-03'] }))['virtualmachine'])['state'],
      'Stopped',
    )
    await client.job('destroyVirtualMachine', { id: vms['web-03'], expunge: true })
    assert.deepEqual(await client.ok('listVirtualMachines', { id: vms['web-03'] }), {})
  })

  test('the details map is replaced as a whole, only its first index is read, and extraconfig stays', async () => {
    await client.ok('updateVirtualMachine', {
      id: vms['web-01'],
      extraconfig: encodeURIComponent('<cputune><shares>2048</shares></cputune>'),
    })
    await client.ok('updateVirtualMachine', {
      id: vms['web-01'],
      'details[0].keyboard': 'us',
      'details[1].nicAdapter': 'virtio',
    })
    assert.deepEqual((await vm(vms['web-01']))['details'], {
      keyboard: 'us',
      'extraconfig-1': '<cputune><shares>2048</shares></cputune>',
    })
    await client.ok('updateVirtualMachine', { id: vms['web-01'], 'details[0].UEFI': 'SECURE' })
    const changed = await vm(vms['web-01'])
    assert.deepEqual(
      [fields(changed['details'])['keyboard'], changed['boottype'], changed['bootmode']],
      [undefined, 'Uefi', 'secure'],
    )
    await client.ok('updateVirtualMachine', { id: vms['web-01'], cleanupdetails: true })
    assert.deepEqual(Object.keys(fields((await vm(vms['web-01']))['details'])), ['extraconfig-1'])
    await client.job('removeResourceDetail', {
      resourcetype: 'UserVm',
      resourceid: vms['web-01'],
      key: 'extraconfig-1',
    })
    assert.equal((await vm(vms['web-01']))['boottype'], 'Bios')
  })

  test('a custom machine may not lose its numbers from the map', async () => {
    const answer = await client.send('updateVirtualMachine', { id: vms['gitlab'], 'details[0].keyboard': 'us' })
    assert.equal(answer.status, 431)
    assert.match(String(answer.body['errortext']), /specify a value between/)
  })

  test('an element off the list is refused in extraconfig', async () => {
    const answer = await client.send('updateVirtualMachine', { id: vms['web-01'], extraconfig: '<qemu:commandline/>' })
    assert.equal(answer.status, 530)
    assert.match(String(answer.body['errortext']), /is not on the list of allowed keys/)
  })

  test('a running custom machine grows live, a stopped one takes any offering', async () => {
    const live = await client.job('scaleVirtualMachine', {
      id: vms['gitlab'],
      serviceofferingid: offerings.custom,
      'details[0].cpuNumber': 8,
      'details[0].memory': 16384,
    })
    assert.equal(live['jobstatus'], 1)
    const grown = await vm(vms['gitlab'])
    assert.deepEqual([grown['cpunumber'], grown['memory'], fields(grown['details'])['cpuNumber']], [8, 16384, '8'])
    await stop(vms['gitlab'])
    await client.job('scaleVirtualMachine', { id: vms['gitlab'], serviceofferingid: offerings.small })
    assert.deepEqual([(await vm(vms['gitlab']))['cpunumber'], (await vm(vms['gitlab']))['details']], [1, {}])
  })

  test('UEFI keeps a machine off the host that cannot do it', async () => {
    const last = wellKnown.hosts['kvm-06']
    assert.equal((await client.rows('listHosts', { id: last }))[0]?.['ueficapability'], false)
    const { job } = await deploy({ boottype: 'UEFI', bootmode: 'SECURE', hostid: last })
    assert.equal(errorOf(job).code, 533)
  })

  test('a live move changes the host, and the room moves with it', async () => {
    const [target] = (await client.rows('findHostsForMigration', { virtualmachineid: vms['web-01'] })).filter(
      (host) => host['suitableformigration'] === true,
    )
    const job = await client.job('migrateVirtualMachine', {
      virtualmachineid: vms['web-01'],
      hostid: String(target?.['id']),
    })
    assert.equal(job['jobstatus'], 1)
    assert.equal((await vm(vms['web-01']))['hostid'], target?.['id'])
  })

  test('the console says with status 200 that it failed', async () => {
    const stopped = await client.ok('createConsoleEndpoint', { virtualmachineid: vms['build-win'] })
    assert.equal(fields(stopped['consoleendpoint'])['success'], false)
    assert.match(String(fields(stopped['consoleendpoint'])['details']), /must be running to connect console/)
    const running = fields(
      (await client.ok('createConsoleEndpoint', { virtualmachineid: vms['web-01'] }))['consoleendpoint'],
    )
    assert.equal(running['success'], true)
    assert.equal(fields(running['websocket'])['path'], 'websockify')
  })

  test('a name is matched exactly, a keyword loosely', async () => {
    assert.equal((await client.rows('listVirtualMachines', { listall: true, name: 'web' })).length, 0)
    assert.equal((await client.rows('listVirtualMachines', { listall: true, keyword: 'WEB' })).length, 3)
  })

  test('project resources come only with projectid=-1 or by id', async () => {
    const count = async (params: Params): Promise<unknown> => (await client.ok('listVirtualMachines', params))['count']
    assert.deepEqual(
      [
        await count({ listall: true, projectid: -1 }),
        await count({ listall: true }),
        await count({ projectid: -1 }),
        await count({ id: vms['shop-api'] }),
      ],
      [40, 39, 1, 1],
    )
    const own = Number(await count({}))
    assert.ok(own > 0 && own < 39)
  })

  test('the details parameter decides how much comes, the details map comes always', async () => {
    const [small] = await client.rows('listVirtualMachines', { id: vms['gitlab'], details: 'min' })
    assert.deepEqual(
      [small?.['nic'], small?.['serviceofferingname'], small?.['cpuused']],
      [undefined, undefined, undefined],
    )
    assert.equal(fields(small?.['details'])['cpuNumber'], '4')
    const [full] = await client.rows('listVirtualMachines', { id: vms['gitlab'] })
    assert.ok(Array.isArray(full?.['nic']))
    assert.match(String(full['cpuused']), /^\d+(\.\d+)?%$/)
  })

  test('an unmanaged machine is taken in running, and is unmanaged no more', async () => {
    const cluster = { clusterid: wellKnown.clusters['cluster-a'] }
    const [found] = await client.rows('listUnmanagedInstances', cluster)
    const job = await client.job('importUnmanagedInstance', {
      ...cluster,
      name: String(found?.['name']),
      serviceofferingid: offerings.small,
      'nicnetworklist[0].nic': 'net0',
      'nicnetworklist[0].network': wellKnown.networks['office-shared'],
    })
    const made = fields(fields(job['jobresult'])['virtualmachine'])
    assert.deepEqual([made['name'], made['state'], made['hostname']], ['old-monitor', 'Running', 'kvm-01'])
    assert.deepEqual(await client.ok('listUnmanagedInstances', cluster), {})
  })
})

describe('metrics', () => {
  test('values change with each interval and are the same when asked again', async () => {
    const ask = async (): Promise<unknown> =>
      (await client.rows('listVirtualMachinesMetrics', { id: vms['web-01'] }))[0]?.['networkkbsread']
    const first = await ask()
    assert.equal(await ask(), first)
    client.lab.step()
    assert.notEqual(await ask(), first)
  })

  test('the history has one row for each minute of the window', async () => {
    const now = Date.now()
    const [row] = await client.rows('listVirtualMachinesUsageHistory', {
      id: vms['web-01'],
      startdate: new Date(now - 5 * 60_000).toISOString(),
      enddate: new Date(now).toISOString(),
    })
    assert.ok(Array.isArray(row?.['stats']))
    assert.equal(row['stats'].length, 5)
    assert.match(String(fields(row['stats'][0])['timestamp']), /T\d\d:\d\d:00\+\d{4}$/)
  })
})
