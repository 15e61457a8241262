// What virtual machines use: the aggregate of Part 3, 4.1, and the samples of single machines.
import { type Static, Type } from 'typebox'
import { Closed, Id, ListOf, Nullable, PageFields, Time, TimeGiven, Unavailable } from '../common.ts'
import { defineArea } from '../route.ts'
import { vmExample } from './virtual-machine.ts'

const Amount = (description: string) => Type.Integer({ description })

export const VmAggregate = Type.Object(
  {
    generated_at: Time,
    latest_sample_time: Nullable(
      Type.String({ description: 'Newest sample among the machines; null while there is none.' }),
    ),
    virtual_machine_count: Amount('Machines counted.'),
    averages: Type.Object({
      cpu_used_percent: Type.Number({ description: 'Used of the MHz assigned to running machines.' }),
      disk_iops_total: Type.Number({ description: 'Disk operations a machine with samples.' }),
      memory_used_percent: Type.Number({ description: 'Used of the memory assigned to running machines.' }),
      network_kbs_total: Type.Number({ description: 'Network KiB a machine with samples.' }),
    }),
    state_counts: Type.Object({
      destroyed: Amount('Destroyed, not yet expunged.'),
      expunged: Amount('Being expunged.'),
      other: Amount('In any other state.'),
      running: Amount('Running.'),
      stopped: Amount('Stopped.'),
    }),
    totals: Type.Object({
      cpu_total_mhz: Type.Number({ description: 'Cores times speed, over running machines.' }),
      cpu_used_mhz: Type.Number({ description: 'The part of it in use.' }),
      cpu_used_percent_sum: Type.Number({ description: 'Sum of the machines’ percentages.' }),
      disk_io_read: Amount('Read operations of the last interval.'),
      disk_io_write: Amount('Write operations of the last interval.'),
      disk_iops_total: Amount('Both.'),
      disk_kbs_read: Amount('KiB read from disks.'),
      disk_kbs_write: Amount('KiB written to disks.'),
      memory_assigned_kbs: Amount('KiB assigned to running machines.'),
      memory_internal_free_kbs: Amount('KiB that guests report as free.'),
      memory_target_kbs: Amount('KiB that balloons aim at.'),
      memory_used_kbs: Amount('KiB in use.'),
      network_kbs_read: Amount('KiB received.'),
      network_kbs_total: Amount('Both.'),
      network_kbs_write: Amount('KiB sent.'),
    }),
    unavailable: Type.Optional(Type.Array(Unavailable)),
  },
  { title: 'VmAggregate' },
)
export type VmAggregate = Static<typeof VmAggregate>

const Measured = (description: string) => Nullable(Type.Number({ description }))

const VmSample = Type.Object(
  {
    at: Nullable(Type.String({ description: 'When it was taken.' })),
    cpu_used_percent: Measured('Of all cores together.'),
    disk_io_read: Measured('Read operations.'),
    disk_io_write: Measured('Write operations.'),
    disk_iops_total: Measured('Both.'),
    disk_kbs_read: Measured('KiB read.'),
    disk_kbs_write: Measured('KiB written.'),
    memory_kbs: Measured('KiB the machine has.'),
    memory_internal_free_kbs: Measured('KiB the guest reports as free; null without a guest agent.'),
    memory_target_kbs: Measured('KiB the balloon aims at.'),
    network_kbs_read: Measured('KiB received.'),
    network_kbs_write: Measured('KiB sent.'),
  },
  { title: 'VmSample' },
)
export type VmSample = Static<typeof VmSample>

export const VmUsage = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    display_name: Nullable(Type.String()),
    samples: Type.Array(VmSample, { description: 'Oldest first; the platform keeps half a day by default.' }),
  },
  { title: 'VmUsage' },
)
export type VmUsage = Static<typeof VmUsage>

const Window = {
  start_date: TimeGiven('An hour before the end when left out.'),
  end_date: TimeGiven('Now when left out.'),
}

export const vmMetrics = defineArea({
  name: 'vm-metrics',
  description: 'What virtual machines use.',
  routes: {
    vmMetricsAggregate: {
      method: 'GET',
      path: '/compute/vms/metrics/aggregate',
      summary: 'Get aggregate metrics of all virtual machines',
      description: 'Amounts are those of the platform’s last sampling interval.',
      access: 'viewer',
      tenant: 'own',
      ok: { 200: VmAggregate },
      errors: [500],
      example: {},
    },
    vmUsageList: {
      method: 'GET',
      path: '/compute/vms/usage-history',
      summary: 'List usage history of virtual machines',
      access: 'viewer',
      tenant: 'own',
      query: Type.Object({
        ...Window,
        keyword: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: 'Part of a name.' })),
        ...PageFields,
      }),
      ok: { 200: ListOf('virtual_machines', VmUsage, 'VmUsagePage') },
      errors: [400, 500],
      example: { query: { keyword: 'web' } },
    },
    vmUsageGet: {
      method: 'POST',
      path: '/compute/vms/usage-history-byID',
      summary: 'Get usage history of virtual machine',
      access: 'viewer',
      tenant: 'own',
      effect: 'read',
      body: Closed({ virtual_machine_id: Id, ...Window }),
      ok: { 200: VmUsage },
      errors: [400, 500],
      example: { body: { virtual_machine_id: vmExample.id } },
    },
  },
})
