// NICs of machines and their addresses: each change is one call of the platform, after its preconditions.
import { isIP, isIPv4 } from 'node:net'
import { vmNics } from '#src/contract/compute/nics.ts'
import { vmCan } from '#src/contract/compute/vm-can.ts'
import { pageOf } from '#src/contract/common.ts'
import type { Handlers, Input, RouteSpec } from '#src/contract/route.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { objectOf, type Raw, rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { collected } from '#src/drivers/cloudstack/lists.ts'
import { CloudStackError } from '#src/drivers/cloudstack/platform-error.ts'
import type { Postcondition } from '#src/drivers/cloudstack/postcondition.ts'
import { onePage } from '#src/drivers/cloudstack/page.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { type PlatformDeps, platformRows, submitCall, type JobRowSpec } from '../platform-rows.ts'
import { findNic, findSecondaryIp, type FoundAddress, nicRecordOf } from './nic-lookup.ts'
import { requireUsableNetwork } from './ownership.ts'
import { rawVm, readVm, requireState, vmNotFound, vmSubject } from './vm-lookup.ts'
import { requireNetworkOf } from './vm-owner.ts'
import { vmOf } from './vm-view.ts'
import { requireNoSnapshots } from './volume-lookup.ts'

type Routes = typeof vmNics.routes
type Spec<Op extends keyof Routes> = Routes[Op] & RouteSpec
type In<Op extends keyof Routes> = Input<Routes[Op]>

export function vmNicHandlers(deps: PlatformDeps): Handlers<Routes, RequestContext> {
  const { cloudstack } = deps
  return {
    ...platformRows(vmNics, deps, { vmNicAdd: addRow(cloudstack), vmNicSetDefault: defaultRow(cloudstack) }),
    vmNicList: nicList(cloudstack),
    vmNicIpAdd: addIp(deps),
    vmNicIpRemove: removeIp(deps),
    vmNicIpUpdate: updateIp(deps),
  }
}

function addRow(cloudstack: CloudStack): JobRowSpec<Spec<'vmNicAdd'>> {
  return {
    mode: 'job',
    command: 'addNicToVirtualMachine',
    about: async ({ body }, ctx) => {
      requireAddress(body.ip_address)
      const vm = await readVm(cloudstack, body.virtual_machine_id, ctx)
      requireState(vm, vmCan.nicAdd)
      requireNetworkOf(vm, await requireUsableNetwork(cloudstack, ctx.caller.tenant_id, body.network_id))
      if (vm.nics.some((nic) => nic.network_id === body.network_id))
        throw new ApiError(
          'NIC_EXISTS',
          `Virtual machine ${vm.name} has a NIC in network ${body.network_id} already; choose another network.`,
        )
      await requireNoSnapshots(cloudstack, vm.id, ctx)
      return {
        ...vmSubject(vm),
        description: `Adding a NIC to virtual machine ${vm.name}.`,
        done: `Virtual machine ${vm.name} has another NIC.`,
      }
    },
    args: ({ body }) => ({
      virtualmachineid: body.virtual_machine_id,
      networkid: body.network_id,
      ipaddress: body.ip_address,
      macaddress: body.mac_address,
    }),
    postcondition: ({ body }) => ({
      thing: 'nic',
      args: { id: body.virtual_machine_id },
      where: { networkid: body.network_id },
      expect: shownAddress(body.ip_address),
    }),
    reply: (_result, { body }, ctx) => readVm(cloudstack, body.virtual_machine_id, ctx),
  }
}

