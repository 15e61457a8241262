// Load-balancer rules: lists, one with its machines, and the changes after every check that can be made before.
import { pageOf } from '#src/contract/common.ts'
import {
  type LoadBalancer, type LoadBalancerCreate, loadBalancers, type LoadBalancerWithMachines,
} from '#src/contract/network/load-balancers.ts' // biome-ignore format: one import
import type { Handlers, Input } from '#src/contract/route.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { objectOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { given } from '#src/drivers/cloudstack/postcondition.ts'
import { scopeOf } from '#src/drivers/cloudstack/tenant-scope.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { Affected, Effect, Subject } from '../operation.ts'
import { type JobRowSpec, type PlatformDeps, platformRows } from '../platform-rows.ts'
import { requireCidrs } from './cidr.ts'
import {
  readAddress, readTarget, requireAllocated, requireNoStaticNat, requireTargetState, rulesOf, targetNetwork,
} from './forwarding-lookup.ts' // biome-ignore format: one import
import { overlaps } from './forwarding-ports.ts'
import { readNetwork } from './guest-network-lookup.ts'
import { BALANCER_ITEM, machinesOf, readBalancer, withMachines } from './load-balancer-lookup.ts'

type Routes = typeof loadBalancers.routes
type In<Op extends keyof Routes> = Input<Routes[Op]>

const LIST = 'listLoadBalancerRules'
/** The platform shows a rule as Add as long as no machine serves it. */
const STANDS = ['Add', 'Active']

export function loadBalancerHandlers(deps: PlatformDeps): Handlers<Routes, RequestContext> {
  const { cloudstack } = deps
  return {
    ...platformRows(loadBalancers, deps, {
      loadBalancerCreate: createRow(cloudstack),
      loadBalancerUpdate: updateRow(cloudstack),
      loadBalancerDelete: deleteRow(cloudstack),
      loadBalancerMachineAssign: assignRow(cloudstack),
      loadBalancerMachineRemove: removeRow(cloudstack),
    }),
    loadBalancerList: balancerList(cloudstack),
    loadBalancerGet: ({ params }, ctx) => withMachines(cloudstack, params.id, ctx),
  }
}

function balancerList(cloudstack: CloudStack) {
  return async ({ body = {} }: In<'loadBalancerList'>, ctx: RequestContext) => {
    const { id, name, public_ip_id, network_id, virtual_machine_id, keyword } = body
    const page = pageOf(body)
    const args = {
      id, name, publicipid: public_ip_id, networkid: network_id, virtualmachineid: virtual_machine_id, keyword,
      ...scopeOf(ctx.caller.tenant_id),
    } // biome-ignore format: one record
    const { rows, count } = await cloudstack.listPage(LIST, args, BALANCER_ITEM, page, ctx)
    return { load_balancers: rows, count, ...page }
  }
}

function createRow(cloudstack: CloudStack): JobRowSpec<Routes['loadBalancerCreate']> {
  return {
    mode: 'create',
    command: 'createLoadBalancerRule',
    about: ({ body }, ctx) => aboutNewBalancer(cloudstack, body, ctx),
    args: ({ body }) => ({
      name: body.name,
      description: body.description,
      publicipid: body.public_ip_id,
      networkid: body.network_id,
      publicport: body.public_port,
      privateport: body.private_port,
      algorithm: body.algorithm,
      protocol: body.protocol ?? 'tcp',
      cidrlist: body.source_cidrs,
      // The platform's own default opens the port to the world.
      openfirewall: body.open_firewall ?? false,
    }),
    postcondition: ({ body }) => ({
      thing: 'load_balancer',
      args: { id: '$id' },
      expect: { state: STANDS, name: body.name, algorithm: body.algorithm },
    }),
    reply: (result, _input, ctx) => {
      const id = textOf(objectOf(result ?? {}, 'loadbalancer') ?? {}, 'id')
      return id === null ? undefined : withMachines(cloudstack, id, ctx)
    },
  }
}

