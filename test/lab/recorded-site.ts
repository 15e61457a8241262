/** The site on which the recorded requests were sent, made of seeded records: its things by the labels of the fixture. */
import type { SimulatorState } from '../../lab/cloudstack/state.ts'
import { seededId, wellKnown } from '../../lab/site.ts'

const { accounts, clusters, domains, hosts, networks, templates, vms } = wellKnown
const id = (label: string): string => seededId('recorded', label)

/** Ids of the fixture's labels: `<vm>` in a recorded parameter is the machine that the recording calls rec-vm1. */
export function idOf(label: string): string {
  return SEEDED[label] ?? id(label)
}

const SEEDED: Readonly<Record<string, string>> = {
  zone: wellKnown.zone,
  template: templates['Debian 12'],
  small: wellKnown.service_offerings.small,
  medium: wellKnown.service_offerings.medium,
  root: domains.ROOT,
  admin: accounts.admin,
  host: hosts['kvm-01'],
  host2: hosts['kvm-02'],
  otherhost: hosts['kvm-06'],
  cluster: clusters['cluster-a'],
  pod: wellKnown.pod,
  passthrough: wellKnown.vgpu_profiles['A2 passthrough'],
  physical: wellKnown.physical_network,
  isolated: wellKnown.network_offerings['isolated-nat'],
  sharedoffering: wellKnown.network_offerings.shared,
  egress: seededId('networkoffering', 'isolated-egress-deny'),
  router: seededId('provider', 'VirtualRouter'),
  ilb: seededId('provider', 'InternalLbVm'),
  sgprovider: seededId('provider', 'SecurityGroupProvider'),
  routerelement: seededId('element', 'VirtualRouter'),
  ilbelement: seededId('element', 'InternalLbVm'),
  publicrange: wellKnown.public_range,
  pool: wellKnown.storage_pools['ceph-rbd'],
  pool2: wellKnown.storage_pools['nfs-primary'],
  project: wellKnown.project,
  iso: wellKnown.isos['virtio-win'],
}

export function fillRecordedSite(state: SimulatorState): void {
  const { tables } = state
  fillTenants(state)
  fillOfferings(state)
  fillNetworks(state)
  fillMachines(state)
  const profile = must(tables.vgpuprofiles.get(wellKnown.vgpu_profiles['A2 passthrough']))
  tables.gpucards.put({ ...must(tables.gpucards.get(profile.gpucardid)), id: id('card'), name: 'rec card' })
  tables.vgpuprofiles.put({ ...profile, id: id('profile'), name: 'rec-profile', gpucardid: id('card') })
  const device = must([...tables.gpudevices.values()][0])
  const free = { virtualmachineid: null, state: 'Free' } as const
  tables.gpudevices.put({
    ...device,
    ...free,
    id: id('gpu'),
    busaddress: '0000:3b:00.0',
    gpucardid: id('card'),
    vgpuprofileid: id('profile'),
  })
  tables.gpudevices.put({
    ...device,
    id: id('usedgpu'),
    busaddress: '00:09.0',
    virtualmachineid: id('gpuvm'),
    state: 'Allocated',
  })
  const group = must([...tables.affinitygroups.values()][0])
  tables.affinitygroups.put({ ...group, id: id('anti'), name: 'rec-anti', accountid: accounts.admin })
  tables.affinitygroups.put({ ...group, id: id('foreigngroup'), name: 'rec-foreign', accountid: id('limitaccount') })
  tables.userdata.put({
    id: id('userdata'), name: 'rec-data', userdata: 'I2Nsb3VkLWNvbmZpZwo=', accountid: accounts.admin, projectid: null,
  }) // biome-ignore format: one record
  tables.alerts.put({ ...must([...tables.alerts.values()][0]), id: id('alert'), type: 14, name: 'ALERT.MANAGEMENT' })
  tables.events.put({
    ...must([...tables.events.values()][0]),
    id: id('event'),
    accountid: accounts.admin,
    number: 900,
  })
  for (const [label, name] of [
    ['webhook', 'rec-groundplane'],
    ['webhook2', 'rec-fail'],
  ] as const)
    tables.webhooks.put({
      id: id(label),
      name,
      description: null,
      state: 'Enabled',
      accountid: accounts.admin,
      created: 0,
      scope: 'Global',
      payloadurl: `http://198.51.100.28:28999/hooks/${label === 'webhook' ? 'compute' : 'other'}`,
      secretkey: 'secret-1',
      sslverification: false,
    })
  tables.jobs.put({
    id: id('job'),
    command: 'stopVirtualMachine',
    cmd: 'x',
    accountid: accounts.admin,
    userid: seededId('user', 'admin'),
    jobstatus: 1,
    jobresultcode: 0,
    jobresult: { success: true },
    jobinstancetype: 'VirtualMachine',
    jobinstanceid: id('vm'),
    created: 1,
    completed: 2,
  })
}

