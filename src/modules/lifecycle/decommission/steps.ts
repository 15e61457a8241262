// The steps of a decommission by their names, with what a person reads while they run.
export const DECOMMISSION_STEPS = {
  admit: 'Freeze the plan',
  cordon: 'Take the host out of allocation',
  migrate: 'Move the machines to other hosts',
  'destroy-vms': 'Destroy the machines that were named',
  'system-vms': 'Move system services and routers',
  maintenance: 'Put the host into maintenance',
  'storage-drain': 'Move the data of the distributed store away',
  'storage-remove': 'Remove the node from the distributed store',
  'host-delete': 'Remove the host from the compute platform',
  'fabric-remove': 'Remove the node from the fabric',
  'node-teardown': 'Remove our configuration from the node',
  revoke: 'Revoke the credentials of the node',
  enrolments: 'Void what would let the node join again',
  'wipe-boot': 'Start the wipe image',
  'wipe-wait': 'Wait for the report of the wipe',
  'media-cleanup': 'Take the wipe image out of the drive',
  'power-off': 'Switch the machine off',
  'dhcp-release': 'Remove the DHCP reservations of the node',
  'dns-remove': 'Remove the names of the node',
  'address-release': 'Release the addresses of the node',
  finish: 'Mark the node as free',
} as const

export type DecommissionStep = keyof typeof DECOMMISSION_STEPS
