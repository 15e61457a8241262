// What can be done with virtual machines and what belongs to them, how carefully each is asked for, and what a loss takes away.
import type { NicRecord } from '#src/contract/compute/nics.ts'
import type { VmSnapshot } from '#src/contract/compute/moves.ts'
import type { VirtualMachine } from '#src/contract/compute/virtual-machine.ts'
import type { Volume } from '#src/contract/compute/volume.ts'
import { vmCan } from '#src/contract/compute/vm-can.ts'
import { call } from '../api/call.ts'
import type { Action, Consequences, Target } from '../form/action.ts'

export const MACHINE_ACTIONS: readonly Action[] = [
  { operation: 'vmStart', label: 'Start', weight: 'at once', effect: 'will start.', bulk: true },
  {
    operation: 'vmStop',
    label: 'Stop',
    weight: 'interrupts',
    effect: 'will stop: what runs on it is interrupted.',
    bulk: true,
  },
  {
    operation: 'vmReboot',
    label: 'Reboot',
    weight: 'interrupts',
    effect: 'will reboot: what runs on it is interrupted.',
    bulk: true,
  },
  {
    operation: 'vmMigrate',
    label: 'Migrate',
    weight: 'interrupts',
    effect: 'will move to another host while it runs.',
    texts: { auto_select: 'true' },
    bulk: true,
  },
  {
    operation: 'vmSnapshotCreate',
    label: 'Take snapshot',
    weight: 'interrupts',
    effect: 'will get a snapshot.',
    bulk: true,
  },
  { operation: 'vmScale', label: 'Scale', weight: 'interrupts', effect: 'will get another size.' },
  { operation: 'vmUpdate', label: 'Edit', weight: 'interrupts', effect: 'will get these settings.', bulk: true },
  {
    operation: 'vmRecover',
    label: 'Recover',
    weight: 'interrupts',
    effect: 'will be there again, stopped.',
    bulk: true,
  },
  {
    operation: 'vmRestore',
    label: 'Reinstall',
    weight: 'destroys',
    effect: 'will lose what is on its root disk.',
    consequences: (target) => consequencesOf(target, 'reinstall'),
  },
  {
    operation: 'vmDestroy',
    label: 'Destroy',
    weight: 'destroys',
    effect: 'will be destroyed; data disks stay unless you name them.',
    consequences: (target) => consequencesOf(target, 'destroy'),
    bulk: true,
  },
  {
    operation: 'vmExpunge',
    label: 'Expunge',
    weight: 'destroys',
    effect: 'will be removed for good.',
    consequences: (target) => consequencesOf(target, 'destroy'),
    bulk: true,
  },
]

/** What takes a change back, for ten minutes after it. */
export const INVERSE: Readonly<Record<string, string>> = {
  vmStart: 'vmStop',
  vmStop: 'vmStart',
  vmDestroy: 'vmRecover',
}

export const DISK_ACTIONS: readonly Action[] = [
  { operation: 'vmDiskResize', label: 'Resize', weight: 'interrupts', effect: 'will get this size.' },
  {
    operation: 'volumeSnapshotCreate',
    label: 'Take snapshot',
    weight: 'interrupts',
    effect: 'will get a snapshot.',
  },
  {
    operation: 'vmDiskDetach',
    label: 'Detach',
    weight: 'interrupts',
    effect: 'will be detached; what is on it stays.',
    id_name: 'volume_id',
    fields: [],
  },
  { operation: 'volumeDelete', label: 'Delete', weight: 'destroys', effect: 'will be lost with what is on it.' },
]

export const NIC_ACTIONS: readonly Action[] = [
  {
    operation: 'vmNicSetDefault',
    label: 'Make default',
    weight: 'interrupts',
    effect: 'will carry the default route; a running guest must renew its lease.',
    id_name: 'nic_id',
  },
  { operation: 'vmNicIpAdd', label: 'Add address', weight: 'interrupts', effect: 'will get a further address.' },
  { operation: 'vmNicIpUpdate', label: 'Change address', weight: 'interrupts', effect: 'will get another address.' },
]

export const SNAPSHOT_ACTIONS: readonly Action[] = [
  {
    operation: 'vmSnapshotRevert',
    label: 'Revert',
    weight: 'destroys',
    effect: 'will be what the machine is again; everything written since is lost.',
  },
  { operation: 'vmSnapshotDelete', label: 'Delete', weight: 'destroys', effect: 'will be lost; the machine stays.' },
]

