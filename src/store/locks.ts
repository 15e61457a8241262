// Numbers of the advisory locks: one place, because two of one number wait for each other for ever.
export const LOCKS = {
  /** Held from the last statement of a transaction to its commit: positions in the stream are in commit order. */
  stream: 7_405_001,
  /** Who may become or stop being an admin is decided by one at a time. */
  admins: 7_405_002,
  /** Held by the one replica that watches the states of virtual machines. */
  compute_watcher: 7_405_003,
  /** Held by the one replica that keeps tenants in step with the platform. */
  tenant_watcher: 7_405_004,
  /** The certificate authority of agents is made once. */
  ca: 7_405_005,
  /** One MTU rollout at a time. */
  mtu_rollout: 7_405_006,
  /** Guest networks are begun on nodes one after the other. */
  guest_networks: 7_405_007,
  /** Held by the one replica that checks the health of nodes. */
  health_watcher: 7_405_013,
  /** Held by the one replica that checks what jobs left to a person. */
  outstanding_watcher: 7_405_014,
  /** With a hash of the machine's id as second number: its settings are changed by one at a time. */
  vm_settings: 7_405_008,
  /** Jobs are taken by one process at a time, so that limits over all of them hold. */
  job_claims: 7_405_010,
  /** Names and addresses of nodes are given one after the other, so that no two nodes get the same. */
  node_identities: 7_405_011,
  /** With a hash of the key as second number: jobs that are limited by it are admitted one after the other. */
  job_limits: 7_405_012,
  /** Two rotations of the key at once would lose a key. */
  key_rotation: 7_405_009,
  /** With a hash of its address as second number: changes are sent to a BMC one after the other. */
  bmc_change: 7_405_030,
  /** With 1 for DHCP and 2 for DNS as second number: servers that cannot compare before they set have one writer. */
  address_server: 7_405_020,
  /** Held by the one replica that collects leases and compares servers with what was ordered. */
  address_watcher: 7_405_021,
  /** With a hash of its token as second number: reports of a machine are taken one after the other. */
  phone_home: 7_405_031,
  /** Held by the replica that watches the NVR. */
  nvr_watcher: 7_405_022,
  /** With 1 for its password and 2 for its template as second number: what is read and then changed has one writer. */
  nvr: 7_405_023,
  /** With a hash of its address as second number: failover events of a node are taken one after the other. */
  ha_events: 7_405_063,
  /** Held by the one replica that checks who holds the virtual addresses. */
  ha_watcher: 7_405_064,
} as const
