/** Disks and ISOs of machines. */
import { ApiFault, internal, invalid } from '../api-fault.ts'
import { job } from '../call.ts'
import type { Call, Commands, Outcome } from '../call.ts'
import type { EventSubject } from '../event-log.ts'
import { defaultPool, needVm, requireState, setVm, vmEvent, vmJob } from '../machines.ts'
import { requireQuota } from '../quota.ts'
import type { Volume } from '../records.ts'
import { idTest, keywordTest, ownerFor, paged, same, visible } from '../scope.ts'
import { setting } from '../settings.ts'
import { volumeView } from '../storage-view.ts'
import { vmView } from '../vm-view.ts'
import { list, success } from '../wire.ts'
import { removedText, vmText } from '../texts.ts'
import { chosenId, diskSize, sizeError } from './vm-deploy.ts'

const GIB = 1024 ** 3

export const volumes: Commands = {
  listVolumes: (call) => {
    const { params, state } = call
    const tests = [visible(call), volumeTest(call)]
    const vmid = params.text('virtualmachineid')
    const rows = vmid === null ? state.tables.volumes.values() : state.tables.volumes.by('vm', vmid)
    const found = [...rows].filter((volume) => tests.every((test) => test(volume)))
    if (params.bool('retrieveonlyresourcecount') === true) return list([], found.length)
    return paged(call, found, (volume) => volumeView(state, volume))
  },
  createVolume: (call) => {
    const { params, state } = call
    const offeringid = params.text('diskofferingid')
    const snapshot = state.tables.snapshots.get(params.text('snapshotid'))
    if (offeringid === null && snapshot === null)
      throw invalid('At least one of disk Offering ID or snapshot ID must be passed whilst creating volume')
    const size_gb =
      offeringid === null
        ? Math.ceil((snapshot?.size_bytes ?? 0) / GIB)
        : diskSize(call, offeringid, params.int('size')).size_gb
    if (params.text('zoneid') === null && snapshot === null) throw invalid('Unable to find zone by id null')
    const owner = ownerFor(call)
    requireQuota(state, owner, [
      [2, 1],
      [10, size_gb],
    ])
    const volume = state.tables.volumes.put({
      id: chosenId(call, (taken) => state.tables.volumes.has(taken)),
      name: params.text('name') ?? `volume-${Date.now()}`,
      type: 'DATADISK',
      state: 'Allocated',
      size_bytes: size_gb * GIB,
      zoneid: params.text('zoneid') ?? snapshot?.zoneid ?? '',
      storageid: null,
      virtualmachineid: null,
      deviceid: null,
      diskofferingid: offeringid,
      serviceofferingid: null,
      templateid: null,
      snapshotid: snapshot?.id ?? null,
      miniops: params.int('miniops'),
      maxiops: params.int('maxiops'),
      created: Date.now(),
      attached: null,
      deleteprotection: false,
      ...owner,
    })
    return job({
      ...volumeJob(volume),
      id: volume.id,
      duration_ms: snapshot === null ? 800 : 3000,
      event: volumeEvent('VOLUME.CREATE', 'creating volume', volume),
      end: () =>
        volumeView(
          state,
          snapshot === null
            ? need(call, volume.id)
            : state.tables.volumes.put({ ...need(call, volume.id), state: 'Ready', storageid: defaultPool(state) }),
        ),
    })
  },
  attachVolume: (call) => attach(call),
  detachVolume: (call) => detach(call),
  resizeVolume: (call) => resize(call, call.params.text('diskofferingid')),
  changeOfferingForVolume: (call) => resize(call, call.params.need('diskofferingid')),
  deleteVolume: (call) => {
    const volume = need(call, call.params.need('id'))
    if (volume.virtualmachineid !== null) throw invalid(`Please specify a volume that is not attached to any VM.`)
    if (volume.deleteprotection)
      throw invalid(
        `Volume [id = ${volume.id}, name = ${volume.name}] has delete protection enabled. Cannot be deleted.`,
      )
    call.state.tables.volumes.remove(volume.id)
    call.event(volumeEvent('VOLUME.DELETE', 'deleting volume', volume))
    return success()
  },
  attachIso: (call) => {
    const { params, state } = call
    const vm = needVm(state, params.need('virtualmachineid'))
    const iso = state.tables.templates.get(params.need('id'))
    if (iso === null || !iso.iso) throw invalid('Unable to find an ISO with id: entity does not exist')
    return job({
      ...vmJob(vm),
      duration_ms: 600,
      event: vmEvent('ISO.ATTACH', `attaching ISO: ${iso.id} to VM`, vm),
      begin: () => {
        requireState(
          needVm(state, vm.id),
          ['Stopped', 'Running'],
          'Please specify a VM that is either Stopped or Running.',
        )
        if (!iso.isready || iso.zoneid !== vm.zoneid) throw invalid('ISO is not available in the zone the VM is in.')
      },
      end: () => vmView(state, setVm(state, vm.id, { isoid: iso.id })),
    })
  },
  detachIso: (call) => {
    const { state } = call
    const vm = needVm(state, call.params.need('virtualmachineid'))
    return job({
      ...vmJob(vm),
      duration_ms: 600,
      event: vmEvent('ISO.DETACH', 'detaching ISO from VM', vm),
      begin: () => {
        const now = needVm(state, vm.id)
        if (now.isoid === null) throw invalid('The specified VM has no ISO attached to it.')
        requireState(now, ['Stopped', 'Running'], 'Please specify a VM that is either Stopped or Running.')
      },
      end: () => vmView(state, setVm(state, vm.id, { isoid: null })),
    })
  },
}

