/** Zone, pod, clusters, hosts, storage and the physical network with its service providers. */
import { clusterName, hostFacts, POD_NAME, seededId, wellKnown, ZONE_NAME } from '../../site.ts'
import type { SiteSize } from '../../site.ts'
import type { SimulatorState } from '../state.ts'
import { wireDate } from '../wire.ts'

const GIB = 1024 ** 3
const TIB = 1024 ** 4
const HOST_MEMORY_GIB = 512

export function seedPlaces(state: SimulatorState, size: SiteSize): void {
  const { tables } = state
  tables.zones.put({
    id: wellKnown.zone,
    name: ZONE_NAME,
    networktype: 'Advanced',
    allocationstate: 'Enabled',
    securitygroupsenabled: false,
    localstorageenabled: false,
    type: 'Core',
    dns1: '9.9.9.9',
    dns2: '149.112.112.112',
    internaldns1: '10.0.0.2',
    internaldns2: '10.0.0.3',
    guestcidraddress: '10.1.0.0/16',
    dhcpprovider: 'VirtualRouter',
    zonetoken: seededId('token', ZONE_NAME),
    allowuserspecifyvrmtu: true,
    routerprivateinterfacemaxmtu: 1500,
    routerpublicinterfacemaxmtu: 1500,
    ismultiarch: false,
    isnsxenabled: false,
    routedmodeenabled: false,
    tags: [],
    hasannotations: false,
  })
  tables.pods.put({
    id: wellKnown.pod,
    name: POD_NAME,
    zoneid: wellKnown.zone,
    zonename: ZONE_NAME,
    gateway: '10.0.0.1',
    netmask: '255.255.0.0',
    allocationstate: 'Enabled',
    startip: ['10.0.250.10'],
    endip: ['10.0.250.250'],
    forsystemvms: ['0'],
    vlanid: ['vlan://untagged'],
    hasannotations: false,
    ipranges: [
      {
        gateway: '10.0.0.1',
        cidr: '10.0.0.0/16',
        startip: '10.0.250.10',
        endip: '10.0.250.250',
        forsystemvms: '0',
        vlanid: 'vlan://untagged',
      },
    ],
  })
  seedClusters(state, size)
  seedHosts(state, size)
  seedStorage(state, size)
  seedPhysicalNetwork(state)
}

function seedClusters(state: SimulatorState, size: SiteSize): void {
  for (let index = 0; index < size.clusters; index += 1) {
    const name = clusterName(index)
    state.tables.clusters.put({
      id: seededId('cluster', name),
      name,
      podid: wellKnown.pod,
      podname: POD_NAME,
      zoneid: wellKnown.zone,
      zonename: ZONE_NAME,
      hypervisortype: 'KVM',
      clustertype: 'CloudManaged',
      allocationstate: 'Enabled',
      managedstate: 'Managed',
      cpuovercommitratio: '2.0',
      memoryovercommitratio: '1.0',
      arch: 'x86_64',
      hasannotations: false,
    })
  }
}

/** Hosts grow with the number of VMs they must carry, so that every size of site is believable. */
function seedHosts(state: SimulatorState, size: SiteSize): void {
  const scale = Math.max(1, Math.ceil(size.vms / size.hosts / 40))
  for (let index = 0; index < size.hosts; index += 1) {
    const facts = hostFacts(index)
    const cluster = clusterName(Math.floor((index * size.clusters) / size.hosts))
    state.tables.hosts.put({
      id: seededId('host', facts.name),
      name: facts.name,
      ipaddress: facts.ip,
      zoneid: wellKnown.zone,
      podid: wellKnown.pod,
      clusterid: seededId('cluster', cluster),
      state: 'Up',
      resourcestate: 'Enabled',
      cpunumber: 64 * scale,
      cpusockets: 2,
      cpuspeed: 2400,
      memory_bytes: HOST_MEMORY_GIB * scale * GIB,
      ueficapability: index !== size.hosts - 1,
      hosttags: index < 2 ? 'gpu' : '',
      created: state.seeded_at - 90 * 86_400_000,
      annotation: null,
    })
  }
}

