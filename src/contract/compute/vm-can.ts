// In which states of a virtual machine an operation may be asked for; handlers, console and CLI read the same table.

export const VM_STATES = [
  'Starting', 'Running', 'Stopping', 'Stopped', 'Destroyed', 'Expunging', 'Migrating', 'Error', 'Unknown', 'Shutdown', 'Restoring',
] as const // biome-ignore format: one list
export type VmState = (typeof VM_STATES)[number]

/** Asking for what is so already succeeds: a running machine may be started, a stopped one stopped. */
export const vmCan = {
  start: ['Stopped', 'Running'],
  stop: ['Running', 'Stopped'],
  reboot: ['Running'],
  update: ['Running', 'Stopped', 'Starting', 'Stopping', 'Migrating', 'Unknown', 'Shutdown'],
  destroy: ['Running', 'Stopped', 'Error', 'Unknown', 'Shutdown', 'Destroyed'],
  expunge: ['Destroyed', 'Expunging'],
  recover: ['Destroyed'],
  restore: ['Running', 'Stopped'],
  migrate: ['Running', 'Stopped'],
  attachDisk: ['Running', 'Stopped'],
  detachDisk: ['Running', 'Stopped', 'Destroyed'],
  attachIso: ['Running', 'Stopped'],
  detachIso: ['Running', 'Stopped'],
  nicAdd: ['Running', 'Stopped'],
  nicSetDefault: ['Running', 'Stopped'],
  nicIpUpdate: ['Stopped'],
  scale: ['Running', 'Stopped'],
  console: ['Running'],
  settingsUpdate: ['Stopped'],
  configureTpm: ['Stopped'],
  affinityUpdate: ['Stopped'],
  userDataReset: ['Stopped'],
  snapshotCreate: ['Running', 'Stopped'],
} as const satisfies Record<string, readonly VmState[]>