function fillTenants({ tables }: SimulatorState): void {
  const domain = must(tables.domains.get(domains.acme))
  for (const [label, name, parent] of [
    ['tenant', 'rec-tenant', 'ROOT'],
    ['two', 'rec-two', 'ROOT'],
    ['child', 'rec-child', 'ROOT/rec-tenant'],
  ] as const)
    tables.domains.put({
      ...domain,
      id: id(label),
      name,
      path: `${parent}/${name}`,
      parentid: parent === 'ROOT' ? domains.ROOT : id('tenant'),
      level: parent === 'ROOT' ? 1 : 2,
    })
  const account = must(tables.accounts.get(accounts.acme))
  const user = must(tables.users.by('account', accounts.acme)[0])
  for (const [label, name, domainid, accounttype] of [
    ['tenantaccount', 'rec-tenant', 'tenant', 2],
    ['useraccount', 'rec-user', 'tenant', 0],
    ['limitaccount', 'rec-limit', 'tenant', 0],
    ['twoaccount', 'rec-two', 'two', 0],
  ] as const) {
    tables.accounts.put({ ...account, id: id(label), name, domainid: id(domainid), accounttype })
    const userid = label === 'tenantaccount' ? id('tenantuser') : id(`${label} user`)
    const username = label === 'tenantaccount' ? 'rec-tenant-admin' : name
    tables.users.put({
      ...user,
      id: userid,
      username,
      accountid: id(label),
      apikey: `key-${name}`,
      secretkey: `secret-${name}`,
    })
    // The recorded site has no limits but those that a request sets.
    for (let type = 0; type < 17; type += 1)
      for (const [owner, ownerid] of [
        ['account', id(label)],
        ['domain', id(domainid)],
      ] as const)
        tables.limits.put({ id: `${ownerid}/${type}`, owner, ownerid, resourcetype: type, max: -1 })
  }
  tables.configurations.put({
    ...must(tables.configurations.by('name', 'ldap.basedn')[0]),
    overrides: { [id('tenant')]: 'dc=rec,dc=example' },
  })
}

function fillOfferings({ tables }: SimulatorState): void {
  const small = must(tables.serviceofferings.get(wellKnown.service_offerings.small))
  tables.serviceofferings.put({ ...small, offerha: false })
  tables.serviceofferings.put({ ...small, id: id('tiny'), name: 'rec-tiny', memory: 256, cpuspeed: 250 })
  tables.serviceofferings.put({ ...small, id: id('big'), name: 'rec-big', cpunumber: 999, memory: 9_000_000 })
  const custom = must(tables.serviceofferings.get(wellKnown.service_offerings.custom))
  tables.serviceofferings.put({
    ...custom,
    id: id('ranged'),
    name: 'rec-custom',
    maxcpunumber: 8,
    minmemory: 256,
    maxmemory: 8192,
    offerha: false,
  })
  const open = { cpuspeed: null, mincpunumber: null, maxcpunumber: null, minmemory: null, maxmemory: null }
  tables.serviceofferings.put({ ...custom, ...open, id: id('unranged'), name: 'rec-open' })
  const gpu = must(tables.serviceofferings.get(wellKnown.service_offerings['gpu-a2']))
  tables.serviceofferings.put({ ...gpu, id: id('gpuoffering'), name: 'rec-gpu2' })
  const disk = must(tables.diskofferings.get(wellKnown.disk_offerings['custom-ssd']))
  tables.diskofferings.put({ ...disk, id: id('customdisk'), name: 'rec-disk' })
  tables.diskofferings.put({ ...disk, id: id('fixeddisk'), name: 'Small', iscustomized: false, disksize: 5 })
  tables.diskofferings.put({
    ...disk,
    id: id('tenantdisk'),
    name: 'rec-disk-2',
    iscustomized: false,
    disksize: 2,
    domainids: [id('tenant')],
  })
  const template = must(tables.templates.get(templates['Debian 12']))
  tables.templates.put({ ...template, isdynamicallyscalable: false, size_bytes: 2 * 1024 ** 3 })
  tables.templates.put({ ...template, id: id('systemtemplate'), name: 'SystemVM Template', templatetype: 'SYSTEM' })
}

