// Why an operation cannot be called now, in one sentence; null when it can. Nobody writes a condition beside a button.
import { vmCan, volumeCan } from '#src/contract/compute/vm-can.ts'
import type { Me } from '../session/session.ts'
import { operationRow } from './contract.ts'

export interface Thing {
  /** A virtual machine where it is left out. */
  kind?: 'volume' | 'NIC' | 'snapshot'
  state: string
  pending_job_id: string | null
  /** What it belongs to: its state counts as well. */
  machine?: Thing
  /** Reasons that lie in this thing, by operation. */
  closed?: Readonly<Record<string, string>>
  /** States of its machine, where they depend on this thing, by operation. */
  states?: Readonly<Record<string, readonly string[]>>
}

const RANK = { viewer: 1, operator: 2, admin: 3 }

const MACHINE_STATES: Readonly<Record<string, readonly string[]>> = {
  vmStart: vmCan.start,
  vmStop: vmCan.stop,
  vmReboot: vmCan.reboot,
  vmUpdate: vmCan.update,
  vmScale: vmCan.scale,
  vmMigrate: vmCan.migrate,
  vmRestore: vmCan.restore,
  vmRecover: vmCan.recover,
  vmDestroy: vmCan.destroy,
  vmExpunge: vmCan.expunge,
  vmConsoleCreate: vmCan.console,
  vmDiskAttach: vmCan.attachDisk,
  vmDiskCreate: vmCan.attachDisk,
  vmDiskDetach: vmCan.detachDisk,
  vmDiskResize: vmCan.resizeDisk,
  vmIsoAttach: vmCan.attachIso,
  vmIsoDetach: vmCan.detachIso,
  vmNicAdd: vmCan.nicAdd,
  vmNicSetDefault: vmCan.nicSetDefault,
  vmNicIpAdd: vmCan.nicIpAdd,
  vmNicIpRemove: vmCan.nicIpRemove,
  vmNicIpUpdate: vmCan.nicIpUpdate,
  vmSnapshotCreate: vmCan.snapshotCreate,
  vmSettingsUpdate: vmCan.settingsUpdate,
  vmTpmConfigure: vmCan.configureTpm,
  vmAffinityUpdate: vmCan.affinityUpdate,
  vmUserDataReset: vmCan.userDataReset,
}
const VOLUME_STATES: Readonly<Record<string, readonly string[]>> = {
  vmDiskAttach: volumeCan.attach,
  vmDiskResize: volumeCan.resize,
  volumeSnapshotCreate: volumeCan.snapshot,
  volumeDelete: volumeCan.delete,
}
/** What is so already: allowed by the service, and without effect. */
const ALREADY: Record<string, string> = { vmStart: 'Running', vmStop: 'Stopped' }

export function whyNot(me: Me, operation: string, thing?: Thing): string | null {
  const { access, tenant } = operationRow(operation)
  if (RANK[me.role] < RANK[access]) return `Needs the role ${access}; you have ${me.role}.`
  if (me.tenant_id !== null && tenant !== 'own') return 'Your access is scoped to a tenant; this belongs to none.'
  if (thing === undefined) return null
  return thing.closed?.[operation] ?? whyNotInState(operation, thing)
}

function whyNotInState(operation: string, thing: Thing): string | null {
  const machine = thing.kind === undefined ? thing : thing.machine
  const volume = thing.kind === 'volume' ? thing : undefined
  const machine_states = thing.states?.[operation] ?? MACHINE_STATES[operation]
  if (machine_states === undefined && VOLUME_STATES[operation] === undefined) return null
  const pending = thing.pending_job_id ?? machine?.pending_job_id ?? null
  if (pending !== null) return `Job ${pending.slice(0, 8)} is changing it now.`
  return (
    wrongState('volume', volume, VOLUME_STATES[operation]) ??
    wrongState('machine', machine, machine_states, ALREADY[operation])
  )
}

function wrongState(
  what: string,
  thing: Thing | undefined,
  states: readonly string[] | undefined,
  already?: string,
): string | null {
  if (thing === undefined || states === undefined) return null
  if (already === thing.state) return `The ${what} is ${thing.state} already.`
  if (states.includes(thing.state)) return null
  const wanted = states.filter((state) => state !== already)
  return `The ${what} is ${thing.state}; it must be ${wanted.join(' or ')}.`
}
