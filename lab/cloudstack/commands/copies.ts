/** Snapshots of volumes and machines, backups, and bringing machines back from them. */
import { randomUUID } from 'node:crypto'
import { internal, invalid } from '../api-fault.ts'
import { job } from '../call.ts'
import type { Call, Commands } from '../call.ts'
import type { EventSubject } from '../event-log.ts'
import { needVm, requireState, setVm, vmEvent, vmJob } from '../machines.ts'
import { requireQuota } from '../quota.ts'
import type { Backup, Snapshot, VmSnapshot } from '../records.ts'
import { idTest, keywordTest, paged, same, visible } from '../scope.ts'
import { backupView, snapshotView, vmSnapshotView } from '../storage-view.ts'
import { removedText } from '../texts.ts'
import { vmView } from '../vm-view.ts'

const GIB = 1024 ** 3

export const copies: Commands = {
  createVMSnapshot: (call) => {
    const { params, state } = call
    const vm = needVm(state, params.need('virtualmachineid'))
    const memory = params.bool('snapshotmemory') ?? false
    if (vm.state !== 'Running' && vm.state !== 'Stopped')
      throw internal(
        `Failed to create vm snapshot: Creating vm snapshot failed due to VM:${vm.number} is not in the running or Stopped state`,
      )
    if (memory && vm.state !== 'Running') throw invalid('Can not snapshot memory when VM is not in Running state')
    if (state.tables.vmsnapshots.by('vm', vm.id).some((one) => one.state !== 'Ready' && one.state !== 'Error'))
      throw invalid('There is other active vm snapshot tasks on the instance, please try again later')
    const name = `i-2-${vm.number}-VM_VS_${new Date().toISOString().slice(0, 19).replaceAll(/[-:T]/g, '')}`
    const parent = state.tables.vmsnapshots.by('vm', vm.id).find((one) => one.current)
    const snapshot = state.tables.vmsnapshots.put({
      id: randomUUID(),
      name,
      displayname: params.text('name') ?? name,
      description: params.text('description'),
      state: 'Allocated',
      type: memory ? 'DiskAndMemory' : 'Disk',
      virtualmachineid: vm.id,
      parentid: parent?.id ?? null,
      current: false,
      created: Date.now(),
      accountid: vm.accountid,
      projectid: vm.projectid,
    })
    return job({
      instancetype: 'VmSnapshot',
      instanceid: snapshot.id,
      queue: `vm/${vm.id}`,
      id: snapshot.id,
      duration_ms: 2000,
      event: vmEvent('VMSNAPSHOT.CREATE', 'creating VM snapshot', vm),
      begin: () => {
        state.tables.vmsnapshots.put({ ...snapshot, state: 'Creating' })
      },
      end: () => {
        for (const one of state.tables.vmsnapshots.by('vm', vm.id))
          if (one.current) state.tables.vmsnapshots.put({ ...one, current: false })
        return vmSnapshotView(state, state.tables.vmsnapshots.put({ ...snapshot, state: 'Ready', current: true }))
      },
      fail: () => {
        state.tables.vmsnapshots.put({ ...snapshot, state: 'Error' })
      },
    })
  },
  listVMSnapshot: (call) => {
    const { params, state } = call
    const mine = visible(call)
    const id = params.text('vmsnapshotid')
    const ids = params.list('vmsnapshotids')
    const tests = (['virtualmachineid', 'state', 'displayname'] as const).map((name) => ({
      name,
      test: same(call, name === 'displayname' ? 'name' : name),
    }))
    const keyword = keywordTest(call)
    const found = state.tables.vmsnapshots.filter(
      (one) =>
        (id !== null || mine(one)) &&
        (id === null || one.id === id) &&
        (ids.length === 0 || ids.includes(one.id)) &&
        tests.every(({ name, test }) => test(one[name])) &&
        keyword(one.name, one.displayname),
    )
    return paged(call, found, (one) => vmSnapshotView(state, one))
  },
  revertToVMSnapshot: (call) => {
    const { params, state } = call
    const snapshot = needVmSnapshot(call, params.need('vmsnapshotid'))
    const vm = needVm(state, snapshot.virtualmachineid)
    return job({
      ...vmJob(vm),
      duration_ms: 2500,
      event: vmEvent('VMSNAPSHOT.REVERTTO', 'reverting to VM snapshot', vm),
      begin: () => {
        const now = needVm(state, vm.id)
        requireState(
          now,
          ['Running', 'Stopped'],
          'VM Snapshot reverting failed due to vm is not in the state of Running or Stopped.',
        )
        if (now.state === 'Running' && snapshot.type === 'Disk')
          throw invalid(
            'VM Snapshot revert not allowed. This will result in VM state change. You can revert running VM to disk and memory type snapshot and stopped VM to disk type snapshot',
          )
        if (now.state === 'Stopped' && snapshot.type === 'DiskAndMemory')
          throw invalid(
            'VM Snapshot revert not allowed. This will result in VM state change. You can revert running VM to disk and memory type snapshot and stopped VM to disk type snapshot',
          )
        if (snapshot.state !== 'Ready')
          throw invalid('VM Snapshot reverting failed because the snapshot is not in the Ready state')
        state.tables.vmsnapshots.put({ ...snapshot, state: 'Reverting' })
      },
      end: () => {
        for (const one of state.tables.vmsnapshots.by('vm', vm.id))
          state.tables.vmsnapshots.put({
            ...one,
            current: one.id === snapshot.id,
            state: one.id === snapshot.id ? 'Ready' : one.state,
          })
        return vmView(state, setVm(state, vm.id, {}))
      },
      fail: () => {
        state.tables.vmsnapshots.put({ ...snapshot, state: 'Ready' })
      },
    })
  },
  deleteVMSnapshot: (call) => {
    const { params, state } = call
    const snapshot = needVmSnapshot(call, params.need('vmsnapshotid'))
    const vm = needVm(state, snapshot.virtualmachineid)
    return job({
      instancetype: 'VmSnapshot',
      instanceid: snapshot.id,
      queue: `vm/${vm.id}`,
      duration_ms: 1500,
      event: vmEvent('VMSNAPSHOT.DELETE', 'deleting VM snapshot', vm),
      begin: () => {
        if (snapshot.state !== 'Ready' && snapshot.state !== 'Error')
          throw invalid(`Can't delete the vm snapshot ${snapshot.name} due to it is not in Ready or Error state`)
        state.tables.vmsnapshots.put({ ...snapshot, state: 'Expunging' })
      },
      end: () => {
        for (const one of state.tables.vmsnapshots.by('vm', vm.id))
          if (one.parentid === snapshot.id) state.tables.vmsnapshots.put({ ...one, parentid: snapshot.parentid })
        const parent = state.tables.vmsnapshots.get(snapshot.parentid)
        if (snapshot.current && parent !== null) state.tables.vmsnapshots.put({ ...parent, current: true })
        state.tables.vmsnapshots.remove(snapshot.id)
        return null
      },
      fail: () => {
        state.tables.vmsnapshots.put({ ...snapshot, state: 'Ready' })
      },
    })
  },
  listSnapshots: (call) => {
    const mine = visible(call)
    const byId = idTest(call)
    const keyword = keywordTest(call)
    const tests = (['name', 'volumeid', 'zoneid'] as const).map((name) => ({ name, test: same(call, name) }))
    return paged(
      call,
      call.state.tables.snapshots.filter(
        (one) => mine(one) && byId(one.id) && keyword(one.name) && tests.every(({ name, test }) => test(one[name])),
      ),
      (one) => snapshotView(call.state, one),
    )
  },
  createSnapshot: (call) => {
    const { params, state } = call
    const volume = state.tables.volumes.get(params.need('volumeid'))
    if (volume === null) throw invalid('Unable to find volume: entity does not exist')
    if (volume.state !== 'Ready')
      throw invalid(
        `Volume: Volume ${JSON.stringify({ name: volume.name, uuid: volume.id, volumeType: volume.type })} is not in Ready state but ${volume.state}. Cannot take snapshot.`,
      )
    requireQuota(state, volume, [[3, 1]])
    const vm = state.tables.vms.get(volume.virtualmachineid)
    const stamp = new Date().toISOString().slice(0, 19).replaceAll(/[-:T]/g, '')
    const snapshot = state.tables.snapshots.put({
      id: randomUUID(),
      name: params.text('name') ?? `${vm?.name ?? 'detached'}_${volume.name}_${stamp}`,
      volumeid: volume.id,
      state: 'Allocated',
      size_bytes: volume.size_bytes,
      zoneid: volume.zoneid,
      created: Date.now(),
      accountid: volume.accountid,
      projectid: volume.projectid,
    })
    const is = (next: Snapshot['state']) => state.tables.snapshots.put({ ...snapshot, state: next })
    return job({
      instancetype: 'Snapshot',
      instanceid: snapshot.id,
      queue: `volume/${volume.id}`,
      id: snapshot.id,
      duration_ms: 2500,
      event: snapshotEvent('SNAPSHOT.CREATE', 'creating snapshot', snapshot),
      begin: () => void is('BackingUp'),
      end: () => snapshotView(state, is('BackedUp')),
      fail: () => void is('Error'),
    })
  },
  deleteSnapshot: (call) => {
    const { state } = call
    const snapshot = needSnapshot(call)
    return job({
      instancetype: 'Snapshot',
      instanceid: snapshot.id,
      queue: `volume/${snapshot.volumeid}`,
      duration_ms: 1000,
      event: snapshotEvent('SNAPSHOT.DELETE', 'deleting snapshot', snapshot),
      begin: () => {
        if (snapshot.state !== 'BackedUp' && snapshot.state !== 'Error')
          throw invalid(`Can't delete snapshot ${snapshot.id} due to it is in ${snapshot.state} state`)
        state.tables.snapshots.put({ ...snapshot, state: 'Destroying' })
      },
      end: () => {
        state.tables.snapshots.remove(snapshot.id)
        return { success: true }
      },
      fail: () => void state.tables.snapshots.put(snapshot),
    })
  },
  revertSnapshot: (call) => {
    const { state } = call
    const snapshot = needSnapshot(call)
    return job({
      instancetype: 'Snapshot',
      instanceid: snapshot.id,
      queue: `volume/${snapshot.volumeid}`,
      duration_ms: 2500,
      event: snapshotEvent('SNAPSHOT.REVERT', 'reverting snapshot', snapshot),
      begin: () => {
        const vm = state.tables.vms.get(state.tables.volumes.get(snapshot.volumeid)?.virtualmachineid)
        if (vm !== null && vm.state !== 'Stopped' && vm.state !== 'Shutdown')
          throw invalid('The VM the specified disk is attached to is not in the shutdown state.')
        if (snapshot.state !== 'BackedUp') throw invalid(`Snapshot is not in BackedUp state: ${snapshot.state}`)
      },
      end: () => snapshotView(state, snapshot),
    })
  },
  listBackups: (call) => {
    const mine = visible(call)
    const byId = idTest(call)
    const keyword = keywordTest(call)
    const tests = (['virtualmachineid', 'zoneid', 'name', 'backupofferingid'] as const).map((name) => ({
      name,
      test: same(call, name),
    }))
    return paged(
      call,
      call.state.tables.backups.filter(
        (one) => mine(one) && byId(one.id) && keyword(one.name) && tests.every(({ name, test }) => test(one[name])),
      ),
      (one) => backupView(call.state, one),
    )
  },
  restoreBackup: (call) => {
    const { state } = call
    const backup = needBackup(call)
    const vm = needVm(state, backup.virtualmachineid)
    return job({
      ...vmJob(vm),
      duration_ms: 4000,
      event: vmEvent('BACKUP.RESTORE', 'restoring VM from backup', vm),
      begin: () => {
        if (backup.status !== 'BackedUp') throw internal('Backup should be in BackedUp state to be restored')
        const now = needVm(state, vm.id)
        if (now.state !== 'Stopped' && now.state !== 'Destroyed')
          throw internal('Existing VM should be stopped before being restored from backup')
        setVm(state, vm.id, { state: 'Restoring' })
        state.tables.backups.put({ ...backup, status: 'Restoring' })
      },
      end: () => {
        state.tables.backups.put({ ...backup, status: 'BackedUp' })
        setVm(state, vm.id, { state: 'Stopped' })
        return null
      },
      fail: () => {
        state.tables.backups.put({ ...backup, status: 'BackedUp' })
        setVm(state, vm.id, { state: 'Stopped' })
      },
    })
  },
  restoreVirtualMachine: (call) => {
    const { params, state } = call
    const vm = needVm(state, params.need('virtualmachineid'))
    const template = state.tables.templates.get(params.text('templateid') ?? vm.templateid)
    return job({
      ...vmJob(vm),
      duration_ms: 3000,
      event: vmEvent('VM.RESTORE', 'restoring Vm', vm),
      begin: () => {
        const now = needVm(state, vm.id)
        if (now.state !== 'Running' && now.state !== 'Stopped')
          throw internal(
            `Vm ${vm.id} currently in ${now.state} state, restore vm can only execute when VM in Running or Stopped`,
          )
        if (state.tables.vmsnapshots.by('vm', vm.id).length > 0)
          throw invalid('Unable to restore VM, please remove VM snapshots before restoring VM')
        if (template === null || !template.isready)
          throw invalid('Cannot restore the VM: the template is not available in the zone')
      },
      end: () => {
        const size_gb = params.int('rootdisksize')
        for (const volume of state.tables.volumes.by('vm', vm.id)) {
          if (volume.type !== 'ROOT') continue
          state.tables.volumes.remove(volume.id)
          state.tables.volumes.put({
            ...volume,
            id: randomUUID(),
            templateid: template?.id ?? volume.templateid,
            size_bytes: size_gb === null ? volume.size_bytes : size_gb * GIB,
            created: Date.now(),
            diskofferingid: params.text('diskofferingid') ?? volume.diskofferingid,
          })
        }
        return vmView(
          state,
          setVm(state, vm.id, {
            templateid: template?.id ?? vm.templateid,
            ostypeid: template?.ostypeid ?? vm.ostypeid,
          }),
        )
      },
    })
  },
}

function needVmSnapshot(call: Call, id: string): VmSnapshot {
  const snapshot = call.state.tables.vmsnapshots.get(id)
  if (snapshot === null) throw invalid(removedText(id, 'VMSnapshot'))
  return snapshot
}

function needSnapshot(call: Call): Snapshot {
  const snapshot = call.state.tables.snapshots.get(call.params.need('id'))
  if (snapshot === null) throw invalid('Unable to find snapshot: entity does not exist')
  return snapshot
}

function needBackup(call: Call): Backup {
  const backup = call.state.tables.backups.get(call.params.need('id'))
  if (backup === null) throw internal('Backup does not exist')
  return backup
}

function snapshotEvent(type: string, description: string, snapshot: Snapshot): EventSubject {
  return {
    type,
    description: `${description}. Snapshot Id: ${snapshot.id}`,
    resourcetype: 'Snapshot',
    resourceid: snapshot.id,
    resourcename: snapshot.name,
  }
}
