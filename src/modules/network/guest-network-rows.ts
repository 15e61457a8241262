// The changes of guest networks that are one job of the platform each.
import type { guestNetworks } from '#src/contract/network/guest-networks.ts'
import type { Input } from '#src/contract/route.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { given, unverified } from '#src/drivers/cloudstack/postcondition.ts'
import { invalidField } from '#src/kernel/errors.ts'
import type { JobRowSpec } from '../platform-rows.ts'
import { isCidr, isInside } from './cidr.ts'
import { readNetwork, requireNetworkState } from './guest-network-lookup.ts'

type Spec<Op extends keyof typeof guestNetworks.routes> = (typeof guestNetworks.routes)[Op]

export function guestNetworkRows(cloudstack: CloudStack) {
  const guestNetworkUpdate: JobRowSpec<Spec<'guestNetworkUpdate'>> = {
    mode: 'job',
    command: 'updateNetwork',
    about: async ({ body }, ctx) => {
      if (Object.keys(body).every((name) => name === 'id' || name === 'forced'))
        throw invalidField('body', 'names nothing to change')
      const network = await readNetwork(cloudstack, body.id, ctx)
      requireNetworkState(network, 'update')
      requirePossible(body, network)
      return {
        resource_id: network.id,
        resource_name: network.name,
        tenant_id: network.tenant_id,
        description: `Updating guest network ${network.name}.`,
        done: `Guest network ${body.name ?? network.name} is updated.`,
      }
    },
    args: ({ body }) => ({
      id: body.id,
      name: body.name,
      displaytext: body.display_text,
      networkdomain: body.network_domain,
      networkofferingid: body.network_offering_id,
      changecidr: body.change_cidr,
      guestvmcidr: body.guest_vm_cidr,
      publicmtu: body.public_mtu,
      privatemtu: body.private_mtu,
      dns1: body.dns1,
      dns2: body.dns2,
      sourcenatipaddress: body.source_nat_ip,
      displaynetwork: body.display_network,
      forced: body.forced,
    }),
    // Left out: MTUs, which the platform lowers to its limits, the source NAT address, which stands elsewhere, and what is
    // emptied, for which the platform may show its own default.
    postcondition: ({ body }) => ({
      thing: 'network',
      args: { id: body.id },
      expect: given({
        name: body.name,
        displaytext: body.display_text,
        networkdomain: body.network_domain === '' ? undefined : body.network_domain,
        networkofferingid: body.network_offering_id,
        cidr: body.guest_vm_cidr,
        dns1: body.dns1 === '' ? undefined : body.dns1,
        dns2: body.dns2 === '' ? undefined : body.dns2,
        displaynetwork: body.display_network,
      }),
    }),
    reply: (_result, { body }, ctx) => readNetwork(cloudstack, body.id, ctx),
  }
  const guestNetworkRestart: JobRowSpec<Spec<'guestNetworkRestart'>> = {
    mode: 'job',
    command: 'restartNetwork',
    about: async ({ params, body }, ctx) => {
      if (body?.id !== undefined && body.id !== params.id)
        throw invalidField('body.id', 'differs from the id in the path')
      const network = await readNetwork(cloudstack, params.id, ctx)
      requireNetworkState(network, 'restart')
      return {
        resource_id: network.id,
        resource_name: network.name,
        tenant_id: network.tenant_id,
        description: `Restarting guest network ${network.name}.`,
        done: `Guest network ${network.name} is restarted.`,
      }
    },
    args: ({ params, body }) => ({
      id: params.id,
      cleanup: body?.cleanup ?? false,
      makeredundant: body?.make_redundant,
      livepatch: body?.live_patch,
    }),
    postcondition: () => unverified('A network that was restarted looks like one that was not.'),
    reply: (_result, { params }, ctx) => readNetwork(cloudstack, params.id, ctx),
  }
  return { guestNetworkUpdate, guestNetworkRestart }
}

type UpdateBody = Input<typeof guestNetworks.routes.guestNetworkUpdate>['body']

function requirePossible(body: UpdateBody, network: { type: string; cidr: string | null }): void {
  if (body.network_offering_id !== undefined && network.type !== 'Isolated') {
    throw invalidField(
      'body.network_offering_id',
      `can be changed for an Isolated network only; this one is ${network.type}`,
    )
  }
  const { guest_vm_cidr } = body
  if (guest_vm_cidr === undefined) return
  if (!isCidr(guest_vm_cidr)) throw invalidField('body.guest_vm_cidr', 'is not a range like 10.1.1.0/25')
  if (network.cidr !== null && body.change_cidr !== true && !isInside(guest_vm_cidr, network.cidr)) {
    throw invalidField('body.guest_vm_cidr', `is not inside ${network.cidr}, the range of the network`)
  }
}
