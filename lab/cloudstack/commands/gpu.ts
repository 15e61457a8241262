/** GPU cards, devices and vGPU profiles; every command of this area is synchronous. */
import { randomUUID } from 'node:crypto'
import { internal, invalid } from '../api-fault.ts'
import type { Call, Commands } from '../call.ts'
import type { GpuDevice, VgpuProfile } from '../records.ts'
import type { Json } from '../row.ts'
import { idTest, keywordTest, paged, same } from '../scope.ts'
import { list, object, success } from '../wire.ts'
import { needHost } from './infrastructure.ts'

export const gpu: Commands = {
  listGpuCards: (call) => {
    const { params, state } = call
    const byId = idTest(call)
    const keyword = keywordTest(call)
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
          keyword(card.name, card.vendorname, card.devicename) &&
          tests.every(({ name, test }) => test(card[name])) &&
          (params.bool('activeonly') !== true || used.has(card.id)),
      ),
      (card) => ({ ...card }),
    )
  },
  createGpuCard: (call) => {
    const { params, state } = call
    if (
      state.tables.gpucards.find(
        (card) =>
          card.vendorid === params.need('vendorid') &&
          card.deviceid === params.need('deviceid') &&
          card.name === params.need('name'),
      ) !== null
    )
      throw invalid('GPU card with this vendor ID and device ID already exists')
    const card = state.tables.gpucards.put({
      id: randomUUID(),
      name: params.need('name'),
      deviceid: params.need('deviceid'),
      devicename: params.need('devicename'),
      vendorid: params.need('vendorid'),
      vendorname: params.need('vendorname'),
    })
    return object({ ...card })
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
  createGpuDevice: (call) => {
    const { params, state } = call
    const host = needHost(call, params.need('hostid'))
    if (state.tables.gpudevices.by('host', host.id).some((one) => one.busaddress === params.need('busaddress')))
      throw invalid(`GPU device with bus address ${params.need('busaddress')} already exists on the host`)
    const profile = needProfile(call, params.need('vgpuprofileid'))
    const device = state.tables.gpudevices.put({
      id: randomUUID(),
      busaddress: params.need('busaddress'),
      gpudevicetype: typeOf(params.text('type')) ?? 'PCI',
      hostid: host.id,
      gpucardid: params.need('gpucardid'),
      vgpuprofileid: profile.id,
      virtualmachineid: null,
      state: 'Free',
      managedstate: 'Managed',
      parentgpudeviceid: params.text('parentgpudeviceid'),
      numanode: params.text('numanode') ?? '0',
    })
    return object(deviceView(call, device))
  },
  updateGpuDevice: (call) => {
    const { params, state } = call
    const device = needDevice(call, params.need('id'))
    if (device.virtualmachineid !== null)
      throw invalid(
        `GPU device ${device.busaddress} is currently allocated to VM ${state.tables.vms.get(device.virtualmachineid)?.name ?? ''}`,
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
        throw invalid(`GPU device ${device.busaddress} is currently allocated to VM and cannot be deleted`)
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
  updateVgpuProfile: (call) => {
    const { params, state } = call
    const one = needProfile(call, params.need('id'))
    if (params.text('name') !== null) refuseSameName(call, params.need('name'), one.id)
    return object(
      profileView(
        call,
        state.tables.vgpuprofiles.put({
          ...one,
          name: params.text('name') ?? one.name,
          description: params.text('description') ?? one.description,
          ...numbers(call, one),
        }),
      ),
    )
  },
  deleteVgpuProfile: (call) => {
    const one = needProfile(call, call.params.need('id'))
    if (call.state.tables.gpudevices.find((device) => device.vgpuprofileid === one.id) !== null)
      throw invalid(`Cannot delete vGPU profile ${one.name} as it is in use by one or more GPU devices`)
    call.state.tables.vgpuprofiles.remove(one.id)
    return success()
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
        `Failed to ${verb} GPU device: device ${device.busaddress} is in use by VM ${state.tables.vms.get(device.virtualmachineid)?.name ?? ''}`,
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
    throw invalid(`vGPU profile with name ${name} already exists`)
}

function typeOf(type: string | null): GpuDevice['gpudevicetype'] | null {
  if (type === null || type === 'PCI' || type === 'MDEV' || type === 'VGPUOnly') return type
  throw invalid(`Invalid GPU device type: ${type}`)
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