function updateRow(cloudstack: CloudStack): JobRowSpec<Routes['loadBalancerUpdate']> {
  return {
    mode: 'job',
    command: 'updateLoadBalancerRule',
    about: async ({ body }, ctx) => {
      if (Object.keys(body).every((name) => name === 'id')) throw invalidField('body', 'names nothing to change')
      const balancer = await readBalancer(cloudstack, body.id, ctx)
      return {
        ...subjectOf(balancer),
        description: `Updating load-balancer rule ${balancer.name}.`,
        done: `Load-balancer rule ${body.name ?? balancer.name} is updated.`,
      }
    },
    args: ({ body }) => ({
      id: body.id, name: body.name, description: body.description, algorithm: body.algorithm,
    }), // biome-ignore format: one record
    postcondition: ({ body }) => ({
      thing: 'load_balancer',
      args: { id: body.id },
      expect: given({ name: body.name, description: body.description, algorithm: body.algorithm }),
    }),
    reply: (_result, { body }, ctx) => withMachines(cloudstack, body.id, ctx),
  }
}

function deleteRow(cloudstack: CloudStack): JobRowSpec<Routes['loadBalancerDelete']> {
  return {
    mode: 'job',
    command: 'deleteLoadBalancerRule',
    about: async ({ params }, ctx) => {
      const { machines, ...balancer } = await withMachines(cloudstack, params.id, ctx)
      const served =
        machines.length === 1 ? '1 virtual machine serves' : `${machines.length || 'no'} virtual machines serve`
      return {
        ...subjectOf(balancer),
        related: [balancer.public_ip_id, ...machines.map((one) => one.virtual_machine_id)],
        description: `Deleting load-balancer rule ${balancer.name}, which ${served}.`,
        done: `Load-balancer rule ${balancer.name} is deleted.`,
        would: () => ({
          message: `Would delete load-balancer rule ${balancer.name}, which ${served}: port ${balancer.public_port} of ${balancer.public_ip_address ?? 'its address'} would lead nowhere.`,
          affected: [
            { kind: 'public_ip', id: balancer.public_ip_id, name: balancer.public_ip_address ?? '' },
            ...machines.map(affectedMachine),
          ],
        }),
      }
    },
    args: ({ params }) => ({ id: params.id }),
    postcondition: ({ params }) => ({ thing: 'load_balancer', args: { id: params.id }, expect: {}, gone: true }),
  }
}

function assignRow(cloudstack: CloudStack): JobRowSpec<Routes['loadBalancerMachineAssign']> {
  return {
    mode: 'job',
    command: 'assignToLoadBalancerRule',
    skip_if_so: true,
    about: async ({ params, body }, ctx) => {
      const [balancer, target] = await Promise.all([
        readBalancer(cloudstack, params.id, ctx),
        readTarget(cloudstack, body.virtual_machine_id, ctx),
      ])
      requireTargetState(target)
      if (!target.network_ids.has(balancer.network_id ?? ''))
        throw invalidField(
          'body.virtual_machine_id',
          `${target.name} has no NIC in network ${balancer.network_id}, which the rule ${balancer.name} serves`,
        )
      return {
        ...subjectOf(balancer),
        related: [balancer.public_ip_id, target.id],
        description: `Assigning virtual machine ${target.name} to load-balancer rule ${balancer.name}.`,
        done: `Virtual machine ${target.name} serves load-balancer rule ${balancer.name}.`,
      }
    },
    args: ({ params, body }) => ({ id: params.id, virtualmachineids: [body.virtual_machine_id] }),
    postcondition: ({ params, body: { virtual_machine_id: id } }) => ({
      thing: 'balanced_machine',
      args: { id: params.id },
      where: { id },
      expect: { id },
    }),
    reply: (_result, { params }, ctx) => withMachines(cloudstack, params.id, ctx),
  }
}

