// Virtual machines: life cycle and reading (Part 3, 4.1).
import { Type } from 'typebox'
import {
  ActionAccepted,
  Closed,
  DestructionPlan,
  Flag,
  Id,
  ListOf,
  OneOf,
  OptionalId,
  PageFields,
  LONG_LIST_ORDER,
  SortFields,
  Words,
} from '../common.ts'
import { defineArea } from '../route.ts'
import { IsoImage } from './images.ts'
import { VM_COLUMNS, ProvisionedVm, VirtualMachine, VmRef, vmExample } from './virtual-machine.ts'
import { VM_STATES } from './vm-can.ts'
import { HOST_NAME, VmProvision } from './vm-provision.ts'

/** The answer of a change the platform runs as a job: at once, or with `Prefer: wait=N` the machine as it then is. */
const VmOrAccepted = Type.Union([ActionAccepted, VirtualMachine])

const id = vmExample.id
const accepted = {
  job_id: '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d10', correlation_id: '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d10', status: 'IN_PROGRESS',
  resource_id: id, message: 'Starting virtual machine web-41.',
} // biome-ignore format: one record

const Narrowing = {
  zone_id: OptionalId,
  domain_id: Type.Optional(
    Type.String({ minLength: 1, maxLength: 128, description: 'Tenant, its children included.' }),
  ),
}

const VmFilter = Closed(
  {
    id: OptionalId,
    ids: Type.Optional(Type.Array(Id, { minItems: 1, maxItems: 500, description: 'Any of these.' })),
    name: Words('Exact host name; `keyword` matches loosely.'),
    state: Type.Optional(
      OneOf([...VM_STATES, 'Present'], { description: 'A state, or Present for all but Destroyed and Expunging.' }),
    ),
    ...Narrowing,
    pod_id: OptionalId,
    cluster_id: OptionalId,
    host_id: OptionalId,
    network_id: OptionalId,
    vpc_id: OptionalId,
    template_id: OptionalId,
    service_offering_id: OptionalId,
    account: Words('Owner; needs domain_id.'),
    project_id: OptionalId,
    hypervisor: Words('KVM and the like.'),
    ha_enabled: Flag('Whether restarted elsewhere when the host fails.'),
    gpu_enabled: Flag('Whether it has GPUs.'),
    affinity_group_id: OptionalId,
    tags: Type.Optional(
      Type.Record(Type.String({ minLength: 1, maxLength: 255 }), Type.String({ maxLength: 255 }), {
        description: 'Machines that carry all of these tags.',
      }),
    ),
    keyword: Words('Part of a name.'),
    ...SortFields([...VM_COLUMNS], LONG_LIST_ORDER),
    ...PageFields,
  },
  { title: 'VmFilter' },
)

const VmAction = Closed({ virtual_machine_id: Id })