function defaultRow(cloudstack: CloudStack): JobRowSpec<Spec<'vmNicSetDefault'>> {
  return {
    mode: 'job',
    command: 'updateDefaultNicForVirtualMachine',
    about: async ({ body }, ctx) => {
      const vm = vmOf((await findNic(cloudstack, body, ctx)).vm)
      requireState(vm, vmCan.nicSetDefault)
      if (vm.nics.some((nic) => nic.id === body.nic_id && nic.is_default === true))
        throw new ApiError('NIC_IS_DEFAULT', `NIC ${body.nic_id} is the default one of ${vm.name} already.`)
      return {
        ...vmSubject(vm),
        description: `Changing the default NIC of virtual machine ${vm.name}.`,
        done: `Virtual machine ${vm.name} has another default NIC.`,
      }
    },
    args: ({ body }) => ({ virtualmachineid: body.virtual_machine_id, nicid: body.nic_id }),
    postcondition: ({ body }) => ({
      thing: 'nic',
      args: { id: body.virtual_machine_id },
      where: { id: body.nic_id },
      expect: { isdefault: true },
    }),
    reply: (_result, { body }, ctx) => readVm(cloudstack, body.virtual_machine_id, ctx),
  }
}

/** The platform ignores paging here, and turns any failure inside into a general one (cloudstack.md A.4): both are done by us. */
function nicList(cloudstack: CloudStack) {
  return async ({ body }: In<'vmNicList'>, ctx: RequestContext) => {
    const page = pageOf(body)
    const vm = await rawVm(cloudstack, body.virtual_machine_id, ctx, 'min')
    const virtual_machine_id = textOf(vm, 'id') ?? ''
    const args = { virtualmachineid: virtual_machine_id, networkid: body.network_id, page: 1, pagesize: 500 }
    const rows = rowsOf(await listed(cloudstack, args, ctx), 'nic').map((row) => nicRecordOf(row, virtual_machine_id))
    const keyword = body.keyword?.toLowerCase()
    const found = rows.filter((nic) => {
      const texts = [
        nic.ip_address,
        nic.ipv6_address,
        nic.mac_address,
        nic.network_name,
        ...nic.secondary_ips.map((one) => one.ip_address),
      ]
      return (
        (body.nic_id === undefined || nic.id === body.nic_id) &&
        (keyword === undefined || texts.some((text) => text?.toLowerCase().includes(keyword) === true))
      )
    })
    const { rows: nics, count } = await onePage(found, page)
    return { nics, count, ...page }
  }
}

async function listed(cloudstack: CloudStack, args: Record<string, string | number | undefined>, ctx: RequestContext) {
  try {
    return await cloudstack.call('listNics', args, ctx)
  } catch (error) {
    // The machine may have gone since it was looked at.
    if (error instanceof CloudStackError && error.status === 530) {
      const still = await rawVm(cloudstack, String(args.virtualmachineid), ctx, 'min').catch(() => undefined)
      if (still === undefined) throw vmNotFound(String(args.virtualmachineid))
    }
    throw error
  }
}

function addIp(deps: PlatformDeps) {
  const { cloudstack } = deps
  const plan = async ({ body }: In<'vmNicIpAdd'>, ctx: RequestContext) => {
    requireAddress(body.ip_address)
    const { vm: raw, nic } = await findNic(cloudstack, body, ctx)
    const vm = vmOf(raw)
    requireState(vm, vmCan.nicIpAdd)
    const postcondition: Postcondition = {
      thing: 'secondary_ip',
      args: { id: vm.id },
      where: { id: '$id' },
      expect: shownAddress(body.ip_address),
    }
    const call = {
      command: 'addIpToNic',
      args: { nicid: nic.id, ipaddress: body.ip_address },
      postcondition,
      creates: true,
      resource_type: 'VM',
    }
    const subject = {
      ...vmSubject(vm),
      description: `Adding an address to a NIC of virtual machine ${vm.name}.`,
      done: `A NIC of virtual machine ${vm.name} has another address.`,
    }
    return { ...call, subject }
  }
  return submitCall(deps, plan, async (result, { body }, ctx) => {
    const made = result === undefined ? null : objectOf(result, 'nicsecondaryip')
    const id = made === null ? null : textOf(made, 'id')
    if (id === null) return undefined
    const { vm, nic } = await findNic(cloudstack, body, ctx)
    const virtual_machine_id = vmOf(vm).id
    const found = await findSecondaryIp(cloudstack, { secondary_ip_id: id, virtual_machine_id }, ctx)
    return { id, ip_address: found.ip_address, nic_id: nic.id, network_id: nic.network_id, virtual_machine_id }
  })
}

