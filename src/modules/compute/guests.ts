// Affinity groups, user data, console and firmware of machines.
import type { SocketUpstream } from '#src/contract/answers.ts'
import { type VmConsole, type VmFirmware, vmGuests } from '#src/contract/compute/guests.ts'
import { vmCan } from '#src/contract/compute/vm-can.ts'
import type { Handlers, Input, RouteSpec } from '#src/contract/route.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { flagOf, integerOf, objectOf, type Raw, rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { unverified } from '#src/drivers/cloudstack/postcondition.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { recordChange } from '#src/store/app-events.ts'
import { type PlatformDeps, platformRows, type JobRowSpec, type SyncRow } from '../platform-rows.ts'
import { requireOwn } from './ownership.ts'
import { configureTpm } from './tpm.ts'
import { aboutVm, rawVm, readVm, requireState, vmSubject } from './vm-lookup.ts'
import { VM_DETAILS, vmOf } from './vm-view.ts'

type Routes = typeof vmGuests.routes
type Spec<Op extends keyof Routes> = Routes[Op] & RouteSpec
type In<Op extends keyof Routes> = Input<Routes[Op]>

export function vmGuestHandlers(deps: PlatformDeps): Handlers<Routes, RequestContext> {
  const { cloudstack } = deps
  return {
    ...platformRows(vmGuests, deps, {
      vmAffinityUpdate: affinityRow(cloudstack),
      vmUserDataReset: userDataRow(cloudstack),
    }),
    vmConsoleCreate: ({ body }, ctx) => createConsole(deps, body, ctx),
    vmScreenOpen: async ({ params }, ctx) => screenOf(await createConsole(deps, params, ctx)),
    vmTpmConfigure: (input: In<'vmTpmConfigure'>, ctx: RequestContext): Promise<VmFirmware> =>
      configureTpm(deps, input.body, ctx),
  }
}

function affinityRow(cloudstack: CloudStack): JobRowSpec<Spec<'vmAffinityUpdate'>> {
  return {
    mode: 'job',
    command: 'updateVMAffinityGroup',
    about: async ({ body }, ctx) => {
      const vm = vmOf(await rawVm(cloudstack, body.virtual_machine_id, ctx, 'min'))
      requireState(vm, vmCan.affinityUpdate)
      for (const id of body.affinity_group_ids) await requireOwn(cloudstack, ctx.caller.tenant_id, 'affinity_group', id)
      return {
        ...vmSubject(vm),
        description: `Changing the affinity groups of virtual machine ${vm.name}.`,
        done: `The affinity groups of virtual machine ${vm.name} are changed.`,
      }
    },
    args: ({ body }) => ({ id: body.virtual_machine_id, affinitygroupids: body.affinity_group_ids }),
    postcondition: ({ body }) => ({
      thing: 'vm',
      args: { id: body.virtual_machine_id },
      expect: { affinitygroup: { exactly: body.affinity_group_ids } },
    }),
    reply: async (_result, { body }, ctx) => {
      const raw = await rawVm(cloudstack, body.virtual_machine_id, ctx, `${VM_DETAILS},affgrp`)
      const affinity_groups = rowsOf(raw, 'affinitygroup').map((row) => ({
        id: textOf(row, 'id') ?? '',
        name: textOf(row, 'name'),
      }))
      return { ...vmOf(raw), affinity_groups }
    },
  }
}

/** The longest that the platform takes over POST, before Base64 (cloudstack.md A.5). */
const MOST_USER_DATA_BYTES = 1024 * 1024

