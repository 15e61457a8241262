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
  restoreBackup: ['Stopped', 'Destroyed'],
  restoreVolume: ['Stopped', 'Shutdown'],
  migrate: ['Running'],
  migrateStorage: ['Stopped'],
  attachDisk: ['Running', 'Stopped'],
  detachDisk: ['Running', 'Stopped', 'Destroyed'],
  detachRootDisk: ['Stopped', 'Destroyed'],
  resizeDisk: ['Running', 'Stopped'],
  attachIso: ['Running', 'Stopped'],
  detachIso: ['Running', 'Stopped'],
  nicAdd: ['Running', 'Stopped'],
  nicSetDefault: ['Running', 'Stopped'],
  nicIpAdd: ['Running', 'Stopped'],
  nicIpRemove: ['Running', 'Stopped'],
  nicIpUpdate: ['Stopped'],
  scale: ['Running', 'Stopped'],
  console: ['Running'],
  settingsUpdate: ['Stopped'],
  settingsForce: ['Running', 'Stopped', 'Starting', 'Stopping', 'Migrating', 'Unknown', 'Shutdown'],
  configureTpm: ['Stopped'],
  affinityUpdate: ['Stopped'],
  userDataReset: ['Stopped'],
  snapshotCreate: ['Running', 'Stopped'],
  snapshotMemory: ['Running'],
  snapshotRevertMemory: ['Running'],
  snapshotRevertDisk: ['Stopped'],
} as const satisfies Record<string, readonly VmState[]>

export const VOLUME_STATES = [
  'Allocated', 'Creating', 'Ready', 'Migrating', 'Snapshotting', 'RevertSnapshotting', 'Resizing', 'Expunging', 'Expunged',
  'Destroy', 'Destroying', 'UploadOp', 'Copying', 'Uploaded', 'NotUploaded', 'UploadInProgress', 'UploadError', 'UploadAbandoned',
  'Attaching', 'Restoring',
] as const // biome-ignore format: one list
export type VolumeState = (typeof VOLUME_STATES)[number]

/** In which states of a volume an operation may be asked for. */
export const volumeCan = {
  attach: ['Allocated', 'Ready', 'Uploaded'],
  resize: ['Ready', 'Allocated'],
  snapshot: ['Ready'],
  delete: ['Allocated', 'Ready', 'Uploaded', 'UploadError', 'UploadAbandoned', 'NotUploaded'],
} as const satisfies Record<string, readonly VolumeState[]>
