/** What the simulated compute platform refuses, at once or in the job, by the texts that callers match on. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { wellKnown } from '../../lab/site.ts'
import { errorOf, startLab } from './cloudstack-client.ts'
import type { LabClient, Params } from './cloudstack-client.ts'
import { DEPLOY } from './cloudstack-steps.ts'

const { vms, networks, service_offerings: offerings, disk_offerings: disks } = wellKnown

let client: LabClient
before(async () => {
  client = await startLab()
})
after(() => client.lab.close())
beforeEach(() => {
  client.lab.reset()
})

/** Stands for the id of the router's provider until the test knows it. */
const ROUTER_PROVIDER = 'router-provider'

/** Commands that must be refused at once, by the text the driver matches on. */
const refusedAtOnce: [title: string, command: string, params: Params, code: number, text: RegExp][] = [
  [
    'BIOS without a boot mode breaks the server',
    'deployVirtualMachine',
    { ...DEPLOY, boottype: 'BIOS' },
    530,
    /because the return value is null/,
  ],
  [
    'UEFI without a boot mode',
    'deployVirtualMachine',
    { ...DEPLOY, boottype: 'UEFI' },
    431,
    /bootmode must be specified/,
  ],
  [
    'a custom offering without numbers',
    'deployVirtualMachine',
    { ...DEPLOY, serviceofferingid: offerings.custom },
    431,
    /Invalid cpu cores value, specify a value between 1 and 32/,
  ],
  [
    'an isolated network of another account',
    'deployVirtualMachine',
    { ...DEPLOY, networkids: networks['acme-net'] },
    531,
    /permission denied/,
  ],
  [
    'details with a key of the server’s own',
    'updateVirtualMachine',
    { id: vms['web-01'], 'details[0].extraconfig': 'x' },
    431,
    /should not be included/,
  ],
  ['a machine under delete protection', 'destroyVirtualMachine', { id: vms['erp-db'] }, 431, /delete protection/],
  [
    'recovering what is not destroyed',
    'recoverVirtualMachine',
    { id: vms['web-01'] },
    431,
    /is not in the right state/,
  ],
  [
    'new user data for a running machine',
    'resetUserDataForVirtualMachine',
    { id: vms['web-01'], userdata: 'eA==' },
    431,
    /should be stopped to do UserData reset/,
  ],
  [
    'HA without an offering that has it',
    'updateVirtualMachine',
    { id: vms['render-gpu'], haenable: true },
    431,
    /HA disabled/,
  ],
  [
    'providertype, whatever its value',
    'createVirtualRouterElement',
    { nspid: ROUTER_PROVIDER, providertype: 'VirtualRouter' },
    431,
    /providertype/,
  ],
  [
    'a second element of a provider',
    'createVirtualRouterElement',
    { nspid: ROUTER_PROVIDER },
    530,
    /Failed to add Virtual Router entity/,
  ],
  [
    'an unknown provider',
    'addNetworkServiceProvider',
    { physicalnetworkid: wellKnown.physical_network, name: 'Nonsense' },
    431,
    /Invalid Network Service Provider=/,
  ],
  [
    'a provider that is there',
    'addNetworkServiceProvider',
    { physicalnetworkid: wellKnown.physical_network, name: 'Ovs' },
    530,
    /already exists on physical network/,
  ],
  [
    'a fixed disk offering with a size',
    'createVolume',
    { name: 'd', zoneid: wellKnown.zone, diskofferingid: disks['ssd-20'], size: 5 },
    431,
    /does not allow custom size/,
  ],
  [
    'a custom disk offering without a size',
    'createVolume',
    { name: 'd', zoneid: wellKnown.zone, diskofferingid: disks['custom-ssd'] },
    431,
    /requires a custom size/,
  ],
  ['a disk offering without a size', 'createDiskOffering', { name: 'x' }, 431, /Disksize is required/],
  [
    'a custom disk offering with a size',
    'createDiskOffering',
    { name: 'x', customized: true, disksize: 5 },
    431,
    /not allowed for a customized/,
  ],
  [
    'half of an offering’s ranges',
    'createServiceOffering',
    { name: 'x', customized: true, mincpunumber: 1 },
    431,
    /should all be specified/,
  ],
  [
    'archiving alerts without saying which',
    'archiveAlerts',
    {},
    431,
    /either ids, type, startdate or enddate must be specified/,
  ],
  ['archiving events without saying which', 'archiveEvents', {}, 431, /either ids, type or enddate must be specified/],
  [
    'free addresses while asking for allocated ones',
    'listPublicIpAddresses',
    { allocatedonly: true, state: 'Free' },
    431,
    /Conflict/,
  ],
  [
    'a usage span that ends before it starts',
    'listVirtualMachinesUsageHistory',
    { startdate: '2026-02-01', enddate: '2026-01-01' },
    431,
    /startDate cannot be after endDate/,
  ],
  ['a domain that is there', 'createDomain', { name: 'acme' }, 431, /already exists for the parent/],
  [
    'an account without type and role',
    'createAccount',
    { username: 'u', email: 'e@x', firstname: 'f', lastname: 'l', password: 'p' },
    431,
    /account type and role/,
  ],
  [
    'a limit of the root domain',
    'updateResourceLimit',
    { domainid: wellKnown.domains.ROOT, resourcetype: 0, max: 5 },
    531,
    /ROOT domain/,
  ],
  [
    'a limit below minus one',
    'updateResourceLimit',
    { domainid: wellKnown.domains.acme, resourcetype: 0, max: -2 },
    431,
    /Please specify either '-1'/,
  ],
  [
    'linking a domain without a base',
    'linkDomainToLdap',
    { domainid: wellKnown.domains.acme, type: 'GROUP', ldapdomain: 'cn=x', accounttype: 2 },
    431,
    /unless a basedn/,
  ],
  [
    'a vGPU profile name that is taken',
    'createVgpuProfile',
    { name: 'A2 passthrough', gpucardid: wellKnown.gpu_cards['NVIDIA A2'] },
    431,
    /already exists/,
  ],
  ['unmanaging a GPU device that is none', 'unmanageGpuDevice', { ids: 'no-uuid' }, 431, /entity does not exist/],
  [
    'remote import from another hypervisor',
    'listVmsForImport',
    { zoneid: wellKnown.zone, host: '10.0.0.9', hypervisor: 'VMware' },
    431,
    /KVM/,
  ],
  ['deleting a host that works', 'deleteHost', { id: wellKnown.hosts['kvm-03'] }, 530, /not in maintenance mode/],
]