export const vms = defineArea({
  name: 'vms',
  description: 'Virtual machines: life cycle and reading.',
  routes: {
    vmProvision: {
      method: 'POST',
      path: '/compute/vms/provision',
      summary: 'Create virtual machine',
      description:
        'Checks capacity first: when no cluster of the zone stays below its threshold the answer is 409 and nothing was made. Answers at once; with `Prefer: wait=N` it waits for the machine.',
      access: 'operator',
      tenant: 'own',
      event: { resource_type: 'VM' },
      body: VmProvision,
      ok: { 200: Type.Union([ActionAccepted, ProvisionedVm]) },
      errors: [400, 409, 500],
      example: {
        body: {
          name: 'web-41',
          zone_id: vmExample.zone_id,
          template_id: vmExample.template_id,
          service_offering_id: vmExample.service_offering_id,
        },
        answer: { ...accepted, resource_id: null, message: 'Creating virtual machine web-41.' },
      },
    },
    vmList: {
      method: 'POST',
      path: '/compute/vms/list',
      summary: 'List virtual machines',
      description: 'Every filter narrows. Destroyed machines are listed until they are expunged.',
      access: 'viewer',
      tenant: 'own',
      effect: 'read',
      body: VmFilter,
      body_optional: true,
      ok: { 200: ListOf('virtual_machines', VirtualMachine, 'VirtualMachinePage') },
      errors: [400, 500],
      example: {
        body: { state: 'Running' },
        answer: { virtual_machines: [vmExample], count: 1, page: 1, page_size: 50 },
      },
    },
    vmGet: {
      method: 'POST',
      path: '/compute/vms/byID',
      summary: 'Get virtual machine by id',
      access: 'viewer',
      tenant: 'own',
      effect: 'read',
      body: VmAction,
      ok: { 200: VirtualMachine },
      errors: [400, 500],
      example: { body: { virtual_machine_id: id }, answer: vmExample },
    },
    vmGetByName: {
      method: 'POST',
      path: '/compute/vms/byName',
      summary: 'Get virtual machine by name',
      description:
        'Names are unique within a network domain only: several hits are 400 VM_NAME_AMBIGUOUS, which names their ids.',
      access: 'viewer',
      tenant: 'own',
      effect: 'read',
      body: Closed({ name: Type.String({ minLength: 1, maxLength: 255 }), ...Narrowing }),
      ok: { 200: VirtualMachine },
      errors: [400, 500],
      example: { body: { name: 'web-41' }, answer: vmExample },
    },
    vmIdGet: {
      method: 'POST',
      path: '/compute/vms/getIdbyName',
      summary: 'Get id of virtual machine by name',
      description: 'As for byName, several hits are 400 VM_NAME_AMBIGUOUS.',
      access: 'viewer',
      tenant: 'own',
      effect: 'read',
      body: Closed({ name: Type.String({ minLength: 1, maxLength: 255 }), ...Narrowing }),
      ok: { 200: VmRef },
      errors: [400, 500],
      example: { body: { name: 'web-41' }, answer: { id, name: 'web-41' } },
    },
    vmStart: {
      method: 'POST',
      path: '/compute/vms/start',
      summary: 'Start virtual machine',
      description: 'The machine must be stopped; one that runs stays as it is and the operation succeeds.',
      access: 'operator',
      tenant: 'own',
      event: { resource_type: 'VM' },
      body: Closed({
        virtual_machine_id: Id,
        host_id: OptionalId,
        cluster_id: OptionalId,
        pod_id: OptionalId,
        consider_last_host: Flag('Prefer the host it ran on last.'),
        boot_into_setup: Flag('Stop in the firmware’s setup.'),
      }),
      ok: { 200: VmOrAccepted },
      errors: [400, 500],
      example: { body: { virtual_machine_id: id }, answer: accepted },
    },
    vmStop: {
      method: 'POST',
      path: '/compute/vms/stop',
      summary: 'Stop virtual machine',
      description: 'One that is stopped stays as it is and the operation succeeds. `forced` cuts the power.',
      access: 'operator',
      tenant: 'own',
      event: { resource_type: 'VM' },
      body: Closed({ virtual_machine_id: Id, forced: Flag('Cut the power instead of asking the guest.') }),
      ok: { 200: VmOrAccepted },
      errors: [400, 500],
      example: {
        body: { virtual_machine_id: id },
        answer: { ...accepted, message: 'Stopping virtual machine web-41.' },
      },
    },
    vmReboot: {
      method: 'POST',
      path: '/compute/vms/reboot',
      summary: 'Reboot virtual machine',
      description: 'The machine must run. `forced` stops and starts it.',
      access: 'operator',
      tenant: 'own',
      event: { resource_type: 'VM' },
      body: Closed({
        virtual_machine_id: Id,
        forced: Flag('Stop and start.'),
        boot_into_setup: Flag('Stop in the firmware’s setup.'),
      }),
      ok: { 200: VmOrAccepted },
      errors: [400, 500],
      example: {
        body: { virtual_machine_id: id },
        answer: { ...accepted, message: 'Rebooting virtual machine web-41.' },
      },
    },
    vmUpdate: {
      method: 'POST',
      path: '/compute/vms/update',
      summary: 'Update virtual machine',
      description:
        'A new name takes effect at the next start. Security groups change only while it is stopped. Hardware details have routes of their own.',
      access: 'operator',
      tenant: 'own',
      event: { resource_type: 'VM' },
      body: Closed(
        {
          virtual_machine_id: Id,
          display_name: Words('Name for people.'),
          name: Type.Optional(Type.String({ pattern: HOST_NAME, maxLength: 63, description: 'Host name.' })),
          group: Words('Free word that groups machines.'),
          ha_enabled: Flag('Restart elsewhere when the host fails; the offering must allow it.'),
          os_type_id: OptionalId,
          dynamically_scalable: Flag('Whether its compute size may grow while it runs.'),
          delete_protection: Flag('Refuse to be destroyed.'),
          user_data: Type.Optional(
            Type.String({ maxLength: 1_400_000, contentEncoding: 'base64', description: 'Cloud-init data in Base64.' }),
          ),
          user_data_id: OptionalId,
          security_group_ids: Type.Optional(Type.Array(Id, { maxItems: 32, description: 'The whole new set.' })),
          lease_duration_days: Type.Optional(
            Type.Integer({ minimum: -1, maximum: 36_500, description: 'Days until the lease ends; -1 removes it.' }),
          ),
          lease_expiry_action: Type.Optional(
            OneOf(['STOP', 'DESTROY'], { description: 'What happens when the lease ends.' }),
          ),
        },
        { title: 'VmUpdate' },
      ),
      ok: { 200: VirtualMachine },
      errors: [400, 500],
      example: { body: { virtual_machine_id: id, display_name: 'Web server 41' }, answer: vmExample },
    },
    vmDestroy: {
      method: 'POST',
      path: '/compute/vms/destroy',
      summary: 'Destroy virtual machine',
      description: 'Without `expunge` it can be recovered for a while. Delete protection refuses.',
      access: 'operator',
      tenant: 'own',
      extension: true,
      event: { resource_type: 'VM' },
      body: Closed({
        virtual_machine_id: Id,
        expunge: Flag('Remove it for good at once.'),
        volume_ids: Type.Optional(Type.Array(Id, { maxItems: 64, description: 'Data disks to delete with it.' })),
      }),
      dry_run: true,
      ok: { 200: Type.Union([...VmOrAccepted.anyOf, DestructionPlan]) },
      errors: [400, 500],
      example: {
        body: { virtual_machine_id: id },
        answer: { ...accepted, message: 'Destroying virtual machine web-41.' },
      },
    },
    vmExpunge: {
      method: 'POST',
      path: '/compute/vms/expunge',
      summary: 'Expunge destroyed virtual machine',
      description: 'Removes it for good; it must be destroyed.',
      access: 'operator',
      tenant: 'own',
      extension: true,
      event: { resource_type: 'VM' },
      body: VmAction,
      dry_run: true,
      ok: { 200: Type.Union([ActionAccepted, DestructionPlan]) },
      errors: [400, 500],
      example: {
        body: { virtual_machine_id: id },
        answer: { ...accepted, message: 'Expunging virtual machine web-41.' },
      },
    },
    isoList: {
      method: 'GET',
      path: '/compute/vms/isos',
      summary: 'List ISO images',
      description: 'One row a zone; those that are downloaded still, or could not be, say so.',
      access: 'viewer',
      tenant: 'own',
      query: Type.Object({
        zone_id: OptionalId,
        keyword: Words('Part of a name.'),
        bootable: Flag('Only images a machine can start from, or only others.'),
        is_ready: Flag('Only images that can be attached now, or only others.'),
        ...PageFields,
      }),
      ok: { 200: ListOf('isos', IsoImage, 'IsoImagePage') },
      errors: [400, 500],
      example: { query: { bootable: true } },
    },
  },
})