function removeRow(cloudstack: CloudStack): JobRowSpec<Routes['loadBalancerMachineRemove']> {
  return {
    mode: 'job',
    command: 'removeFromLoadBalancerRule',
    skip_if_so: true,
    about: async ({ params }, ctx) => {
      const [balancer, target] = await Promise.all([
        readBalancer(cloudstack, params.id, ctx),
        readTarget(cloudstack, params.virtual_machine_id, ctx),
      ])
      return {
        ...subjectOf(balancer),
        related: [balancer.public_ip_id, target.id],
        would: async () => effectOfRemoval(balancer, target, await machinesOf(cloudstack, balancer, ctx)),
        description: `Removing virtual machine ${target.name} from load-balancer rule ${balancer.name}.`,
        done: `Virtual machine ${target.name} serves load-balancer rule ${balancer.name} no more.`,
      }
    },
    args: ({ params }) => ({ id: params.id, virtualmachineids: [params.virtual_machine_id] }),
    postcondition: ({ params }) => ({
      thing: 'balanced_machine',
      args: { id: params.id },
      where: { id: params.virtual_machine_id },
      expect: {},
      gone: true,
    }),
    reply: (_result, { params }, ctx) => withMachines(cloudstack, params.id, ctx),
  }
}

function effectOfRemoval(
  { name, public_port, public_ip_address }: LoadBalancer,
  target: { id: string; name: string },
  machines: Machines,
): Effect {
  const others = machines.filter((one) => one.virtual_machine_id !== target.id)
  if (others.length === machines.length)
    return {
      message: `Virtual machine ${target.name} does not serve load-balancer rule ${name}; nothing would be sent.`,
    }
  const port = `port ${public_port} of ${public_ip_address ?? 'its address'}`
  const left = others.map((one) => one.virtual_machine_name).join(', ')
  const then = left === '' ? `nobody would serve ${port} then` : `${left} would go on serving ${port}`
  return {
    message: `Would remove virtual machine ${target.name} from load-balancer rule ${name}: its connections would end, and ${then}.`,
    affected: [{ kind: 'virtual_machine', id: target.id, name: target.name }],
  }
}

type Machines = LoadBalancerWithMachines['machines']

function affectedMachine({ virtual_machine_id, virtual_machine_name }: Machines[number]): Affected {
  return { kind: 'virtual_machine', id: virtual_machine_id, name: virtual_machine_name }
}

function subjectOf({ id, name, tenant_id, public_ip_id }: LoadBalancer) {
  return { resource_id: id, resource_name: name, tenant_id, related: [public_ip_id] }
}

async function aboutNewBalancer(
  cloudstack: CloudStack,
  body: LoadBalancerCreate,
  ctx: RequestContext,
): Promise<Subject> {
  requireCidrs('source_cidrs', body.source_cidrs ?? [])
  const address = await readAddress(cloudstack, body.public_ip_id, ctx)
  requireAllocated(address)
  requireNoStaticNat(address)
  if (body.open_firewall === true && address.vpc_id !== null)
    throw invalidField(
      'body.open_firewall',
      'cannot be true for an address of a VPC; its networks have access lists instead',
    )
  const network = await readNetwork(cloudstack, await targetNetwork(cloudstack, address, body.network_id, ctx), ctx)
  if (!network.services.includes('Lb'))
    throw invalidField('body.public_ip_id', `leads to network ${network.name}, which offers no load balancing`)
  await requireFreePort(cloudstack, body, address.ip_address, ctx)
  return {
    resource_id: null,
    resource_name: body.name,
    tenant_id: address.tenant_id,
    description: `Creating load-balancer rule ${body.name}.`,
    done: `Load-balancer rule ${body.name} is created.`,
  }
}

/** As the platform sees it, a port of an address is balanced or forwarded once, whatever the protocols. */
async function requireFreePort(
  cloudstack: CloudStack,
  { public_ip_id, public_port }: LoadBalancerCreate,
  ip_address: string,
  ctx: RequestContext,
): Promise<void> {
  const taken = (by: string) =>
    new ApiError(
      'LOAD_BALANCER_CONFLICT',
      `Port ${public_port} of ${ip_address} is taken by ${by}; delete that, or give another \`public_port\`.`,
    )
  const args = { publicipid: public_ip_id, ...scopeOf(null) }
  for await (const other of cloudstack.listAll(LIST, args, BALANCER_ITEM, ctx)) {
    if (other.public_port === public_port) throw taken(`load-balancer rule ${other.name} (${other.id})`)
  }
  for await (const rule of rulesOf(cloudstack, public_ip_id, ctx)) {
    if (overlaps(rule, { start: public_port, end: public_port })) throw taken(`port-forwarding rule ${rule.id}`)
  }
}