describe('refused at once', () => {
  for (const [title, command, params, code, text] of refusedAtOnce) {
    test(title, async () => {
      const [provider] = await client.rows('listNetworkServiceProviders', { name: 'VirtualRouter' })
      const filled = Object.fromEntries(
        Object.entries(params).map(([name, value]) => [
          name,
          value === ROUTER_PROVIDER ? String(provider?.['id']) : value,
        ]),
      )
      const answer = await client.send(command, filled)
      assert.match(String(answer.body['errortext']), text)
      assert.equal(answer.status, code)
    })
  }
})

const refusedInJob: [title: string, command: string, params: Params, code: number, text: RegExp][] = [
  ['starting what runs', 'startVirtualMachine', { id: vms['web-01'] }, 431, /is already running/],
  [
    'rebooting what is stopped',
    'rebootVirtualMachine',
    { id: vms['build-win'] },
    431,
    /is not running, unable to reboot it/,
  ],
  [
    'moving a stopped machine to a host',
    'migrateVirtualMachine',
    { virtualmachineid: vms['build-win'], hostid: wellKnown.hosts['kvm-03'] },
    431,
    /VM is not Running, unable to migrate/,
  ],
  [
    'moving a machine with a GPU',
    'migrateVirtualMachine',
    { virtualmachineid: vms['render-gpu'], hostid: wellKnown.hosts['kvm-02'] },
    431,
    /GPU enabled VM is not supported/,
  ],
  [
    'moving a running machine’s disks',
    'migrateVirtualMachine',
    { virtualmachineid: vms['web-01'], storageid: wellKnown.storage_pools['nfs-primary'] },
    431,
    /VM is not Stopped/,
  ],
  ['expunging what was not destroyed', 'expungeVirtualMachine', { id: vms['build-win'] }, 431, /destroy vm/],
  [
    'restoring a destroyed machine',
    'restoreVirtualMachine',
    { virtualmachineid: vms['old-test'] },
    530,
    /restore vm can only execute when VM in Running or Stopped/,
  ],
  [
    'restoring with machine snapshots',
    'restoreVirtualMachine',
    { virtualmachineid: vms['web-02'] },
    431,
    /remove VM snapshots before/,
  ],
  [
    'scaling a running machine of a fixed offering',
    'scaleVirtualMachine',
    { id: vms['web-01'], serviceofferingid: offerings.xlarge },
    431,
    /Unable to live scale VM on KVM when current service offering is a "Fixed Offering"/,
  ],
  [
    'scaling a running machine down',
    'scaleVirtualMachine',
    { id: vms['gitlab'], serviceofferingid: offerings.custom, 'details[0].cpuNumber': 2, 'details[0].memory': 8192 },
    431,
    /only scalling up it is supported|only scaling up it is supported/,
  ],
  [
    'groups of a running machine',
    'updateVMAffinityGroup',
    { id: vms['web-01'], affinitygroupids: '' },
    431,
    /make sure the virtual machine is stopped/,
  ],
  ['taking out a disc that is not in', 'detachIso', { virtualmachineid: vms['web-01'] }, 431, /has no ISO attached/],
  [
    'a second card in the same network',
    'addNicToVirtualMachine',
    { virtualmachineid: vms['web-02'], networkid: networks['office-shared'] },
    431,
    /VM Snapshots/,
  ],
  [
    'enabling a provider whose element is off',
    'updateNetworkServiceProvider',
    { id: 'Ovs', state: 'Enabled' },
    530,
    /Provider is not ready, cannot Enable/,
  ],
  [
    'shutting a provider down',
    'updateNetworkServiceProvider',
    { id: 'Ovs', state: 'Shutdown' },
    431,
    /'Shutdown' is not supported/,
  ],
  [
    'single services of a provider that has them as a whole',
    'updateNetworkServiceProvider',
    { id: 'Ovs', servicelist: 'Lb' },
    431,
    /Cannot update set of Services/,
  ],
  ['reverting a volume of a running machine', 'revertSnapshot', { id: 'first' }, 431, /not in the shutdown state/],
  [
    'restoring a backup over a running machine',
    'restoreBackup',
    { id: 'first-backup' },
    530,
    /should be stopped before being restored/,
  ],
]

describe('refused in the job', () => {
  for (const [title, command, params, code, text] of refusedInJob) {
    test(title, async () => {
      const named: Record<string, string> = {
        Ovs: String((await client.rows('listNetworkServiceProviders', { name: 'Ovs' }))[0]?.['id']),
        first: String((await client.rows('listSnapshots', { listall: true }))[0]?.['id']),
        'first-backup': String((await client.rows('listBackups', { listall: true }))[0]?.['id']),
      }
      const filled = Object.fromEntries(
        Object.entries(params).map(([name, value]) => [
          name,
          typeof value === 'string' ? (named[value] ?? value) : value,
        ]),
      )
      const job = await client.job(command, filled)
      assert.equal(job['jobstatus'], 2)
      assert.deepEqual([errorOf(job).code, job['jobresultcode']], [code, code])
      assert.match(errorOf(job).text, text)
    })
  }
})