/** Of the machine, from its tabs. */
export const TAB_ACTIONS = {
  disks: [
    { operation: 'vmDiskCreate', label: 'New disk', weight: 'interrupts', effect: 'will get a new disk.' },
    { operation: 'vmDiskAttach', label: 'Attach disk', weight: 'interrupts', effect: 'will get this disk.', id_name: 'virtual_machine_id' },
    { operation: 'vmIsoAttach', label: 'Insert ISO', weight: 'interrupts', effect: 'will have this image in its CD drive.', id_name: 'virtual_machine_id' },
    { operation: 'vmIsoDetach', label: 'Eject ISO', weight: 'interrupts', effect: 'will have an empty CD drive.' },
  ],
  network: [{ operation: 'vmNicAdd', label: 'Add NIC', weight: 'interrupts', effect: 'will get a NIC in this network.', id_name: 'virtual_machine_id' }],
  snapshots: [{ operation: 'vmSnapshotCreate', label: 'Take snapshot', weight: 'interrupts', effect: 'will get a snapshot.' }],
} as const satisfies Record<string, readonly Action[]> // biome-ignore format: a table

export function targetOf({ id, name, state, pending_job_id }: VirtualMachine): Target {
  return { id, name, state, pending_job_id }
}

export function diskTarget({ id, name, state, type, pending_job_id }: Volume, machine: VirtualMachine): Target {
  return {
    kind: 'volume', id, name, state, pending_job_id,
    machine: targetOf(machine),
    closed: { volumeDelete: 'It is attached; detach it first.' },
    ...(type === 'ROOT' && { states: { vmDiskDetach: vmCan.detachRootDisk } }),
  } // biome-ignore format: one record
}

export function nicTarget(nic: NicRecord, machine: VirtualMachine): Target {
  return {
    kind: 'NIC', id: nic.id, name: nic.ip_address ?? nic.network_name ?? nic.id, state: '', pending_job_id: null,
    machine: targetOf(machine),
    fixed: { virtual_machine_id: machine.id },
    ...(nic.is_default === true && { closed: { vmNicSetDefault: 'It is the default already.' } }),
  } // biome-ignore format: one record
}

export function snapshotTarget(snapshot: VmSnapshot, machine: VirtualMachine): Target {
  const with_memory = snapshot.type === 'DiskAndMemory'
  const busy = `The snapshot is ${snapshot.state}.`
  return {
    kind: 'snapshot', id: snapshot.id, name: snapshot.display_name ?? snapshot.name, state: snapshot.state, pending_job_id: null,
    machine: targetOf(machine),
    states: { vmSnapshotRevert: with_memory ? vmCan.snapshotRevertMemory : vmCan.snapshotRevertDisk },
    ...(snapshot.state !== 'Ready' && { closed: { vmSnapshotRevert: busy, ...(snapshot.state !== 'Error' && { vmSnapshotDelete: busy }) } }),
  } // biome-ignore format: one record
}

async function consequencesOf({ id, name }: Target, how: 'destroy' | 'reinstall'): Promise<Consequences> {
  const [{ volumes }, { vm_snapshots }, { nics }] = await Promise.all([
    call('volumeList', { body: { virtual_machine_id: id, page_size: 500 } }),
    call('vmSnapshotList', { body: { virtual_machine_id: id, page_size: 500 } }),
    call('vmNicList', { body: { virtual_machine_id: id, page_size: 500 } }),
  ])
  const roots = volumes.filter(({ type }) => type === 'ROOT').map((disk) => `root disk ${disk.name}`)
  const data = volumes.filter(({ type }) => type !== 'ROOT')
  const addresses = nics.flatMap(({ ip_address }) => (ip_address === null ? [] : [`address ${ip_address}`]))
  if (how === 'reinstall')
    return { goes: roots, stays: [...addresses, ...data.map((disk) => `data disk ${disk.name}`)] }
  const snapshots = vm_snapshots.map((one) => `snapshot ${one.display_name ?? one.name}`)
  return {
    goes: [`virtual machine ${name}`, ...roots, ...snapshots, ...addresses],
    stays: [],
    optional: {
      field: 'volume_ids',
      things: data.map((disk) => ({ id: disk.id, name: `data disk ${disk.name}` })),
    },
  }
}
