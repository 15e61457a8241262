/** GPU cards, devices and vGPU profiles; every command of this area is synchronous. */
import { randomUUID } from 'node:crypto'
import { internal, invalid } from '../api-fault.ts'
import type { Call, Commands } from '../call.ts'
import type { GpuDevice, VgpuProfile } from '../records.ts'
import type { Json } from '../row.ts'
import { idTest, keywordTest, paged, same } from '../scope.ts'
import { numberOf } from '../texts.ts'
import { list, object, success } from '../wire.ts'
import { needHost } from './infrastructure.ts'

export const gpu: Commands = {
  listGpuCards: (call) => {
    const { params, state } = call
    if (params.text('keyword') !== null)
      throw internal(
        'Unable to find on DB, due to: You have an error in your SQL syntax; check the manual that corresponds to your MariaDB server version',
      )
    const byId = idTest(call)
    const tests = (['vendorname', 'vendorid', 'deviceid', 'devicename'] as const).map((name) => ({
      name,
      test: same(call, name),
    }))
    const used = new Set([...state.tables.gpudevices.values()].map((device) => device.gpucardid))
    return paged(
      call,
      state.tables.gpucards.filter(
        (card) =>
          byId(card.id) &&
          tests.every(({ name, test }) => test(card[name])) &&
          (params.bool('activeonly') !== true || used.has(card.id)),
      ),
      (card) => ({ ...card }),
    )
  },
  discoverGpuDevices: (call) => {
    const host = needHost(call, call.params.need('id'))
    if (host.state !== 'Up') throw invalid(`Host [${host.name}] is not in Up status`)
    addFound(call, host.id)
    const found = call.state.tables.gpudevices.by('host', host.id)
    return list(
      found.map((device) => deviceView(call, device)),
      found.length,
    )
  },
  listGpuDevices: (call) => {
    const byId = idTest(call)
    const tests = (['hostid', 'gpucardid', 'vgpuprofileid', 'virtualmachineid'] as const).map((name) => ({
      name,
      test: same(call, name),
    }))
    const keyword = keywordTest(call)
    return paged(
      call,
      call.state.tables.gpudevices.filter(
        (one) =>
          byId(one.id) &&
          keyword(one.busaddress, call.state.tables.gpucards.get(one.gpucardid)?.name) &&
          tests.every(({ name, test }) => test(one[name])),
      ),
      (one) => deviceView(call, one),
    )
  },
  manageGpuDevice: (call) => manage(call, 'Managed', 'enable'),
  unmanageGpuDevice: (call) => manage(call, 'Unmanaged', 'disable'),
  updateGpuDevice: (call) => {
    const { params, state } = call
    const device = needDevice(call, params.need('id'))
    if (device.virtualmachineid !== null)
      throw internal(
        `Cannot update GPU device ${device.id} as it is currently allocated to VM ${numberOf(device.virtualmachineid)}`,
      )
    const profileid = params.text('vgpuprofileid')
    if (profileid !== null) needProfile(call, profileid)
    const next = state.tables.gpudevices.put({
      ...device,
      gpucardid: params.text('gpucardid') ?? device.gpucardid,
      vgpuprofileid: profileid ?? device.vgpuprofileid,
      gpudevicetype: typeOf(params.text('type')) ?? device.gpudevicetype,
      parentgpudeviceid: params.text('parentgpudeviceid') ?? device.parentgpudeviceid,
      numanode: params.text('numanode') ?? device.numanode,
    })
    return object(deviceView(call, next))
  },
  deleteGpuDevice: (call) => {
    for (const id of call.params.list('ids')) {
      const device = needDevice(call, id)
      if (device.virtualmachineid !== null)
        throw internal(`Failed to delete vGPU profile: Cannot delete GPU device ${device.id} as it is in use`)
    }
    for (const id of call.params.list('ids')) call.state.tables.gpudevices.remove(id)
    return success()
  },
  listVgpuProfiles: (call) => {
    const { params, state } = call
    const byId = idTest(call)
    const keyword = keywordTest(call)
    const tests = (['name', 'gpucardid'] as const).map((name) => ({ name, test: same(call, name) }))
    const used = new Set([...state.tables.gpudevices.values()].map((device) => device.vgpuprofileid))
    return paged(
      call,
      state.tables.vgpuprofiles.filter(
        (one) =>
          byId(one.id) &&
          keyword(one.name, one.description) &&
          tests.every(({ name, test }) => test(one[name])) &&
          (params.bool('activeonly') !== true || used.has(one.id)),
      ),
      (one) => profileView(call, one),
    )
  },
  createVgpuProfile: (call) => {
    const { params, state } = call
    refuseSameName(call, params.need('name'), null)
    if (!state.tables.gpucards.has(params.need('gpucardid')))
      throw invalid(`GPU card with ID ${params.need('gpucardid')} not found`)
    return object(
      profileView(
        call,
        state.tables.vgpuprofiles.put({
          id: randomUUID(),
          name: params.need('name'),
          description: params.text('description') ?? params.need('name'),
          gpucardid: params.need('gpucardid'),
          ...numbers(call, null),
        }),
      ),
    )
  },
}

