// Everything that a tenant has, by kind and name: read before it is deleted.
import { TENANT_THINGS, type TenantDeletePlan } from '#src/contract/tenants/delete.ts'
import type { Args } from '#src/drivers/cloudstack/args.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { flagOf, type Raw, rowsOf as childrenOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { scopeOf } from '#src/drivers/cloudstack/tenant-scope.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { callersOf } from '#src/store/tenant-callers.ts'
import type { TenantRow } from '#src/store/tenants.ts'
import { addressRecordsOf, type AddressServers } from './address-records.ts'
import { readDomain } from './lookup.ts'

type Kind = TenantDeletePlan['things'][number]['kind']

interface Listed {
  kind: Kind
  command: string
  key: string
  args?: Args
  /** Member that is the name. */
  name?: string
  /** Things of projects are listed apart. */
  in_projects?: true
  /** Where the list shows more than what goes with the tenant. */
  goes?: (row: Raw, tenant_id: string) => boolean
}

const own = (row: Raw, tenant_id: string): boolean => textOf(row, 'domainid') === tenant_id

const LISTS: readonly Listed[] = [
  { kind: 'virtual_machine', command: 'listVirtualMachines', key: 'virtualmachine', args: { details: 'min,nics' }, in_projects: true },
  { kind: 'volume', command: 'listVolumes', key: 'volume', in_projects: true },
  { kind: 'volume_snapshot', command: 'listSnapshots', key: 'snapshot', in_projects: true },
  {
    kind: 'network', command: 'listNetworks', key: 'network', in_projects: true,
    // Shared networks of everybody are listed for each tenant.
    goes: (row, tenant_id) => textOf(row, 'acltype')?.toLowerCase() !== 'domain' || own(row, tenant_id),
  },
  { kind: 'public_ip', command: 'listPublicIpAddresses', key: 'publicipaddress', name: 'ipaddress', in_projects: true },
  { kind: 'template', command: 'listTemplates', key: 'template', args: { templatefilter: 'all', details: 'min' }, goes: own },
  { kind: 'iso', command: 'listIsos', key: 'iso', args: { isofilter: 'all' }, goes: own },
  { kind: 'affinity_group', command: 'listAffinityGroups', key: 'affinitygroup' },
  { kind: 'ssh_key', command: 'listSSHKeyPairs', key: 'sshkeypair' },
  { kind: 'user_data', command: 'listUserData', key: 'userdata' },
  {
    kind: 'account', command: 'listAccounts', key: 'account', args: { details: 'min' },
    // Those of projects are none of people.
    goes: (row) => textOf(row, 'accounttype') !== '5',
  },
  { kind: 'account_user', command: 'listUsers', key: 'user', name: 'username' },
] // biome-ignore format: a table

interface Noted {
  network_ids: Set<string>
  macs: string[]
  public_ips: string[]
  ids: string[]
}

interface Deps extends AddressServers {
  cloudstack: CloudStack
}

/** Throws for what the platform would refuse half-way: machines that are protected from being deleted. */
export async function contentsOf(
  { cloudstack, ...servers }: Deps,
  { id, name }: Pick<TenantRow, 'id' | 'name'>,
  { signal, traceparent }: Pick<RequestContext, 'signal' | 'traceparent'>,
): Promise<TenantDeletePlan['things']> {
  const options = { signal, traceparent }
  const rowsOf = async (command: string, args: Args, key: string): Promise<Raw[]> => {
    const rows: Raw[] = []
    for await (const page of cloudstack.listPages(command, args, key, options)) rows.push(...page)
    return rows
  }
  const found = new Map<Kind, string[]>()
  const put = (kind: Kind, names: readonly string[]) => found.set(kind, [...(found.get(kind) ?? []), ...names])
  const exists = (await readDomain(cloudstack, id, signal)) !== undefined
  const scope = scopeOf(id)
  const projects = exists ? await rowsOf('listProjects', scope, 'project') : []
  put(
    'project',
    projects.map((row) => textOf(row, 'name') ?? ''),
  )
  const scopes = projects.map((row) => ({ listall: true, projectid: textOf(row, 'id') ?? '' }))
  const protected_names: string[] = []
  const ids = [id, ...projects.map((row) => textOf(row, 'id') ?? '')]
  const holdings: Noted = { network_ids: new Set(), macs: [], public_ips: [], ids }
  const read = async ({ kind, command, key, args = {}, name: member = 'name', goes }: Listed, where: Args) => {
    const rows = await rowsOf(command, { ...args, ...where }, key)
    const going = rows.filter((row) => goes?.(row, id) ?? true)
    put(
      kind,
      going.map((row) => textOf(row, member) ?? textOf(row, 'id') ?? ''),
    )
    for (const row of going) note(holdings, kind, row)
    if (kind === 'virtual_machine')
      protected_names.push(
        ...going.filter((row) => flagOf(row, 'deleteprotection') === true).map((row) => textOf(row, 'name') ?? ''),
      )
  }
  const [callers] = await Promise.all([
    callersOf(servers.database.db, id),
    ...(exists ? LISTS : []).flatMap((list) =>
      [scope, ...(list.in_projects === true ? scopes : [])].map((where) => read(list, where)),
    ),
  ])
  if (protected_names.length > 0)
    throw new ApiError(
      'TENANT_STATE',
      `Tenant ${name} has virtual machines that are protected from being deleted: ${protected_names.toSorted().slice(0, 10).join(', ')}. Take their delete_protection away first.`,
    )
  for (const [kind, names] of Object.entries(await addressRecordsOf(servers, holdings, signal)))
    put(kind as Kind, names)
  put('user', callers.users)
  put('token', callers.tokens)
  return TENANT_THINGS.flatMap((kind) => {
    // An image has one row for each zone.
    const names = [...(found.get(kind) ?? [])].toSorted()
    return names.length === 0 ? [] : [{ kind, count: names.length, names: names.slice(0, NAMED) }]
  })
}

const NAMED = 100

/** By what it is found on address servers. */
function note(holdings: Noted, kind: Kind, row: Raw): void {
  const id = textOf(row, 'id')
  if (id !== null) holdings.ids.push(id)
  if (kind === 'network' && id !== null) holdings.network_ids.add(id)
  if (kind === 'virtual_machine')
    holdings.macs.push(...childrenOf(row, 'nic').flatMap((nic) => textOf(nic, 'macaddress')?.toLowerCase() ?? []))
  if (kind === 'public_ip') holdings.public_ips.push(textOf(row, 'ipaddress') ?? '')
}