function fillNetworks({ tables }: SimulatorState): void {
  const network = must(tables.networks.get(networks['acme-net']))
  const plans = [
    ['net1', 'admin', 1],
    ['net2', 'admin', 2],
    ['net3', 'admin', 3],
    ['unet', 'useraccount', 4],
    ['lnet', 'limitaccount', 5],
    ['tier', 'admin', 6],
    ['twonet', 'twoaccount', 7],
  ] as const
  for (const [label, owner, third] of plans)
    tables.networks.put({
      ...network,
      id: id(label),
      name: `rec-${label}`,
      displaytext: label,
      vlan: 600 + third,
      accountid: idOf(owner),
      cidr: `10.1.${third}.0/24`,
      gateway: `10.1.${third}.1`,
      state: label === 'unet' ? 'Allocated' : 'Implemented',
      vpcid: label === 'tier' ? id('vpc') : null,
    })
  tables.vpcs.put({
    id: id('vpc'),
    name: 'rec-vpc2',
    displaytext: 'x',
    zoneid: wellKnown.zone,
    cidr: '10.20.0.0/16',
    state: 'Enabled',
    accountid: accounts.admin,
    projectid: null,
  })
  const address = must([...tables.addresses.values()].find((one) => one.state === 'Free'))
  const range = must(tables.vlans.get(wellKnown.public_range))
  tables.vlans.put({
    ...range,
    id: id('range'),
    vlan: 'vlan://61',
    gateway: '192.168.61.1',
    startip: '192.168.61.10',
    endip: '192.168.61.20',
  })
  const used = { state: 'Allocated', allocated: 1, associatednetworkid: id('net1'), accountid: accounts.admin } as const
  tables.addresses.put({ ...address, id: id('range address'), ipaddress: '192.168.61.10', vlanid: id('range') })
  const router = must([...tables.routers.values()][0])
  tables.routers.put({ ...router, id: id('net1 router'), guestnetworkid: id('net1') })
  tables.addresses.put({ ...address, ...used, id: id('ip'), ipaddress: '192.168.0.13' })
  tables.addresses.put({ ...address, ...used, id: id('ip2'), ipaddress: '192.168.3.201' })
  tables.addresses.put({ ...address, ...used, id: id('sourcenat'), ipaddress: '192.168.0.7', issourcenat: true })
}