/** What the host's scripts find and the platform has no record of; records of what is gone stay, as upstream. */
function addFound(call: Call, hostid: string): void {
  const { gpudevices } = call.state.tables
  const known = new Map(gpudevices.by('host', hostid).map((one) => [one.busaddress, one.id]))
  for (const { parentbusaddress, ...found } of call.state.gpu_hardware.get(hostid) ?? []) {
    if (known.has(found.busaddress)) continue
    const device = gpudevices.put({
      id: randomUUID(),
      hostid,
      virtualmachineid: null,
      state: 'Free',
      managedstate: 'Managed',
      parentgpudeviceid: known.get(parentbusaddress ?? '') ?? null,
      numanode: '0',
      ...found,
    })
    known.set(device.busaddress, device.id)
  }
}

/** Every failure of these two comes as 530, a bad id included. */
function manage(call: Call, managedstate: GpuDevice['managedstate'], verb: string): ReturnType<typeof success> {
  const { state } = call
  const devices = call.params.list('ids').map((id) => {
    const device = state.tables.gpudevices.get(id)
    if (device === null) throw internal(`Failed to ${verb} GPU device: GPU device with ID: ${id} not found`)
    if (managedstate === 'Unmanaged' && device.virtualmachineid !== null)
      throw internal(
        `Failed to ${verb} GPU device: Cannot change resource state of GPU device GpuDevice ${JSON.stringify({ busAddress: device.busaddress, uuid: id })} as it is in use`,
      )
    return device
  })
  for (const device of devices) state.tables.gpudevices.put({ ...device, managedstate })
  return success()
}

function needDevice(call: Call, id: string): GpuDevice {
  const device = call.state.tables.gpudevices.get(id)
  if (device === null) throw invalid(`GPU device with ID ${id} not found`)
  return device
}

function needProfile(call: Call, id: string): VgpuProfile {
  const one = call.state.tables.vgpuprofiles.get(id)
  if (one === null) throw invalid(`vGPU profile with ID ${id} not found`)
  return one
}

function refuseSameName(call: Call, name: string, but: string | null): void {
  if (call.state.tables.vgpuprofiles.find((one) => one.name === name && one.id !== but) !== null)
    throw internal(`Failed to create vGPU profile: vGPU profile with name ${name} already exists`)
}

function typeOf(type: string | null): GpuDevice['gpudevicetype'] | null {
  if (type === null || type === 'PCI' || type === 'MDEV' || type === 'VGPUOnly') return type
  throw internal(`Invalid GPU device type: ${type}`)
}

function numbers(
  call: Call,
  before: VgpuProfile | null,
): Pick<VgpuProfile, 'maxvgpuperphysicalgpu' | 'videoram' | 'maxheads' | 'maxresolutionx' | 'maxresolutiony'> {
  const { params } = call
  return {
    maxvgpuperphysicalgpu: params.int('maxvgpuperphysicalgpu') ?? before?.maxvgpuperphysicalgpu ?? null,
    videoram: params.int('videoram') ?? before?.videoram ?? null,
    maxheads: params.int('maxheads') ?? before?.maxheads ?? null,
    maxresolutionx: params.int('maxresolutionx') ?? before?.maxresolutionx ?? null,
    maxresolutiony: params.int('maxresolutiony') ?? before?.maxresolutiony ?? null,
  }
}

function profileView(call: Call, one: VgpuProfile): Record<string, Json> {
  const card = call.state.tables.gpucards.get(one.gpucardid)
  return {
    ...one,
    gpucardname: card?.name ?? null,
    deviceid: card?.deviceid ?? null,
    devicename: card?.devicename ?? null,
    vendorid: card?.vendorid ?? null,
    vendorname: card?.vendorname ?? null,
  }
}

function deviceView(call: Call, one: GpuDevice): Record<string, Json> {
  const { tables } = call.state
  const vm = tables.vms.get(one.virtualmachineid)
  return {
    ...one,
    hostname: tables.hosts.get(one.hostid)?.name ?? null,
    gpucardname: tables.gpucards.get(one.gpucardid)?.name ?? null,
    vgpuprofilename: tables.vgpuprofiles.get(one.vgpuprofileid)?.name ?? null,
    virtualmachinename: vm?.name ?? null,
    vmstate: vm?.state ?? null,
  }
}