function need(call: Call, id: string | null): Volume {
  const volume = call.state.tables.volumes.get(id)
  if (volume === null) throw invalid(removedText(id ?? '0', 'Volume'))
  return volume
}

/** A volume on a machine waits in the machine's queue. */
function volumeJob(volume: Volume): { instancetype: string; instanceid: string; queue: string } {
  return {
    instancetype: 'Volume',
    instanceid: volume.id,
    queue: volume.virtualmachineid === null ? `volume/${volume.id}` : `vm/${volume.virtualmachineid}`,
  }
}

function volumeEvent(type: string, description: string, volume: Volume): EventSubject {
  return {
    type,
    description: `${description}. Volume Id: ${volume.id}`,
    resourcetype: 'Volume',
    resourceid: volume.id,
    resourcename: volume.name,
  }
}

function volumeTest(call: Call): (volume: Volume) => boolean {
  const { params, state } = call
  const byId = idTest(call)
  const keyword = keywordTest(call)
  const tests = (['name', 'zoneid', 'type', 'state', 'storageid', 'diskofferingid', 'serviceofferingid'] as const).map(
    (name) => ({ name, test: same(call, name) }),
  )
  const hostid = params.text('hostid')
  return (volume) =>
    byId(volume.id) &&
    keyword(volume.name, volume.type) &&
    tests.every(({ name, test }) => test(volume[name])) &&
    (hostid === null || state.tables.vms.get(volume.virtualmachineid)?.hostid === hostid)
}

/** A job that is taken and can only fail. */
function failing(instancetype: string, instanceid: string | null, reason: string): Outcome {
  return job({
    instancetype,
    instanceid,
    duration_ms: 100,
    end: () => {
      throw invalid(reason)
    },
  })
}

function attach(call: Call): Outcome {
  const { params, state } = call
  const volume = need(call, params.need('id'))
  const vm = needVm(state, params.need('virtualmachineid'))
  const wanted = params.int('deviceid')
  return job({
    instancetype: 'Volume',
    instanceid: volume.id,
    queue: `vm/${vm.id}`,
    duration_ms: 900,
    event: volumeEvent('VOLUME.ATTACH', `attaching volume to VM ${vm.name}`, volume),
    begin: () => {
      const now = need(call, volume.id)
      if (now.virtualmachineid !== null) throw invalid('Please specify a volume that is not attached to any VM.')
      if (now.state === 'Destroy' || now.state === 'Expunged')
        throw invalid('Please specify a volume that is not destroyed.')
      if (!['Allocated', 'Ready', 'Uploaded'].includes(now.state))
        throw invalid(`Volume state must be in Allocated, Ready or in Uploaded state`)
      requireState(
        needVm(state, vm.id),
        ['Running', 'Stopped'],
        'Please specify a VM that is either running or stopped.',
      )
      if (now.zoneid !== vm.zoneid) throw invalid('Please specify a VM that is in the same zone as the volume.')
      if (now.accountid !== vm.accountid)
        throw internal(`Entity ${vmText(vm)} and entity VolumeObject ${now.name} belong to different accounts`)
      if (state.tables.vmsnapshots.by('vm', vm.id).length > 0)
        throw invalid(
          `Unable to attach volume to VM i-2-${vm.number}-VM/${vm.id}, please specify a VM that does not have VM snapshots`,
        )
      const used = new Set(state.tables.volumes.by('vm', vm.id).map((one) => one.deviceid))
      if (wanted === 0 && needVm(state, vm.id).state !== 'Stopped')
        throw invalid('Root volume detach can happen only when vm is in states: Stopped or Destroyed')
      if (wanted !== null && (wanted === 0 || wanted === 3 || used.has(wanted)))
        throw invalid(`deviceId ${wanted} is used by vm ${vm.name}`)
      state.tables.volumes.put({ ...now, state: 'Attaching' })
    },
    end: () => {
      const used = new Set(state.tables.volumes.by('vm', vm.id).map((one) => one.deviceid))
      let deviceid = wanted ?? 1
      // Slot 3 belongs to the CD drive.
      while (wanted === null && (used.has(deviceid) || deviceid === 3)) deviceid += 1
      return volumeView(
        state,
        state.tables.volumes.put({
          ...need(call, volume.id),
          state: 'Ready',
          storageid: volume.storageid ?? defaultPool(state),
          virtualmachineid: vm.id,
          deviceid,
          attached: Date.now(),
        }),
      )
    },
    fail: () => {
      state.tables.volumes.put({ ...need(call, volume.id), state: volume.state })
    },
  })
}