function removeIp(deps: PlatformDeps) {
  const { cloudstack } = deps
  const plan = async ({ body }: In<'vmNicIpRemove'>, ctx: RequestContext) => {
    const found = await findSecondaryIp(cloudstack, body, ctx)
    const { ip_address } = found
    const vm = vmOf(found.vm)
    requireState(vm, vmCan.nicIpRemove)
    await requireUnused(cloudstack, found, ctx)
    const id = body.secondary_ip_id
    const postcondition: Postcondition = {
      thing: 'secondary_ip',
      args: { id: vm.id },
      where: { id },
      expect: {},
      gone: true,
    }
    const call = { command: 'removeIpFromNic', args: { id }, postcondition, resource_type: 'VM' }
    const words = `address ${ip_address} from virtual machine ${vm.name}`
    return { ...call, subject: { ...vmSubject(vm), description: `Removing ${words}.`, done: `Removed ${words}.` } }
  }
  return submitCall(deps, plan)
}

/** The platform refuses an address in use without a reason (cloudstack.md 10, 10). */
async function requireUnused(cloudstack: CloudStack, { vm, nic, ip_address }: FoundAddress, ctx: RequestContext) {
  const vm_id = textOf(vm, 'id')
  const network_id = nic.network_id ?? undefined
  const scope = { listall: true, projectid: '-1' }
  const nat = { ...scope, associatednetworkid: network_id, isstaticnat: true }
  const read = (row: Raw) => row
  const [rules, addresses] = await Promise.all([
    collected(
      cloudstack.listAll(
        'listPortForwardingRules',
        { ...scope, networkid: network_id },
        { key: 'portforwardingrule', read },
        ctx,
      ),
    ),
    collected(cloudstack.listAll('listPublicIpAddresses', nat, { key: 'publicipaddress', read }, ctx)),
  ])
  const leadsHere = (row: Raw, field: string) =>
    textOf(row, 'virtualmachineid') === vm_id && textOf(row, field) === ip_address
  if (rules.some((rule) => leadsHere(rule, 'vmguestip')))
    throw new ApiError('SECONDARY_IP_IN_USE', `A port-forwarding rule leads to ${ip_address}; remove it first.`)
  if (addresses.some((address) => leadsHere(address, 'vmipaddress')))
    throw new ApiError('SECONDARY_IP_IN_USE', `Static NAT leads to ${ip_address}; switch it off first.`)
}

function updateIp(deps: PlatformDeps) {
  const { cloudstack } = deps
  const plan = async ({ body }: In<'vmNicIpUpdate'>, ctx: RequestContext) => {
    if (body.ip_address !== undefined && !isIPv4(body.ip_address))
      throw invalidField('body.ip_address', 'is not an IPv4 address')
    const { vm: raw, nic } = await findNic(cloudstack, body, ctx)
    const vm = vmOf(raw)
    requireState(vm, vmCan.nicIpUpdate)
    const ipaddress = body.ip_address
    const postcondition: Postcondition = {
      thing: 'nic',
      args: { id: vm.id },
      where: { id: nic.id },
      // Without a wish the platform picks another one.
      expect: { ipaddress: ipaddress ?? { not: nic.ip_address ?? '' } },
    }
    const call = { command: 'updateVmNicIp', args: { nicid: nic.id, ipaddress }, postcondition, resource_type: 'VM' }
    const subject = {
      ...vmSubject(vm),
      description: `Changing the address of a NIC of virtual machine ${vm.name}.`,
      done: `A NIC of virtual machine ${vm.name} has another address.`,
    }
    return { ...call, subject }
  }
  return submitCall(deps, plan, (_result, _input, ctx, { resource_id }) => readVm(cloudstack, resource_id ?? '', ctx))
}

/** One of IPv6 stands elsewhere, and is written in many ways. */
function shownAddress(ip_address: string | undefined): Postcondition['expect'] {
  return ip_address !== undefined && isIPv4(ip_address) ? { ipaddress: ip_address } : {}
}

function requireAddress(text: string | undefined): void {
  if (text !== undefined && isIP(text) === 0) throw invalidField('body.ip_address', 'is not an IP address')
}
