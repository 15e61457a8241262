/** Disks, network cards, public addresses and forwarded ports of the simulated compute platform. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { wellKnown } from '../../lab/site.ts'
import { errorOf, fields, startLab } from './cloudstack-client.ts'
import type { LabClient } from './cloudstack-client.ts'
import { stepsOf } from './cloudstack-steps.ts'

const { vms, networks, disk_offerings: disks } = wellKnown

let client: LabClient
before(async () => {
  client = await startLab()
})
after(() => client.lab.close())
beforeEach(() => {
  client.lab.reset()
})
const { vm, deploy, stop, freeAddress, machineIn } = stepsOf(() => client)

describe('disks, cards and addresses', () => {
  test('a disk is made, attached, grown, detached and deleted', async () => {
    const { id } = await client.ok('createVolume', {
      name: 'data',
      zoneid: wellKnown.zone,
      diskofferingid: disks['custom-ssd'],
      size: 30,
      account: 'acme',
      domainid: wellKnown.domains.acme,
    })
    client.lab.step()
    const attached = await client.job('attachVolume', { id: String(id), virtualmachineid: vms['web-01'] })
    assert.deepEqual(
      [
        fields(fields(attached['jobresult'])['volume'])['vmname'],
        fields(fields(attached['jobresult'])['volume'])['state'],
      ],
      ['web-01', 'Ready'],
    )
    assert.equal(
      errorOf(await client.job('attachVolume', { id: String(id), virtualmachineid: vms['web-03'] })).text,
      'Please specify a volume that is not attached to any VM.',
    )
    await client.job('resizeVolume', { id: String(id), size: 50 })
    assert.equal((await client.rows('listVolumes', { id: String(id) }))[0]?.['size'], 50 * 1024 ** 3)
    assert.match(
      String((await client.send('resizeVolume', { id: String(id), size: 10 })).body['errortext']),
      /shrinkok/,
    )
    assert.equal((await client.send('deleteVolume', { id: String(id) })).status, 431)
    await client.job('detachVolume', { id: String(id) })
    assert.equal((await client.ok('deleteVolume', { id: String(id) }))['success'], true)
    assert.deepEqual(await client.ok('listVolumes', { id: String(id) }), {})
  })

  test('a root disk leaves only a stopped machine', async () => {
    const [root] = await client.rows('listVolumes', { virtualmachineid: vms['web-01'], type: 'ROOT', listall: true })
    assert.match(errorOf(await client.job('detachVolume', { id: String(root?.['id']) })).text, /stopped/)
  })

  test('listNics ignores paging', async () => {
    const body = await client.ok('listNics', { virtualmachineid: vms['db-01'], page: 5, pagesize: 1 })
    assert.equal(body['count'], 2)
  })

  test('a secondary address comes at once with a job, and its removal hides the reason', async () => {
    const [nic] = await client.rows('listNics', { virtualmachineid: vms['web-01'] })
    const answer = await client.send('addIpToNic', { nicid: String(nic?.['id']) })
    assert.equal(answer.wrapper, 'addiptovmnicresponse')
    client.lab.step()
    const [after_] = await client.rows('listNics', { virtualmachineid: vms['web-01'] })
    assert.ok(Array.isArray(after_?.['secondaryip']))
    const secondary = fields(after_['secondaryip'][0])
    assert.equal(secondary['id'], answer.body['id'])
    const taken = await client.send('addIpToNic', {
      nicid: String(nic?.['id']),
      ipaddress: String(secondary['ipaddress']),
    })
    assert.match(String(taken.body['errortext']), /please choose another ip/)
    const address = await freeAddress()
    const rule = {
      ipaddressid: address,
      virtualmachineid: vms['web-01'],
      protocol: 'tcp',
      publicport: 80,
      privateport: 80,
    }
    const made = await client.ok('createPortForwardingRule', { ...rule, vmguestip: String(secondary['ipaddress']) })
    client.lab.step()
    const inUse = await client.job('removeIpFromNic', { id: String(secondary['id']) })
    assert.deepEqual(errorOf(inUse), { code: 431, text: 'Removing guest ip from nic failed' })
    await client.job('deletePortForwardingRule', { id: String(made['id']) })
    assert.equal((await client.job('removeIpFromNic', { id: String(secondary['id']) }))['jobstatus'], 1)
  })

  test('the default card moves, and a foreign card is refused', async () => {
    const [first, second] = await client.rows('listNics', { virtualmachineid: vms['db-01'] })
    assert.equal(
      (
        await client.job('updateDefaultNicForVirtualMachine', {
          virtualmachineid: vms['db-01'],
          nicid: String(second?.['id']),
        })
      )['jobstatus'],
      1,
    )
    assert.match(
      errorOf(
        await client.job('updateDefaultNicForVirtualMachine', {
          virtualmachineid: vms['db-01'],
          nicid: String(second?.['id']),
        }),
      ).text,
      /already the default/,
    )
    assert.match(
      errorOf(
        await client.job('updateDefaultNicForVirtualMachine', {
          virtualmachineid: vms['web-01'],
          nicid: String(first?.['id']),
        }),
      ).text,
      /is not a nic on/,
    )
  })

  test('a card’s address changes only while the machine is stopped', async () => {
    const [nic] = await client.rows('listNics', { virtualmachineid: vms['web-01'] })
    const update = { nicid: String(nic?.['id']), ipaddress: '10.10.0.200' }
    assert.match(
      errorOf(await client.job('updateVmNicIp', update)).text,
      /VM is not Stopped, unable to update the vm nic/,
    )
    await stop(vms['web-01'])
    await client.job('updateVmNicIp', update)
    assert.equal((await vm(vms['web-01']))['ipaddress'], '10.10.0.200')
  })

  test('static NAT and forwarded ports exclude each other, and ranges do not overlap', async () => {
    const address = await freeAddress()
    const machine = await machineIn(networks['acme-net'])
    const rule = {
      ipaddressid: address,
      virtualmachineid: machine,
      protocol: 'tcp',
      publicport: 8000,
      publicendport: 8010,
      privateport: 80,
      privateendport: 90,
    }
    const made = await client.ok('createPortForwardingRule', rule)
    client.lab.step()
    const [listed] = await client.rows('listPortForwardingRules', { ipaddressid: address, listall: true })
    assert.deepEqual([listed?.['id'], listed?.['publicport'], listed?.['state']], [made['id'], '8000', 'Active'])
    const clash = await client.send('createPortForwardingRule', { ...rule, publicport: 8005, publicendport: 8015 })
    assert.equal(clash.status, 537)
    assert.match(String(clash.body['errortext']), /The range specified.* conflicts with rule/)
    assert.match(
      String(
        (await client.send('createPortForwardingRule', { ...rule, publicport: 9000, publicendport: 9001 })).body[
          'errortext'
        ],
      ),
      /equal sizes/,
    )
    assert.equal(
      (await client.send('enableStaticNat', { ipaddressid: address, virtualmachineid: machine })).status,
      537,
    )
    assert.match(
      String(
        (
          await client.send('updatePortForwardingRule', {
            id: String(made['id']),
            privateport: 100,
            privateendport: 101,
          })
        ).body['errortext'],
      ),
      /is not consistent with the port range/,
    )
  })

  test('a forwarded port opens the firewall to the state unless told not to', async () => {
    const address = await freeAddress()
    const rule = {
      ipaddressid: address,
      virtualmachineid: await machineIn(networks['acme-net']),
      protocol: 'tcp',
      publicport: 22,
      privateport: 22,
    }
    const made = await client.ok('createPortForwardingRule', rule)
    client.lab.step()
    assert.equal(
      (await client.rows('listFirewallRules', { ipaddressid: address, listall: true }))[0]?.['cidrlist'],
      '0.0.0.0/0',
    )
    await client.job('deletePortForwardingRule', { id: String(made['id']) })
    assert.deepEqual(await client.ok('listFirewallRules', { ipaddressid: address, listall: true }), {})
    await client.ok('createPortForwardingRule', { ...rule, openfirewall: false })
    assert.deepEqual(await client.ok('listFirewallRules', { ipaddressid: address, listall: true }), {})
  })

  test('an address goes through static NAT and back to free', async () => {
    const address = await freeAddress()
    const machine = (
      await deploy({ name: 'nat', networkids: networks['acme-net'], account: 'acme', domainid: wellKnown.domains.acme })
    ).id
    await client.ok('enableStaticNat', { ipaddressid: address, virtualmachineid: machine })
    assert.equal((await client.rows('listPublicIpAddresses', { id: address }))[0]?.['virtualmachinename'], 'nat')
    await client.job('disableStaticNat', { ipaddressid: address })
    assert.match(
      String((await client.send('disableStaticNat', { ipaddressid: address })).body['errortext']),
      /not associated with any vm/,
    )
    await client.job('disassociateIpAddress', { id: address })
    assert.deepEqual(await client.ok('listPublicIpAddresses', { id: address }), {})
    assert.equal(
      (await client.rows('listPublicIpAddresses', { id: address, allocatedonly: false }))[0]?.['state'],
      'Free',
    )
  })

  test('a source NAT address is not given back', async () => {
    const [source] = await client.rows('listPublicIpAddresses', { issourcenat: true, listall: true })
    assert.match(
      errorOf(await client.job('disassociateIpAddress', { id: String(source?.['id']) })).text,
      /used for source nat purposes/,
    )
  })

  test('inside a VPC a forwarded port must not open the firewall, and the address joins a tier', async () => {
    const [offering] = await client.rows('listVPCOfferings')
    const made = await client.ok('createVPC', {
      name: 'v',
      zoneid: wellKnown.zone,
      cidr: '172.20.0.0/16',
      vpcofferingid: String(offering?.['id']),
    })
    client.lab.step()
    const vpcid = String(made['id'])
    const network = {
      name: 'tier',
      zoneid: wellKnown.zone,
      networkofferingid: wellKnown.network_offerings['vpc-tier'],
      vpcid,
    }
    const tier = String(
      fields(
        (await client.ok('createNetwork', { ...network, gateway: '172.20.1.1', netmask: '255.255.255.0' }))['network'],
      )['id'],
    )
    const machine = (await deploy({ name: 'in-vpc', networkids: tier })).id
    const { id: ipaddressid } = await client.ok('associateIpAddress', { vpcid })
    client.lab.step()
    const rule = {
      ipaddressid: String(ipaddressid),
      virtualmachineid: machine,
      networkid: tier,
      protocol: 'tcp',
      publicport: 80,
      privateport: 80,
    }
    const refused = await client.send('createPortForwardingRule', { ...rule, openfirewall: true })
    assert.match(String(refused.body['errortext']), /Can't have openFirewall=true/)
    await client.ok('createPortForwardingRule', rule)
    client.lab.step()
    assert.equal(
      (await client.rows('listPublicIpAddresses', { id: String(ipaddressid) }))[0]?.['associatednetworkid'],
      tier,
    )
    assert.deepEqual(await client.ok('listFirewallRules', { ipaddressid: String(ipaddressid), listall: true }), {})
  })
})
