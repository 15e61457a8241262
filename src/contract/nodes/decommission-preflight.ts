// What is checked before a node leaves (Part 2, 4.4): the checks, the numbers, and what would be destroyed.
import { type Static, Type } from 'typebox'
import { Closed, Nullable, OneOf, Time, Unavailable } from '../common.ts'

const extension = { 'x-extension': true } as const
const number = (description: string) => Nullable(Type.Integer({ minimum: 0, description }))

export const PreflightCheck = Type.Object(
  {
    name: Type.String(),
    message: Type.String({ description: 'What was found, and the way out.' }),
    status: OneOf(['pass', 'warn', 'fail']),
  },
  { title: 'PreflightCheck' },
)

export const WipeMode = OneOf(['full', 'data', 'none'], {
  description:
    'Disks to wipe by an image that the machine is started from: full all that are known, data those of the distributed store, none no disk.',
})

/** What the caller means to do: the checks are judged by it. */
export const PreflightWishFields = {
  force: Type.Optional(
    Type.Boolean({ ...extension, default: false, description: 'Machines that cannot move may be destroyed.' }),
  ),
  accept: Type.Optional(
    Type.Array(Type.String({ maxLength: 64 }), {
      ...extension,
      maxItems: 16,
      description: 'Checks whose failure the caller takes upon them; not every check can be accepted.',
    }),
  ),
  wipe: Type.Optional({ ...WipeMode, ...extension, default: 'full' } as typeof WipeMode),
}

export const DecommissionPreflightRequest = Closed(PreflightWishFields, { title: 'DecommissionPreflightRequest' })

export const DecommissionPreflight = Type.Object(
  {
    node_ip: Type.String({ description: 'BMC address that names the node.' }),
    can_proceed: Type.Boolean({ description: 'No blocking check failed.' }),
    requires_force: Type.Boolean({ description: 'Going on destroys virtual machines.' }),
    checks: Type.Array(PreflightCheck),
    steps: Type.Array(Type.String(), { description: 'What will be done, in this order.' }),
    held_addresses: Type.Array(Type.String(), {
      description: 'Every address and name bound to the node, with its kind; that of its BMC stays.',
    }),
    replication_slot: Type.String({
      description:
        'Slot that the departing management node holds; empty for a departing primary and for compute nodes.',
    }),
    store_served_at_admission: Type.Boolean({
      description:
        'The distributed store had a pool and a daemon of this node was up: its steps cannot be skipped later.',
    }),
    vm_count: number('User machines on the node: running ones, and stopped ones with disks of its own storage.'),
    system_vm_count: number('System services and virtual routers; not zero: services of the zone are interrupted.'),
    router_count: number('Virtual routers among them.'),
    cpu_demand_mhz: number('Processor speed that the machines to be moved need.'),
    free_cpu_mhz: number('Free on the other hosts.'),
    free_mem_bytes: number('Free on the other hosts.'),
    mem_demand_bytes: number('Memory that the machines to be moved need.'),
    migration_targets: number('Other hosts that are up and can take machines.'),
    migratable_vm_count: number('User machines that can move.'),
    non_migratable_vm_count: number('User machines that cannot; they are destroyed when the decommission goes on.'),
    migration_capacity_ok: Nullable(Type.Boolean({ description: 'A place for each of them was found.' })),
    non_migratable_vm_names: Type.Optional(Type.Array(Type.String(), { description: 'Left out when there are none.' })),
    destroyed_vm_names: Type.Array(Type.String(), {
      ...extension,
      description:
        'Machines that going on would destroy: those that cannot move, and those for which there is no room.',
    }),
    wiped_disks: Type.Array(Type.String(), {
      ...extension,
      description: 'Serial numbers of the disks that going on would wipe.',
    }),
    storage: Nullable(
      Type.Object(
        {
          osds: Type.Array(Type.Integer(), { description: 'Its disks in the store, which are emptied and removed.' }),
          used_bytes: Type.Integer({ minimum: 0, description: 'What is on them.' }),
          free_bytes: Type.Integer({ minimum: 0, description: 'What the other disks take before they count as full.' }),
          disks_left: Type.Integer({ minimum: 0, description: 'Other disks that take data.' }),
          fullest_share: Type.Number({ minimum: 0, description: 'Of the fullest of them afterwards, 0 to 1.' }),
          monitors_left: Type.Integer({ minimum: 0, description: 'Monitors that would agree with each other.' }),
          managers_left: Type.Integer({ minimum: 0 }),
        },
        {
          ...extension,
          description: 'The node in the distributed store; null: it is no member, or the store cannot be asked.',
        },
      ),
    ),
    fingerprint: Type.String({ ...extension, description: 'Names this result when the decommission is asked for.' }),
    expires_at: Type.Unsafe<string>({ ...Time, ...extension, description: 'Until when the fingerprint is good.' }),
    unavailable: Type.Array(Unavailable, { ...extension, description: 'Why fields are null.' }),
  },
  { title: 'DecommissionPreflight' },
)
export type DecommissionPreflight = Static<typeof DecommissionPreflight>

export const examplePreflight: DecommissionPreflight = {
  node_ip: '10.1.0.11',
  can_proceed: true,
  requires_force: true,
  checks: [
    { name: 'node-known', message: 'Node 10.1.0.11 has the address 10.0.0.11.', status: 'pass' },
    { name: 'non-migratable-vms', message: 'These would be destroyed: render-gpu (it has a GPU).', status: 'warn' },
  ],
  steps: ['Freeze the plan', 'Take the host out of allocation', 'Move the machines away'],
  held_addresses: ['10.0.0.11 (management)'],
  replication_slot: '',
  store_served_at_admission: false,
  vm_count: 7,
  system_vm_count: 1,
  router_count: 1,
  cpu_demand_mhz: 14_000,
  free_cpu_mhz: 520_000,
  free_mem_bytes: 824_633_720_832,
  mem_demand_bytes: 30_064_771_072,
  migration_targets: 2,
  migratable_vm_count: 6,
  non_migratable_vm_count: 1,
  migration_capacity_ok: true,
  non_migratable_vm_names: ['render-gpu'],
  destroyed_vm_names: ['render-gpu'],
  wiped_disks: ['S5GXNX0T400123'],
  storage: null,
  fingerprint: '6f1e0c9b2d4a8873',
  expires_at: '2026-11-20T03:22:45.120Z',
  unavailable: [],
}