function seedStorage(state: SimulatorState, size: SiteSize): void {
  const scale = Math.max(1, Math.ceil(size.vms / 400))
  const common = {
    zoneid: wellKnown.zone,
    zonename: ZONE_NAME,
    state: 'Up',
    scope: 'ZONE',
    hypervisor: 'KVM',
    overprovisionfactor: '2.0',
    created: wireDate(state.seeded_at - 90 * 86_400_000),
    managed: false,
    provider: 'DefaultPrimary',
    hasannotations: false,
  }
  state.tables.storagepools.put({
    id: wellKnown.storage_pools['ceph-rbd'],
    name: 'ceph-rbd',
    type: 'RBD',
    ipaddress: '10.0.0.50',
    path: 'cloudstack',
    disksizetotal: 60 * TIB * scale,
    tags: 'ssd',
    ...common,
  })
  state.tables.storagepools.put({
    id: wellKnown.storage_pools['nfs-primary'],
    name: 'nfs-primary',
    type: 'NetworkFilesystem',
    ipaddress: '10.0.0.51',
    path: '/export/primary',
    disksizetotal: 20 * TIB * scale,
    tags: 'archive',
    ...common,
  })
  state.tables.imagestores.put({
    id: seededId('imagestore', 'secondary'),
    name: 'secondary',
    protocol: 'nfs',
    providername: 'NFS',
    scope: 'ZONE',
    url: 'nfs://10.0.0.51/export/secondary',
    zoneid: wellKnown.zone,
    zonename: ZONE_NAME,
    readonly: false,
    disksizetotal: 40 * TIB,
    disksizeused: 9 * TIB,
    hasannotations: false,
  })
}

/** Every provider a fresh zone has, enabled where its element is; the rest is there to be switched on. */
function seedPhysicalNetwork(state: SimulatorState): void {
  const { tables } = state
  const physicalnetworkid = wellKnown.physical_network
  tables.physicalnetworks.put({
    id: physicalnetworkid,
    name: 'guest-physical',
    zoneid: wellKnown.zone,
    zonename: ZONE_NAME,
    state: 'Enabled',
    vlan: '100-1099',
    isolationmethods: 'VLAN',
    broadcastdomainrange: 'ZONE',
    networkspeed: '10G',
    tags: '',
  })
  const routed = [
    'Vpn',
    'Dhcp',
    'Dns',
    'Gateway',
    'Firewall',
    'Lb',
    'SourceNat',
    'StaticNat',
    'PortForwarding',
    'UserData',
  ]
  const providers: [string, 'Enabled' | 'Disabled', string[], boolean][] = [
    ['VirtualRouter', 'Enabled', routed, false],
    ['VpcVirtualRouter', 'Enabled', [...routed.filter((name) => name !== 'Firewall'), 'NetworkACL'], false],
    ['InternalLbVm', 'Enabled', ['Lb'], false],
    ['SecurityGroupProvider', 'Disabled', ['SecurityGroup'], false],
    ['ConfigDrive', 'Enabled', ['UserData', 'Dhcp', 'Dns'], true],
    ['Ovs', 'Disabled', ['Connectivity', 'StaticNat', 'PortForwarding', 'Lb'], false],
  ]
  for (const [name, state, servicelist, canenableindividualservice] of providers) {
    tables.providers.put({
      id: seededId('provider', name),
      name,
      physicalnetworkid,
      destinationphysicalnetworkid: null,
      state,
      servicelist,
      canenableindividualservice,
    })
  }
  tables.elements.put({
    id: seededId('element', 'VirtualRouter'),
    kind: 'virtualrouter',
    nspid: seededId('provider', 'VirtualRouter'),
    enabled: true,
  })
  tables.elements.put({
    id: seededId('element', 'VpcVirtualRouter'),
    kind: 'virtualrouter',
    nspid: seededId('provider', 'VpcVirtualRouter'),
    enabled: true,
  })
  tables.elements.put({
    id: seededId('element', 'InternalLbVm'),
    kind: 'internallb',
    nspid: seededId('provider', 'InternalLbVm'),
    enabled: true,
  })
  tables.elements.put({
    id: seededId('element', 'Ovs'),
    kind: 'ovs',
    nspid: seededId('provider', 'Ovs'),
    enabled: false,
  })
}
