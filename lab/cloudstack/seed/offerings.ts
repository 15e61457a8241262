/** What can be chosen when something is made: compute, disk, network and VPC offerings. */
import { seededId, wellKnown } from '../../site.ts'
import type { DiskOffering, ServiceOffering } from '../records.ts'
import type { SimulatorState } from '../state.ts'
import { wireDate } from '../wire.ts'

export function seedOfferings(state: SimulatorState): void {
  const created = state.seeded_at - 70 * 86_400_000
  const { service_offerings: service, disk_offerings: disk } = wellKnown
  const fixed: [string, string, number, number][] = [
    [service.small, 'small', 1, 1024],
    [service.medium, 'medium', 2, 4096],
    [service.large, 'large', 4, 8192],
    [service.xlarge, 'xlarge', 8, 16_384],
  ]
  for (const [id, name, cpunumber, memory] of fixed)
    state.tables.serviceofferings.put(
      offering(id, name, created, { cpunumber, memory, cpuspeed: 1000, offerha: cpunumber > 2 }),
    )
  state.tables.serviceofferings.put(
    offering(service.custom, 'custom', created, {
      iscustomized: true,
      cpuspeed: 1000,
      mincpunumber: 1,
      maxcpunumber: 32,
      minmemory: 512,
      maxmemory: 131_072,
      dynamicscalingenabled: true,
      offerha: true,
    }),
  )
  state.tables.serviceofferings.put(
    offering(service['gpu-a2'], 'gpu-a2', created, {
      cpunumber: 8,
      memory: 32_768,
      cpuspeed: 1000,
      hosttags: 'gpu',
      vgpuprofileid: wellKnown.vgpu_profiles['A2 passthrough'],
      gpucount: 1,
    }),
  )
  state.tables.diskofferings.put(diskOffering(disk['ssd-20'], 'ssd-20', created, { disksize: 20, tags: 'ssd' }))
  state.tables.diskofferings.put(diskOffering(disk['ssd-100'], 'ssd-100', created, { disksize: 100, tags: 'ssd' }))
  state.tables.diskofferings.put(
    diskOffering(disk['custom-ssd'], 'custom-ssd', created, { iscustomized: true, tags: 'ssd' }),
  )
  state.tables.diskofferings.put(
    diskOffering(disk['archive-500'], 'archive-500', created, {
      disksize: 500,
      tags: 'archive',
      rates: { diskIopsReadRate: 500, diskIopsWriteRate: 500 },
    }),
  )
  seedNetworkOfferings(state, created)
}

export function offering(id: string, name: string, created: number, set: Partial<ServiceOffering>): ServiceOffering {
  return {
    id,
    name,
    displaytext: name,
    state: 'Active',
    cpunumber: null,
    cpuspeed: null,
    memory: null,
    iscustomized: false,
    mincpunumber: null,
    maxcpunumber: null,
    minmemory: null,
    maxmemory: null,
    offerha: false,
    dynamicscalingenabled: false,
    hosttags: null,
    storagetags: null,
    storagetype: 'shared',
    provisioningtype: 'thin',
    rootdisksize: null,
    vgpuprofileid: null,
    gpucount: 0,
    domainids: [],
    zoneids: [],
    created,
    ...set,
  }
}

export function diskOffering(id: string, name: string, created: number, set: Partial<DiskOffering>): DiskOffering {
  return {
    id,
    name,
    displaytext: name,
    state: 'Active',
    disksize: 0,
    iscustomized: false,
    storagetype: 'shared',
    provisioningtype: 'thin',
    tags: null,
    domainids: [],
    zoneids: [],
    displayoffering: true,
    disksizestrictness: false,
    encrypt: false,
    cachemode: 'none',
    sortkey: 0,
    iscustomizediops: false,
    rates: {},
    created,
    ...set,
  }
}

function seedNetworkOfferings(state: SimulatorState, created: number): void {
  const rows: [string, string, string, boolean][] = [
    [
      wellKnown.network_offerings['isolated-nat'],
      'DefaultIsolatedNetworkOfferingWithSourceNatService',
      'Isolated',
      false,
    ],
    [seededId('networkoffering', 'isolated-egress-deny'), 'IsolatedEgressDeny', 'Isolated', false],
    [wellKnown.network_offerings.shared, 'DefaultSharedNetworkOffering', 'Shared', false],
    [wellKnown.network_offerings.l2, 'DefaultL2NetworkOfferingVlan', 'L2', false],
    [wellKnown.network_offerings['vpc-tier'], 'DefaultIsolatedNetworkOfferingForVpcNetworks', 'Isolated', true],
  ]
  for (const [id, name, guestiptype, forvpc] of rows) {
    state.tables.networkofferings.put({
      id,
      name,
      displaytext: name,
      traffictype: 'Guest',
      guestiptype,
      state: 'Enabled',
      availability: 'Optional',
      forvpc,
      isdefault: true,
      conservemode: true,
      specifyvlan: guestiptype !== 'Isolated',
      specifyipranges: guestiptype === 'Shared',
      // As in the recording: what leaves a network needs a rule.
      egressdefaultpolicy: false,
      ispersistent: false,
      created: wireDate(created),
      networkrate: 200,
      internetprotocol: 'IPv4',
      hasannotations: false,
    })
  }
  state.tables.vpcofferings.put({
    id: seededId('vpcoffering', 'default'),
    name: 'Default VPC offering',
    displaytext: 'Default VPC offering',
    state: 'Enabled',
    isdefault: true,
    created: wireDate(created),
  })
}
