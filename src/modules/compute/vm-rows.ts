// The virtual machine operations that are one call each.
import type { vms } from '#src/contract/compute/vms.ts'
import type { RouteSpec } from '#src/contract/route.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { objectOf } from '#src/drivers/cloudstack/fields.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import { given, type Postcondition, unverified } from '#src/drivers/cloudstack/postcondition.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { JobRowSpec, SyncRow } from '../platform-rows.ts'
import { requireOwn } from './ownership.ts'
import { effectOfDestruction } from './vm-effect.ts'
import { aboutVm, readVm } from './vm-lookup.ts'
import { vmOf } from './vm-view.ts'

type Spec<Op extends keyof typeof vms.routes> = (typeof vms.routes)[Op] & RouteSpec
type VmBody = { body: { virtual_machine_id: string } }

export function vmRows(cloudstack: CloudStack) {
  const present = (_result: unknown, { body }: VmBody, ctx: RequestContext) =>
    readVm(cloudstack, body.virtual_machine_id, ctx)
  const becomes =
    (state: string) =>
    ({ body }: VmBody): Postcondition => ({ thing: 'vm', args: { id: body.virtual_machine_id }, expect: { state } })

  const vmStart: JobRowSpec<Spec<'vmStart'>> = {
    mode: 'job',
    command: 'startVirtualMachine',
    about: async (input, ctx) => {
      const subject = await aboutVm(cloudstack, 'start', { doing: 'Starting', done: 'running' })(input, ctx)
      const chosen = placement(input.body, ctx)
      // A machine that runs already is asked nothing of: the platform would not see what was chosen for it.
      await Promise.all([
        requirePlace(cloudstack, 'Host', 'listHosts', 'host', chosen.hostid, ctx),
        requirePlace(cloudstack, 'Cluster', 'listClusters', 'cluster', chosen.clusterid, ctx),
      ])
      return subject
    },
    args: ({ body }, ctx) => ({
      id: body.virtual_machine_id,
      ...placement(body, ctx),
      considerlasthost: body.consider_last_host,
      bootintosetup: body.boot_into_setup,
    }),
    postcondition: becomes('Running'),
    skip_if_so: true,
    reply: present,
  }
  const vmStop: JobRowSpec<Spec<'vmStop'>> = {
    mode: 'job',
    command: 'stopVirtualMachine',
    about: aboutVm(cloudstack, 'stop', { doing: 'Stopping', done: 'stopped' }),
    args: ({ body }) => ({ id: body.virtual_machine_id, forced: body.forced }),
    postcondition: becomes('Stopped'),
    skip_if_so: true,
    reply: present,
  }
  const vmReboot: JobRowSpec<Spec<'vmReboot'>> = {
    mode: 'job',
    command: 'rebootVirtualMachine',
    about: aboutVm(cloudstack, 'reboot', { doing: 'Rebooting', done: 'rebooted' }),
    args: ({ body }) => ({ id: body.virtual_machine_id, forced: body.forced, bootintosetup: body.boot_into_setup }),
    postcondition: () => unverified('A machine that was rebooted looks like one that was not.'),
    reply: present,
  }
  return { vmStart, vmStop, vmReboot, ...changingRows(cloudstack), ...endingRows(cloudstack) }
}

function changingRows(cloudstack: CloudStack) {
  const vmUpdate: SyncRow<Spec<'vmUpdate'>> = {
    mode: 'sync',
    command: 'updateVirtualMachine',
    about: async (input, ctx) => {
      const subject = await aboutVm(cloudstack, 'update', { doing: 'Updating', done: 'updated' })(input, ctx)
      await requireOwn(cloudstack, ctx.caller.tenant_id, 'user_data', input.body.user_data_id)
      for (const id of input.body.security_group_ids ?? [])
        await requireOwn(cloudstack, ctx.caller.tenant_id, 'security_group', id)
      return subject
    },
    args: ({ body }) => ({
      id: body.virtual_machine_id,
      displayname: body.display_name,
      name: body.name,
      group: body.group,
      haenable: body.ha_enabled,
      ostypeid: body.os_type_id,
      isdynamicallyscalable: body.dynamically_scalable,
      deleteprotection: body.delete_protection,
      userdata: body.user_data,
      userdataid: body.user_data_id,
      securitygroupids: body.security_group_ids,
      leaseduration: body.lease_duration_days,
      leaseexpiryaction: body.lease_expiry_action,
    }),
    // Left out: what the platform may write otherwise (names, security groups, leases), and user data, which it hides.
    postcondition: ({ body }) => ({
      thing: 'vm',
      args: { id: body.virtual_machine_id },
      expect: given({
        displayname: body.display_name,
        group: body.group,
        haenable: body.ha_enabled,
        ostypeid: body.os_type_id,
        isdynamicallyscalable: body.dynamically_scalable,
        deleteprotection: body.delete_protection,
        userdataid: body.user_data_id,
      }),
    }),
    reply: (answer, { body }, ctx) => {
      const vm = objectOf(answer, 'virtualmachine')
      return vm === null ? readVm(cloudstack, body.virtual_machine_id, ctx) : vmOf(vm)
    },
  }
  return { vmUpdate }
}