function fillMachines(state: SimulatorState): void {
  const { tables } = state
  const vm = must(tables.vms.get(vms['web-01']))
  const nic = must(vm.nics[0])
  const small = {
    serviceofferingid: wellKnown.service_offerings.small,
    cpunumber: 1,
    memory: 1024,
    isdynamicallyscalable: false,
  }
  const rows = [
    ['vm', 'rec-vm1', 'admin', 'net1'],
    ['vm2', 'rec-vm2', 'admin', 'net1'],
    ['vm3', 'rec-vm3', 'admin', 'net2'],
    ['vm4', 'rec-vm4', 'admin', 'net1'],
    ['gpuvm', 'rec-gpu', 'admin', 'net1'],
    ['limvm', 'rec-lim', 'limitaccount', 'lnet'],
    ['t1', 'rec-t1', 'twoaccount', 'twonet'],
    ['errvm', 'rec-big', 'admin', 'net1'],
    ['delvm', 'rec-del', 'admin', 'net1'],
  ] as const
  rows.forEach(([label, name, owner, networkid], index) => {
    const cards = [
      {
        ...nic,
        id: label === 'vm' ? id('nic') : id(`${label} nic`),
        networkid: id(networkid),
        ipaddress: `10.1.1.${10 + index}`,
      },
    ]
    if (label === 'vm')
      cards.push({
        ...nic,
        id: id('nic2'),
        networkid: id('net2'),
        ipaddress: '10.1.2.171',
        isdefault: false,
        deviceid: 1,
      })
    tables.vms.put({
      ...vm,
      ...small,
      id: id(label),
      number: 9000 + index,
      name,
      displayname: name,
      accountid: idOf(owner),
      nics: cards,
      hostid: hosts['kvm-01'],
      state: 'Running',
    })
    const root = must(tables.volumes.by('vm', vm.id).find((one) => one.type === 'ROOT'))
    tables.volumes.put({
      ...root,
      id: label === 'vm' ? id('rootvol') : id(`${label} root`),
      name: `ROOT-${9000 + index}`,
      virtualmachineid: id(label),
      accountid: idOf(owner),
      size_bytes: 4 * 1024 ** 3,
    })
  })
  tables.vms.put({
    ...must(tables.vms.get(id('vm4'))),
    serviceofferingid: id('ranged'),
    state: 'Stopped',
    hostid: null,
    details: { cpuNumber: '1', memory: '256' },
  })
  tables.vms.put({
    ...must(tables.vms.get(id('errvm'))),
    serviceofferingid: id('big'),
    memory: 9_000_000,
    state: 'Error',
    hostid: null,
  })
  for (const label of ['limvm', 't1'])
    tables.vms.put({ ...must(tables.vms.get(id(label))), state: 'Stopped', hostid: null })
  tables.vms.put({ ...must(tables.vms.get(id('delvm'))), state: 'Destroyed', hostid: null })
  const root = must(tables.volumes.get(id('rootvol')))
  const data = {
    ...root,
    type: 'DATADISK',
    virtualmachineid: null,
    deviceid: null,
    diskofferingid: id('customdisk'),
  } as const
  tables.volumes.put({ ...data, id: id('vol'), name: 'rec-vol1' })
  tables.volumes.put({ ...data, id: id('limvol'), name: 'rec-limvol', accountid: id('limitaccount') })
  tables.snapshots.put({
    ...must([...tables.snapshots.values()][0]),
    id: id('snapshot'),
    name: 'rec-snap',
    volumeid: id('rootvol'),
    accountid: accounts.admin,
  })
  const vm2 = must(tables.vms.get(id('vm2')))
  tables.vms.put({
    ...vm2,
    nics: vm2.nics.map((one) => ({ ...one, secondaryips: [{ id: id('secondary'), ipaddress: '10.1.1.142' }] })),
  })
}

