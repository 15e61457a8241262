// The changes of port forwarding: one job of the platform each, after every check that can be made before.
import {
  type PortForwarding, type PortForwardingCreate, portForwardingCan, type portForwarding,
} from '#src/contract/network/port-forwarding.ts' // biome-ignore format: one import
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { objectOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { given } from '#src/drivers/cloudstack/postcondition.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { Effect, Subject } from '../operation.ts'
import type { JobRowSpec } from '../platform-rows.ts'
import { requireCidrs } from './cidr.ts'
import {
  readAddress, readRule, readTarget, requireAllocated, requireNoStaticNat, requireTargetState, rulesOf,
  targetNetwork,
} from './forwarding-lookup.ts' // biome-ignore format: one import
import { newPrivatePorts, overlaps, type PortRange, portsOf, wordsFor } from './forwarding-ports.ts'

type Spec<Op extends keyof typeof portForwarding.routes> = (typeof portForwarding.routes)[Op]

export function forwardingRows(cloudstack: CloudStack) {
  const portForwardingCreate: JobRowSpec<Spec<'portForwardingCreate'>> = {
    mode: 'create',
    command: 'createPortForwardingRule',
    about: ({ body }, ctx) => aboutNewRule(cloudstack, body, ctx),
    args: ({ body }) => {
      const ports = portsOf(body)
      return {
        protocol: body.protocol,
        ipaddressid: body.public_ip_id,
        virtualmachineid: body.virtual_machine_id,
        networkid: body.network_id,
        cidrlist: body.cidrlist,
        // The platform's own default opens the ports to the world (cloudstack.md 10, 7).
        openfirewall: body.open_firewall ?? false,
        publicport: ports.public.start,
        publicendport: ports.public.end,
        privateport: ports.private.start,
        privateendport: ports.private.end,
      }
    },
    postcondition: ({ body }) => ({
      thing: 'port_forwarding',
      args: { id: '$id' },
      expect: { state: 'Active', virtualmachineid: body.virtual_machine_id },
    }),
    reply: async (result, _input, ctx) => {
      const id = textOf(objectOf(result ?? {}, 'portforwardingrule') ?? {}, 'id')
      return id === null ? undefined : readRule(cloudstack, id, ctx)
    },
  }
  const portForwardingUpdate: JobRowSpec<Spec<'portForwardingUpdate'>> = {
    mode: 'job',
    command: 'updatePortForwardingRule',
    about: async ({ body }, ctx) => {
      const rule = await readRule(cloudstack, body.id, ctx)
      // Without `private_port` the end is decided by the range, and a rule of one port is a range of one.
      newPrivatePorts(body, rule)
      requireRuleState(rule, 'update')
      return aboutRule(cloudstack, rule, ctx, { doing: 'Changing', done: 'changed' })
    },
    args: ({ body }) => {
      const start = body.private_port ?? body.private_port_start
      return { id: body.id, privateport: start, privateendport: body.private_port ?? body.private_port_end }
    },
    postcondition: ({ body }) => ({
      thing: 'port_forwarding',
      args: { id: body.id },
      expect: given({
        state: 'Active',
        privateport: body.private_port ?? body.private_port_start,
        privateendport: body.private_port ?? body.private_port_end,
      }),
    }),
    reply: (_result, { body }, ctx) => readRule(cloudstack, body.id, ctx),
  }
  const portForwardingDelete: JobRowSpec<Spec<'portForwardingDelete'>> = {
    mode: 'job',
    command: 'deletePortForwardingRule',
    about: async ({ params }, ctx) => {
      const rule = await readRule(cloudstack, params.id, ctx)
      requireRuleState(rule, 'delete')
      const subject = await aboutRule(cloudstack, rule, ctx, { doing: 'Removing', done: 'removed' })
      return { ...subject, would: () => effectOfDeletion(rule) }
    },
    args: ({ params }) => ({ id: params.id }),
    postcondition: ({ params }) => ({ thing: 'port_forwarding', args: { id: params.id }, expect: {}, gone: true }),
  }
  return { portForwardingCreate, portForwardingUpdate, portForwardingDelete }
}

async function aboutNewRule(cloudstack: CloudStack, body: PortForwardingCreate, ctx: RequestContext): Promise<Subject> {
  const ports = portsOf(body)
  requireCidrs('cidrlist', body.cidrlist ?? [])
  const [address, target] = await Promise.all([
    readAddress(cloudstack, body.public_ip_id, ctx),
    readTarget(cloudstack, body.virtual_machine_id, ctx),
  ])
  requireAllocated(address)
  requireNoStaticNat(address)
  if (body.open_firewall === true && address.vpc_id !== null) {
    throw invalidField(
      'body.open_firewall',
      'cannot be true for an address of a VPC; its networks have access lists instead',
    )
  }
  const network_id = await targetNetwork(cloudstack, address, body.network_id, ctx)
  requireTargetState(target)
  if (!target.network_ids.has(network_id)) {
    throw invalidField('body.virtual_machine_id', 'has no NIC in the network that the address belongs to')
  }
  await requireFreePorts(cloudstack, body, ports.public, ctx)
  const words = wordsFor(body.protocol, ports.public)
  return {
    resource_id: null,
    resource_name: `${address.ip_address} ${words}`,
    tenant_id: address.tenant_id,
    description: `Forwarding ${words} of ${address.ip_address} to ${target.name}.`,
    done: `${words} of ${address.ip_address} lead to ${target.name}.`,
  }
}

async function requireFreePorts(
  cloudstack: CloudStack,
  body: PortForwardingCreate,
  ports: PortRange,
  ctx: RequestContext,
): Promise<void> {
  for await (const rule of rulesOf(cloudstack, body.public_ip_id, ctx)) {
    if (rule.protocol !== body.protocol || !overlaps(rule, ports)) continue
    const taken = wordsFor(rule.protocol, { start: rule.public_port_start ?? 0, end: rule.public_port_end ?? 0 })
    throw new ApiError('PORT_FORWARDING_CONFLICT', `The rule ${rule.id} has ${taken} of this address already.`)
  }
}

function requireRuleState(rule: PortForwarding, operation: keyof typeof portForwardingCan): void {
  const states: readonly string[] = portForwardingCan[operation]
  if (states.includes(rule.state)) return
  throw new ApiError(
    'PORT_FORWARDING_STATE',
    `Port-forwarding rule ${rule.id} is ${rule.state}; this needs ${states.join(' or ')}.`,
  )
}

function effectOfDeletion(rule: PortForwarding): Effect {
  const { public_ip_id, public_ip_address: address, virtual_machine_id, virtual_machine_name } = rule
  const name = virtual_machine_name ?? virtual_machine_id ?? 'no virtual machine'
  const ports = wordsFor(rule.protocol, { start: rule.public_port_start ?? 0, end: rule.public_port_end ?? 0 })
  return {
    message: `Would delete the rule of ${ports} of ${address ?? 'a public address'}: they would lead to ${name} no more.`,
    affected: [
      { kind: 'public_ip', id: public_ip_id, name: address ?? '' },
      { kind: 'virtual_machine', id: virtual_machine_id, name },
    ],
  }
}

async function aboutRule(
  cloudstack: CloudStack,
  rule: PortForwarding,
  ctx: RequestContext,
  words: { doing: string; done: string },
): Promise<Subject> {
  const { tenant_id } = await readAddress(cloudstack, rule.public_ip_id ?? '', ctx)
  const ports = wordsFor(rule.protocol, { start: rule.public_port_start ?? 0, end: rule.public_port_end ?? 0 })
  const subject = `the rule of ${ports} of ${rule.public_ip_address ?? 'a public address'}`
  return {
    resource_id: rule.id,
    resource_name: `${rule.public_ip_address ?? ''} ${ports}`.trim(),
    tenant_id,
    related: [rule.public_ip_id, rule.virtual_machine_id],
    description: `${words.doing} ${subject}.`,
    done: `${subject[0]?.toUpperCase()}${subject.slice(1)} is ${words.done}.`,
  }
}
