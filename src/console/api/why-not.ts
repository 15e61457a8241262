// Why an operation cannot be called now, in one sentence; null when it can. Nobody writes a condition beside a button.
import { vmCan, type VmState } from '#src/contract/compute/vm-can.ts'
import type { Me } from '../session/session.ts'
import { operationRow } from './contract.ts'

export interface Thing {
  state: string
  pending_job_id: string | null
}

const RANK = { viewer: 1, operator: 2, admin: 3 }

const STATES: Record<string, readonly VmState[]> = {
  vmStart: vmCan.start,
  vmStop: vmCan.stop,
  vmReboot: vmCan.reboot,
  vmUpdate: vmCan.update,
  vmScale: vmCan.scale,
  vmMigrate: vmCan.migrate,
  vmSnapshotCreate: vmCan.snapshotCreate,
  vmRestore: vmCan.restore,
  vmRecover: vmCan.recover,
  vmDestroy: vmCan.destroy,
  vmExpunge: vmCan.expunge,
}
/** What is so already: allowed by the service, and without effect. */
const ALREADY: Record<string, string> = { vmStart: 'Running', vmStop: 'Stopped' }

export function whyNot(me: Me, operation: string, thing?: Thing): string | null {
  const { access, tenant } = operationRow(operation)
  if (RANK[me.role] < RANK[access]) return `Needs the role ${access}; you have ${me.role}.`
  if (me.tenant_id !== null && tenant !== 'own') return 'Your access is scoped to a tenant; this belongs to none.'
  const states: readonly string[] | undefined = STATES[operation]
  if (thing === undefined || states === undefined) return null
  if (thing.pending_job_id !== null) return `Job ${thing.pending_job_id.slice(0, 8)} is changing it now.`
  if (ALREADY[operation] === thing.state) return `The machine is ${thing.state} already.`
  if (states.includes(thing.state)) return null
  const wanted = states.filter((state) => state !== ALREADY[operation])
  return `The machine is ${thing.state}; it must be ${wanted.join(' or ')}.`
}