/** What stood differently when a request was sent, in the words of the fixture. */
export function applyGiven(state: SimulatorState, given: string): void {
  const { tables } = state
  const [what = '', ...rest] = given.split(' ')
  const vm = must(tables.vms.get(id('vm')))
  const address = must(tables.addresses.get(id('ip')))
  const rule = must([...tables.rules.values()][0])
  const plain: Record<string, () => unknown> = {
    'vm gone': () => tables.vms.remove(id('vm')),
    'vm protected': () => tables.vms.put({ ...vm, deleteprotection: true }),
    'vm custom': () => tables.vms.put({ ...vm, serviceofferingid: id('unranged') }),
    'vm snapshot': () =>
      tables.vmsnapshots.put({
        ...must([...tables.vmsnapshots.values()][0]),
        id: id('vmsnapshot'),
        type: 'Disk',
        virtualmachineid: id('vm'),
        accountid: accounts.admin,
      }),
    'no root': () => tables.volumes.remove(id('rootvol')),
    'hosts full': () => {
      setting(state, 'cluster.threshold.enabled', 'false')
      tables.vms.put({ ...vm, state: 'Stopped', hostid: null, memory: 9_000_000, cpunumber: 999 })
    },
    'clusters over threshold': () => setting(state, 'cluster.memory.allocated.capacity.disablethreshold', '0'),
    'extraconfig off': () => setting(state, 'enable.additional.vm.configuration', 'false'),
    'ip static nat': () =>
      tables.addresses.put({ ...address, isstaticnat: true, virtualmachineid: id('vm2'), vmipaddress: '10.1.1.11' }),
    'ip free': () => tables.addresses.put({ ...address, state: 'Free', associatednetworkid: null }),
    'ip in vpc': () => tables.addresses.put({ ...address, vpcid: id('vpc'), associatednetworkid: null }),
    'ip rules': () => {
      for (const [label, port, last] of [
        ['rule22', 2222, 2222],
        ['rule8000', 8000, 8010],
        ['rule3', 3000, 3000],
      ] as const)
        tables.rules.put({
          ...rule,
          id: id(label),
          publicport: port,
          publicendport: last,
          privateport: label === 'rule22' ? 22 : port,
          privateendport: label === 'rule22' ? 22 : last,
          ipaddressid: id('ip'),
          virtualmachineid: id('vm2'),
          networkid: id('net1'),
          accountid: accounts.admin,
          cidrlist: label === 'rule8000' ? ['10.0.0.0/8'] : [],
        })
    },
    'rules gone': () => {
      for (const one of tables.rules.by('address', id('ip'))) tables.rules.remove(one.id)
    },
    'ip2 free': () => tables.addresses.put({ ...must(tables.addresses.get(id('ip2'))), state: 'Free' }),
    'pool of one cluster': () =>
      tables.storagepools.put({
        ...must(tables.storagepools.get(wellKnown.storage_pools['ceph-rbd'])),
        scope: 'CLUSTER',
        clusterid: clusters['cluster-a'],
      }),
    'gpu gone': () => tables.gpudevices.remove(id('gpu')),
    'net1 empty': () => {
      for (const one of tables.vms.filter((each) => each.nics.some((nic2) => nic2.networkid === id('net1'))))
        tables.vms.remove(one.id)
    },
    'vmsnapshot gone': () => {
      tables.vmsnapshots.put({ ...must([...tables.vmsnapshots.values()][0]), id: id('vmsnapshot') })
      tables.vmsnapshots.remove(id('vmsnapshot'))
    },
    'vol gone': () => tables.volumes.remove(id('vol')),
    'vol attached': () =>
      tables.volumes.put({ ...must(tables.volumes.get(id('vol'))), virtualmachineid: id('vm'), deviceid: 1 }),
    'router gone': () => tables.routers.clear(),
    'range dedicated': () => tables.vlans.put({ ...must(tables.vlans.get(id('range'))), domainid: id('tenant') }),
    'range gone': () => tables.vlans.remove(id('range')),
    'event archived': () => tables.events.put({ ...must(tables.events.get(id('event'))), archived: true }),
    'gpu unmanaged': () =>
      tables.gpudevices.put({ ...must(tables.gpudevices.get(id('gpu'))), managedstate: 'Unmanaged' }),
    'secondary gone': () => tables.vms.put({ ...must(tables.vms.get(id('vm2'))), nics: [] }),
    'secondary 10.1.1.222': () =>
      tables.vms.put({
        ...vm,
        nics: vm.nics.map((one) =>
          one.isdefault ? { ...one, secondaryips: [{ id: id('other'), ipaddress: '10.1.1.222' }] } : one,
        ),
      }),
    'tenant gone': () => tables.domains.remove(id('tenant')),
    'child gone': () => tables.domains.remove(id('child')),
  }
  const act = plain[given]
  if (act !== undefined) act()
  else if (what === 'vm' && (rest[0] === 'Stopped' || rest[0] === 'Destroyed'))
    tables.vms.put({ ...vm, state: rest[0], hostid: null })
  else if (what === 'limit' && rest.length === 3) {
    const owner = rest[0] === 'domain' ? 'domain' : 'account'
    const ownerid = id(owner === 'domain' ? 'tenant' : 'limitaccount')
    const resourcetype = Number(rest[1])
    tables.limits.put({ id: `${ownerid}/${resourcetype}`, owner, ownerid, resourcetype, max: Number(rest[2]) })
  } else if (rest[0] === 'locked' || rest[0] === 'disabled') {
    const account = must(tables.accounts.get(id(what === 'two' ? 'twoaccount' : 'limitaccount')))
    tables.accounts.put({ ...account, state: rest[0] })
  } else throw new Error(`the recorded site cannot stand so: ${given}`)
}

function setting({ tables }: SimulatorState, name: string, value: string): void {
  tables.configurations.put({ ...must(tables.configurations.by('name', name)[0]), value })
}

function must<T>(value: T | null | undefined): T {
  if (value === null || value === undefined) throw new Error('the seed has no such record')
  return value
}