function userDataRow(cloudstack: CloudStack): SyncRow<Spec<'vmUserDataReset'>> {
  const about = aboutVm(cloudstack, 'userDataReset', {
    doing: 'Resetting the user data of',
    done: 'given new user data',
  })
  return {
    mode: 'sync',
    command: 'resetUserDataForVirtualMachine',
    repeatable: true,
    timeout_ms: 120_000,
    about: async (input, ctx) => {
      const { user_data, user_data_id, user_data_details } = input.body
      if ((user_data === undefined) === (user_data_id === undefined))
        throw invalidField('body.user_data', 'give exactly one of user_data and user_data_id')
      if (user_data_details !== undefined && user_data_id === undefined)
        throw invalidField('body.user_data_details', 'needs user_data_id')
      if (user_data !== undefined && Buffer.byteLength(user_data, 'base64') > MOST_USER_DATA_BYTES)
        throw invalidField('body.user_data', 'is longer than 1 MiB')
      const subject = await about(input, ctx)
      await requireOwn(cloudstack, ctx.caller.tenant_id, 'user_data', user_data_id)
      return subject
    },
    args: ({ body }) => ({
      id: body.virtual_machine_id,
      userdata: body.user_data,
      userdataid: body.user_data_id,
      userdatadetails: body.user_data_details,
    }),
    postcondition: ({ body }) =>
      body.user_data_id === undefined
        ? unverified('The platform does not show the user data of a machine.')
        : { thing: 'vm', args: { id: body.virtual_machine_id }, expect: { userdataid: body.user_data_id } },
    reply: (_answer, { body }, ctx) => readVm(cloudstack, body.virtual_machine_id, ctx),
  }
}

async function createConsole(
  deps: PlatformDeps,
  { virtual_machine_id, token }: In<'vmConsoleCreate'>['body'],
  ctx: RequestContext,
): Promise<VmConsole> {
  const vm = vmOf(await rawVm(deps.cloudstack, virtual_machine_id, ctx, 'min'))
  requireState(vm, vmCan.console)
  const about = {
    resource_type: 'VM',
    resource_uuid: vm.id,
    tenant_id: vm.tenant_id,
    description: `Opening a console of virtual machine ${vm.name}.`,
  }
  return recordChange(deps, ctx, about, async () => {
    const args = { virtualmachineid: vm.id, token }
    const answer = await deps.cloudstack.call('createConsoleEndpoint', args, { traceparent: ctx.traceparent })
    return consoleOf(objectOf(answer, 'consoleendpoint') ?? {}, vm.id)
  })
}

/** The platform's console proxy speaks RFB over a WebSocket, with TLS where its own page has it. */
function screenOf({ virtual_machine_id, url, websocket }: VmConsole): SocketUpstream {
  if (websocket === null || websocket.host === '')
    throw new ApiError(
      'CONSOLE_UNAVAILABLE',
      `The compute platform gave no address for the screen of virtual machine ${virtual_machine_id}.`,
    )
  const { host, port, path, token } = websocket
  const scheme = url?.startsWith('https:') === true ? 'wss' : 'ws'
  const query = new URLSearchParams({ token })
  return {
    subsystem: 'COMPUTE',
    url: `${scheme}://${host}:${port}/${path.replace(/^\//, '')}?${query.toString()}`,
    protocols: ['binary'],
  }
}

/** Failure comes with status 200: only `success` tells (cloudstack.md 10, 8). */
function consoleOf(endpoint: Raw, virtual_machine_id: string): VmConsole {
  if (flagOf(endpoint, 'success') !== true) {
    const cause = new Error(textOf(endpoint, 'details') ?? 'no reason was given')
    if (/must be running/i.test(cause.message))
      throw new ApiError(
        'VM_STATE',
        `Virtual machine ${virtual_machine_id} does not run any more; this needs ${vmCan.console.join(' or ')}.`,
        { cause },
      )
    const soon = /few minutes/i.test(cause.message) ? ' It will be ready in a few minutes.' : ''
    throw new ApiError(
      'CONSOLE_UNAVAILABLE',
      `The compute platform could not open the console of virtual machine ${virtual_machine_id}.${soon}`,
      { cause },
    )
  }
  const socket = objectOf(endpoint, 'websocket')
  return {
    virtual_machine_id,
    url: textOf(endpoint, 'url'),
    websocket:
      socket === null
        ? null
        : {
            host: textOf(socket, 'host') ?? '',
            port: integerOf(socket, 'port') ?? 0,
            path: textOf(socket, 'path') ?? '',
            token: textOf(socket, 'token') ?? '',
            extra: textOf(socket, 'extra'),
          },
  }
}
