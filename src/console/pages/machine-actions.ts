// What can be done with virtual machines, and how carefully each is asked for.
import type { VirtualMachine } from '#src/contract/compute/virtual-machine.ts'
import type { Action, Target } from '../form/action-dialog.tsx'

export const MACHINE_ACTIONS: readonly Action[] = [
  { operation: 'vmStart', label: 'Start', weight: 'at once', effect: 'will start.' },
  { operation: 'vmStop', label: 'Stop', weight: 'interrupts', effect: 'will stop: what runs on it is interrupted.' },
  {
    operation: 'vmReboot',
    label: 'Reboot',
    weight: 'interrupts',
    effect: 'will reboot: what runs on it is interrupted.',
  },
  {
    operation: 'vmMigrate',
    label: 'Migrate',
    weight: 'interrupts',
    effect: 'will move to another host while it runs.',
  },
  { operation: 'vmSnapshotCreate', label: 'Take snapshot', weight: 'interrupts', effect: 'will get a snapshot.' },
  { operation: 'vmScale', label: 'Scale', weight: 'interrupts', effect: 'will get another size.' },
  { operation: 'vmUpdate', label: 'Edit', weight: 'interrupts', effect: 'will get these settings.' },
  { operation: 'vmRecover', label: 'Recover', weight: 'interrupts', effect: 'will be there again, stopped.' },
  { operation: 'vmRestore', label: 'Reinstall', weight: 'destroys', effect: 'will lose what is on its root disk.' },
  {
    operation: 'vmDestroy',
    label: 'Destroy',
    weight: 'destroys',
    effect: 'will be destroyed; data disks stay unless you name them.',
  },
  { operation: 'vmExpunge', label: 'Expunge', weight: 'destroys', effect: 'will be removed for good.' },
]

/** Those that make sense for many at a time. */
export const BULK_ACTIONS: readonly string[] = ['vmStart', 'vmStop', 'vmReboot', 'vmDestroy']

export function targetOf({ id, name, state, pending_job_id }: VirtualMachine): Target {
  return { id, name, state, pending_job_id }
}