function endingRows(cloudstack: CloudStack) {
  const vmDestroy: JobRowSpec<Spec<'vmDestroy'>> = {
    mode: 'job',
    command: 'destroyVirtualMachine',
    about: async (input, ctx) => {
      const subject = await aboutVm(cloudstack, 'destroy', { doing: 'Destroying', done: 'destroyed' })(input, ctx)
      for (const id of input.body.volume_ids ?? []) await requireOwn(cloudstack, ctx.caller.tenant_id, 'volume', id)
      return { ...subject, would: () => effectOfDestruction(cloudstack, subject, input.body, ctx) }
    },
    args: ({ body }) => ({ id: body.virtual_machine_id, expunge: body.expunge, volumeids: body.volume_ids }),
    postcondition: ({ body }) => ({
      thing: 'vm',
      args: { id: body.virtual_machine_id },
      expect: { state: body.expunge === true ? ['Expunging'] : ['Destroyed', 'Expunging'] },
      gone: true,
    }),
    reply: async (_result, { body }, ctx) => orGone(readVm(cloudstack, body.virtual_machine_id, ctx)),
  }
  const vmExpunge: JobRowSpec<Spec<'vmExpunge'>> = {
    mode: 'job',
    command: 'expungeVirtualMachine',
    about: async (input, ctx) => {
      const subject = await aboutVm(cloudstack, 'expunge', { doing: 'Expunging', done: 'expunged' })(input, ctx)
      return {
        ...subject,
        would: () => effectOfDestruction(cloudstack, subject, { ...input.body, expunge: true }, ctx),
      }
    },
    args: ({ body }) => ({ id: body.virtual_machine_id }),
    postcondition: ({ body }) => ({
      thing: 'vm',
      args: { id: body.virtual_machine_id },
      expect: { state: 'Expunging' },
      gone: true,
    }),
  }
  return { vmDestroy, vmExpunge }
}

/** Hosts, clusters and pods belong to no tenant: a tenant-scoped caller cannot choose among them. */
async function requirePlace(
  cloudstack: CloudStack,
  word: string,
  command: string,
  key: string,
  id: string | undefined,
  { signal, traceparent }: RequestContext,
): Promise<void> {
  if (id === undefined || (await findOne(cloudstack, command, key, { id }, { signal, traceparent })) !== undefined)
    return
  throw new ApiError('RESOURCE_NOT_FOUND', `${word} ${id} not found.`)
}

export function placement(body: { host_id?: string; cluster_id?: string; pod_id?: string }, ctx: RequestContext) {
  const chosen = { hostid: body.host_id, clusterid: body.cluster_id, podid: body.pod_id }
  if (ctx.caller.tenant_id !== null && Object.values(chosen).some((id) => id !== undefined)) {
    throw new ApiError(
      'TENANT_SCOPE',
      `A caller of tenant ${ctx.caller.tenant_id} cannot choose a host, cluster or pod; leave \`host_id\`, \`cluster_id\` and \`pod_id\` out.`,
    )
  }
  return chosen
}

async function orGone<T>(vm: Promise<T>): Promise<T | undefined> {
  try {
    return await vm
  } catch (error) {
    if (error instanceof ApiError && error.code === 'VM_NOT_FOUND') return undefined
    throw error
  }
}
