/** Volumes and the three kinds of copies of them as they are answered. */
import type { Backup, Snapshot, VmSnapshot, Volume } from './records.ts'
import type { Json } from './row.ts'
import { ownerFields, text, zoneFields } from './owner-view.ts'
import type { SimulatorState } from './state.ts'
import { wireDate, wireDateOrNull } from './wire.ts'

type Fields = Record<string, Json>

export function volumeView(state: SimulatorState, volume: Volume): Fields {
  const vm = state.tables.vms.get(volume.virtualmachineid)
  const offering = state.tables.diskofferings.get(volume.diskofferingid)
  const service = state.tables.serviceofferings.get(volume.serviceofferingid)
  return {
    id: volume.id,
    name: volume.name,
    ...zoneFields(state, volume.zoneid),
    type: volume.type,
    deviceid: volume.deviceid,
    virtualmachineid: vm?.id ?? null,
    vmname: vm?.name ?? null,
    vmdisplayname: vm?.displayname ?? null,
    vmstate: vm?.state ?? null,
    vmtype: vm === null ? null : 'User',
    provisioningtype: 'thin',
    size: volume.size_bytes,
    miniops: volume.miniops,
    maxiops: volume.maxiops,
    created: wireDate(volume.created),
    state: volume.state,
    ...ownerFields(state, volume),
    storagetype: 'shared',
    hypervisor: 'KVM',
    diskofferingid: volume.diskofferingid,
    diskofferingname: offering?.name ?? null,
    diskofferingdisplaytext: offering?.displaytext ?? null,
    storage: text(state.tables.storagepools.get(volume.storageid)?.['name']),
    storageid: volume.storageid,
    snapshotid: volume.snapshotid,
    attached: wireDateOrNull(volume.attached),
    destroyed: volume.state === 'Destroy',
    serviceofferingid: volume.serviceofferingid,
    serviceofferingname: service?.name ?? null,
    templateid: volume.templateid,
    templatename: state.tables.templates.get(volume.templateid)?.name ?? null,
    isextractable: true,
    displayvolume: true,
    path: volume.storageid === null ? null : volume.id,
    quiescevm: false,
    supportsstoragesnapshot: false,
    deleteprotection: volume.deleteprotection,
    tags: [],
    hasannotations: false,
  }
}

export function vmSnapshotView(state: SimulatorState, snapshot: VmSnapshot): Fields {
  const vm = state.tables.vms.get(snapshot.virtualmachineid)
  const parent = state.tables.vmsnapshots.get(snapshot.parentid)
  return {
    id: snapshot.id,
    name: snapshot.name,
    displayname: snapshot.displayname,
    description: snapshot.description,
    state: snapshot.state,
    type: snapshot.type,
    ...(vm === null ? {} : zoneFields(state, vm.zoneid)),
    virtualmachineid: snapshot.virtualmachineid,
    virtualmachinename: vm?.name ?? null,
    parent: parent?.id ?? null,
    parentName: parent?.name ?? null,
    current: snapshot.current,
    created: wireDate(snapshot.created),
    ...ownerFields(state, snapshot),
    hypervisor: 'KVM',
    hasannotations: false,
    tags: [],
  }
}

export function snapshotView(state: SimulatorState, snapshot: Snapshot): Fields {
  const volume = state.tables.volumes.get(snapshot.volumeid)
  return {
    id: snapshot.id,
    ...ownerFields(state, snapshot),
    snapshottype: 'MANUAL',
    volumeid: snapshot.volumeid,
    volumename: volume?.name ?? null,
    volumetype: volume?.type ?? null,
    volumestate: volume?.state ?? null,
    created: wireDate(snapshot.created),
    name: snapshot.name,
    intervaltype: 'MANUAL',
    locationtype: 'SECONDARY',
    state: snapshot.state,
    physicalsize: Math.round(snapshot.size_bytes / 3),
    virtualsize: snapshot.size_bytes,
    ...zoneFields(state, snapshot.zoneid),
    revertable: true,
    hasannotations: false,
    tags: [],
  }
}

export function backupView(state: SimulatorState, backup: Backup): Fields {
  const account = state.tables.accounts.get(backup.accountid)
  const vm = state.tables.vms.get(backup.virtualmachineid)
  return {
    id: backup.id,
    name: backup.name,
    description: backup.description,
    virtualmachineid: backup.virtualmachineid,
    virtualmachinename: vm?.name ?? null,
    externalid: `${backup.virtualmachineid}/${backup.id}`,
    type: 'FULL',
    created: wireDate(backup.created),
    size: Math.round(backup.size_bytes / 4),
    virtualsize: backup.size_bytes,
    status: backup.status,
    backupofferingid: backup.backupofferingid,
    backupofferingname: text(state.tables.backupofferings.get(backup.backupofferingid)?.['name']),
    accountid: backup.accountid,
    account: account?.name ?? null,
    domainid: account?.domainid ?? null,
    domain: state.tables.domains.get(account?.domainid)?.name ?? null,
    zoneid: backup.zoneid,
    zone: text(state.tables.zones.get(backup.zoneid)?.['name']),
    intervaltype: 'MANUAL',
  }
}