function detach(call: Call): Outcome {
  const { params, state } = call
  const id = params.text('id')
  const vmid = params.text('virtualmachineid')
  const deviceid = params.int('deviceid')
  const either = 'Please provide either a volume id, or a tuple(device id, instance id)'
  if ((id === null) === (vmid === null || deviceid === null)) return failing('None', null, either)
  const volume =
    id === null
      ? (state.tables.volumes.by('vm', vmid).find((one) => one.deviceid === deviceid) ?? need(call, null))
      : need(call, id)
  return job({
    ...volumeJob(volume),
    duration_ms: 900,
    event: volumeEvent('VOLUME.DETACH', 'detaching volume', volume),
    begin: () => {
      const now = need(call, volume.id)
      if (now.virtualmachineid === null) throw invalid('The specified volume is not attached to a VM.')
      const vm = needVm(state, now.virtualmachineid)
      requireState(
        vm,
        now.type === 'ROOT' ? ['Stopped', 'Destroyed'] : ['Running', 'Stopped', 'Destroyed'],
        now.type === 'ROOT'
          ? 'Root volume detach can happen only when vm is in states: Stopped or Destroyed'
          : 'Please specify a VM that is either running or stopped or destroyed.',
      )
      if (state.tables.vmsnapshots.by('vm', vm.id).length > 0)
        throw invalid('Unable to detach volume, please specify a VM that does not have VM snapshots')
      state.tables.volumes.put({ ...now, state: 'Detaching' })
    },
    end: () =>
      volumeView(
        state,
        state.tables.volumes.put({
          ...need(call, volume.id),
          state: 'Ready',
          virtualmachineid: null,
          deviceid: null,
          attached: null,
        }),
      ),
    fail: () => {
      state.tables.volumes.put({ ...need(call, volume.id), state: 'Ready' })
    },
  })
}

function resize(call: Call, offeringid: string | null): Outcome {
  const { params, state } = call
  const volume = need(call, params.need('id'))
  const size = params.int('size')
  const next = state.tables.diskofferings.get(offeringid ?? volume.diskofferingid)
  if (volume.state !== 'Ready' && volume.state !== 'Allocated')
    throw invalid(
      `Volume should be in ready or allocated state before attempting a resize. Volume ${volume.id} is in state ${volume.state}.`,
    )
  if (offeringid !== null && next === null) throw invalid('Unable to find disk offering: entity does not exist')
  if (offeringid !== null && next !== null && !next.iscustomized && size !== null)
    throw invalid('You cannot pass in a custom disk size to a non-custom disk offering.')
  if (offeringid === null && next !== null && !next.iscustomized)
    throw invalid(`The size is fixed by the disk offering ${next.name} of the volume`)
  const size_gb = next !== null && !next.iscustomized ? next.disksize : (size ?? Math.ceil(volume.size_bytes / GIB))
  const shrinks = size_gb * GIB < volume.size_bytes
  if (!shrinks) requireQuota(state, volume, [[10, size_gb - Math.ceil(volume.size_bytes / GIB)]])
  return job({
    ...volumeJob(volume),
    duration_ms: 1000,
    event: volumeEvent('VOLUME.RESIZE', 'resizing volume', volume),
    begin: () => {
      if (size_gb <= 0 || size_gb > 1024) throw new ApiFault(432, sizeError(size_gb))
      if (shrinks && params.bool('shrinkok') !== true)
        throw new ApiFault(
          432,
          `Going from existing size of ${volume.size_bytes} to size of ${size_gb * GIB} would shrink the volume.Need to sign off by supplying the shrinkok parameter with value of true.`,
        )
      const pool = state.tables.storagepools.get(volume.storageid)
      const room =
        Number(pool?.['disksizetotal'] ?? 0) *
        Number(pool?.['overprovisionfactor'] ?? 1) *
        Number(setting(state, 'pool.storage.allocated.capacity.disablethreshold', pool?.id ?? null))
      if (pool !== null && state.poolUse(pool.id) - volume.size_bytes + size_gb * GIB > room)
        throw internal('Storage pool does not have enough space to resize the volume')
      state.tables.volumes.put({ ...need(call, volume.id), state: 'Resizing' })
    },
    end: () =>
      volumeView(
        state,
        state.tables.volumes.put({
          ...need(call, volume.id),
          state: volume.state,
          size_bytes: size_gb * GIB,
          diskofferingid: offeringid ?? volume.diskofferingid,
          miniops: params.int('miniops') ?? volume.miniops,
          maxiops: params.int('maxiops') ?? volume.maxiops,
        }),
      ),
    fail: () => {
      state.tables.volumes.put({ ...need(call, volume.id), state: volume.state })
    },
  })
}
