// Whose a new virtual machine, or what it needs, becomes: named by the request, or by the networks that it is put into.
import type { VmProvision } from '#src/contract/compute/vm-provision.ts'
import type { VirtualMachine } from '#src/contract/compute/virtual-machine.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { type Raw, rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import { checkOwner } from '#src/drivers/cloudstack/tenant-scope.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { requireOwn, requireUsableNetwork } from './ownership.ts'

type Owner = Record<string, string>
type Wanted = Pick<VmProvision, 'domain_id' | 'account' | 'project_id' | 'network_ids' | 'networks'>

type Asked = Pick<VmProvision, 'domain_id' | 'account' | 'project_id'>

/** Owner parameters. The platform wants account and domain together: a tenant alone stands for the account of the network, else for its first one. */
export async function ownerOf(cloudstack: CloudStack, body: Wanted, ctx: RequestContext): Promise<Owner> {
  checkOwner(body)
  const { tenant_id } = ctx.caller
  if (tenant_id !== null && body.domain_id !== undefined && body.domain_id !== tenant_id) {
    throw new ApiError('TENANT_SCOPE', `A caller of tenant ${tenant_id} cannot provision for another one.`)
  }
  const [networks] = await Promise.all([
    networksOf(cloudstack, body, ctx),
    requireOwn(cloudstack, tenant_id, 'project', body.project_id),
  ])
  const domainid = tenant_id ?? body.domain_id
  const owned = networks.filter(servesOneOwner)
  for (const network of owned) requireOwner(network, owned[0] ?? network, body)
  if (body.project_id !== undefined) return { projectid: body.project_id }
  const [network] = owned
  const of_network = network === undefined ? undefined : ownerFields(network)
  if (of_network !== undefined && body.account === undefined) return of_network
  if (domainid === undefined) return {}
  return { domainid, account: body.account ?? (await firstAccount(cloudstack, domainid, ctx.signal)) }
}

/** A network of another tenant does not exist to a tenant-scoped caller. */
async function networksOf(cloudstack: CloudStack, body: Wanted, ctx: RequestContext): Promise<Raw[]> {
  const ids = [...(body.network_ids ?? []), ...(body.networks ?? []).map((nic) => nic.network_id)]
  return Promise.all(ids.map((id) => requireUsableNetwork(cloudstack, ctx.caller.tenant_id, id)))
}

/** An isolated network serves its own account, or project, alone; of others the platform decides. */
function servesOneOwner(network: Raw): boolean {
  return textOf(network, 'type') === 'Isolated' && textOf(network, 'acltype')?.toLowerCase() !== 'domain'
}

/** For a network that a machine which exists is to be put into. */
export function requireNetworkOf(vm: VirtualMachine, network: Raw): void {
  const own = servesOneOwner(network) ? ownerFields(network) : undefined
  if (own === undefined) return
  if (own.projectid !== undefined && own.projectid === vm.project_id) return
  if (own.projectid === undefined && own.domainid === vm.tenant_id && own.account === vm.account) return
  throw rejected(
    `${described(network)}, and virtual machine ${vm.name} belongs to another owner: choose a network of its owner, or a shared one.`,
  )
}

function ownerFields(network: Raw): Owner | undefined {
  const projectid = textOf(network, 'projectid')
  if (projectid !== null) return { projectid }
  const [domainid, account] = [textOf(network, 'domainid'), textOf(network, 'account')]
  return domainid === null || account === null ? undefined : { domainid, account }
}

/** `first`: of the networks that have an owner; all must have the same. */
function requireOwner(network: Raw, first: Raw, asked: Asked): void {
  const [own, others] = [ownerFields(network), ownerFields(first)]
  if (own === undefined || others === undefined) return
  if (own.projectid !== others.projectid || own.domainid !== others.domainid || own.account !== others.account) {
    throw rejected(
      `${described(first)}, ${described(network)}, and a virtual machine has one owner: choose networks of one owner.`,
    )
  }
  const fits =
    asked.project_id === own.projectid &&
    (asked.domain_id ?? own.domainid) === own.domainid &&
    (asked.account ?? own.account) === own.account
  // Without any owner in the request the network names it.
  if (fits || (asked.project_id ?? asked.domain_id) === undefined) return
  const way = own.projectid === undefined ? '`domain_id` and `account`' : '`project_id`'
  throw rejected(`${described(network)}: create the machine with ${way} of that owner, or leave them out.`)
}

/** `Network acme-net belongs to tenant acme`, with the account where it has another name. */
function described(network: Raw): string {
  const name = textOf(network, 'name') ?? textOf(network, 'id')
  const project = textOf(network, 'project') ?? textOf(network, 'projectid')
  if (project !== null) return `Network ${name} belongs to project ${project}`
  const [tenant, account] = [textOf(network, 'domain'), textOf(network, 'account')]
  return `Network ${name} belongs to tenant ${tenant}${account === tenant ? '' : ` (account ${account})`}`
}

async function firstAccount(cloudstack: CloudStack, domainid: string, signal: AbortSignal): Promise<string> {
  const content = await cloudstack.call(
    'listAccounts',
    { domainid, listall: true, details: 'min', page: 1, pagesize: 500 },
    { signal },
  )
  const accounts = rowsOf(content, 'account').filter(
    (row) => textOf(row, 'domainid') === domainid && textOf(row, 'state') !== 'disabled',
  )
  const [name] = accounts.map((row) => textOf(row, 'name') ?? '').toSorted()
  if (name !== undefined) return name
  const tenant = await findOne(cloudstack, 'listDomains', 'domain', { id: domainid, listall: true }, { signal })
  throw new ApiError(
    'RESOURCE_NOT_FOUND',
    tenant === undefined
      ? `Tenant ${domainid} not found.`
      : `Tenant ${textOf(tenant, 'name')} has no enabled account that could own anything.`,
  )
}

function rejected(message: string): ApiError {
  return new ApiError('COMPUTE_REJECTED', message)
}
