// Virtual routers, system machines, and what could be imported.
import type { vmInventory } from '#src/contract/compute/inventory.ts'
import { pageOf } from '#src/contract/common.ts'
import type { Handlers, Input } from '#src/contract/route.ts'
import type { Args } from '#src/drivers/cloudstack/args.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { flagOf, numberOf, type Raw, rowsOf, textOf, textsOf } from '#src/drivers/cloudstack/fields.ts'
import { PAGE_SIZE, WHOLE_SCOPE } from '#src/drivers/cloudstack/lists.ts'
import { onePage } from '#src/drivers/cloudstack/page.ts'
import { invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { optionsOf } from './vm-list.ts'

type Routes = typeof vmInventory.routes
type In<Op extends keyof Routes> = Input<Routes[Op]>

export function vmInventoryHandlers({ cloudstack }: { cloudstack: CloudStack }): Handlers<Routes, RequestContext> {
  return {
    routerList: routerList(cloudstack),
    systemVmList: systemVmList(cloudstack),
    importCandidateList: importCandidateList(cloudstack),
  }
}

function routerList(cloudstack: CloudStack) {
  return async ({ body }: In<'routerList'>, ctx: RequestContext) => {
    const filter = body ?? {}
    const page = pageOf(filter)
    const args = {
      zoneid: filter.zone_id,
      hostid: filter.host_id,
      podid: filter.pod_id,
      clusterid: filter.cluster_id,
      state: filter.state,
      networkid: filter.network_id,
      vpcid: filter.vpc_id,
      forvpc: filter.for_vpc,
      keyword: filter.keyword,
      ...WHOLE_SCOPE,
    }
    const { rows, count } = await cloudstack.listPage(
      'listRouters',
      args,
      { key: 'router', read: routerOf },
      page,
      optionsOf(ctx),
    )
    return { routers: rows, count, ...page }
  }
}

/** Knows no accounts, so no scope is sent. */
function systemVmList(cloudstack: CloudStack) {
  return async ({ body }: In<'systemVmList'>, ctx: RequestContext) => {
    const filter = body ?? {}
    const page = pageOf(filter)
    const args = {
      systemvmtype: filter.type,
      zoneid: filter.zone_id,
      hostid: filter.host_id,
      podid: filter.pod_id,
      state: filter.state,
      keyword: filter.keyword,
    }
    const { rows, count } = await cloudstack.listPage(
      'listSystemVms',
      args,
      { key: 'systemvm', read: systemVmOf },
      page,
      optionsOf(ctx),
    )
    return { system_vms: rows, count, ...page }
  }
}

/** The platform asks hosts for these. */
const HOSTS_ASKED_MS = 150_000

function importCandidateList(cloudstack: CloudStack) {
  return async ({ body }: In<'importCandidateList'>, ctx: RequestContext) => {
    const page = pageOf(body)
    const [command, args] = importCall(body)
    const options = { ...optionsOf(ctx), timeout_ms: HOSTS_ASKED_MS }
    const { rows, count } = await onePage(everyCandidate(cloudstack, command, args, options), page)
    return { import_candidates: rows.map(candidateOf), count, ...page }
  }
}

function importCall(body: In<'importCandidateList'>['body']): [command: string, args: Args] {
  const { cluster_id, name, zone_id, host, username, password, hypervisor, keyword } = body
  if ((cluster_id === undefined) === (host === undefined))
    throw invalidField('body.cluster_id', 'give either cluster_id, or zone_id and host')
  if (cluster_id !== undefined) {
    for (const [field, value] of Object.entries({ zone_id, username, password, hypervisor })) {
      if (value !== undefined) throw invalidField(`body.${field}`, 'has no meaning with cluster_id')
    }
    return ['listUnmanagedInstances', { clusterid: cluster_id, name, keyword }]
  }
  if (zone_id === undefined) throw invalidField('body.zone_id', 'is required with host')
  if (name !== undefined) throw invalidField('body.name', 'has no meaning with host')
  return ['listVmsForImport', { zoneid: zone_id, host, username, password, hypervisor: hypervisor ?? 'KVM', keyword }]
}

/** The rows have no id, and some versions answer everything whatever page was asked for: a page without news is the last. */
async function* everyCandidate(
  cloudstack: CloudStack,
  command: string,
  args: Args,
  options: { signal: AbortSignal; timeout_ms: number },
): AsyncGenerator<Raw> {
  const seen = new Set<string>()
  for (let page = 1; ; page += 1) {
    const content = await cloudstack.call(command, { ...args, page, pagesize: PAGE_SIZE }, options)
    const rows = rowsOf(content, 'unmanagedinstance')
    const fresh = rows.filter((row) => !seen.has(keyOf(row)))
    for (const row of fresh) {
      seen.add(keyOf(row))
      yield row
    }
    if (fresh.length === 0 || rows.length !== PAGE_SIZE) return
  }
}

function keyOf(row: Raw): string {
  return `${textOf(row, 'hostid') ?? ''}/${textOf(row, 'name') ?? ''}`
}

function placeOf(row: Raw) {
  return {
    zone_id: textOf(row, 'zoneid'),
    zone_name: textOf(row, 'zonename'),
    pod_id: textOf(row, 'podid'),
    host_id: textOf(row, 'hostid'),
    host_name: textOf(row, 'hostname'),
  }
}

function routerOf(row: Raw) {
  return {
    id: textOf(row, 'id') ?? '',
    name: textOf(row, 'name') ?? '',
    state: textOf(row, 'state') ?? 'Unknown',
    role: textOf(row, 'role'),
    ...placeOf(row),
    tenant_id: textOf(row, 'domainid'),
    tenant_name: textOf(row, 'domain'),
    account: textOf(row, 'account'),
    project_id: textOf(row, 'projectid'),
    public_ip: textOf(row, 'publicip'),
    guest_ip: textOf(row, 'guestipaddress'),
    link_local_ip: textOf(row, 'linklocalip'),
    guest_network_id: textOf(row, 'guestnetworkid'),
    guest_network_name: textOf(row, 'guestnetworkname'),
    vpc_id: textOf(row, 'vpcid'),
    version: textOf(row, 'version'),
    requires_upgrade: flagOf(row, 'requiresupgrade'),
    is_redundant: flagOf(row, 'isredundantrouter'),
    redundant_state: textOf(row, 'redundantstate'),
    health_checks_failed: flagOf(row, 'healthchecksfailed'),
  }
}

function systemVmOf(row: Raw) {
  return {
    id: textOf(row, 'id') ?? '',
    name: textOf(row, 'name') ?? '',
    type: textOf(row, 'systemvmtype') ?? '',
    state: textOf(row, 'state') ?? 'Unknown',
    agent_state: textOf(row, 'agentstate'),
    ...placeOf(row),
    public_ip: textOf(row, 'publicip'),
    private_ip: textOf(row, 'privateip'),
    link_local_ip: textOf(row, 'linklocalip'),
    active_viewer_sessions: numberOf(row, 'activeviewersessions'),
    template_id: textOf(row, 'templateid'),
    version: textOf(row, 'version'),
  }
}

function candidateOf(row: Raw) {
  return {
    name: textOf(row, 'name') ?? '',
    cluster_id: textOf(row, 'clusterid'),
    cluster_name: textOf(row, 'clustername'),
    host_id: textOf(row, 'hostid'),
    host_name: textOf(row, 'hostname'),
    power_state: textOf(row, 'powerstate'),
    cpu_cores: numberOf(row, 'cpunumber'),
    memory_mb: numberOf(row, 'memory'),
    os_name: textOf(row, 'osdisplayname'),
    boot_mode: textOf(row, 'bootmode'),
    boot_type: textOf(row, 'boottype'),
    disks: rowsOf(row, 'disk').map((disk) => ({
      id: textOf(disk, 'id'),
      label: textOf(disk, 'label'),
      size_bytes: numberOf(disk, 'capacity'),
      controller: textOf(disk, 'controller'),
    })),
    nics: rowsOf(row, 'nic').map((nic) => ({
      id: textOf(nic, 'id'),
      mac_address: textOf(nic, 'macaddress'),
      adapter: textOf(nic, 'adaptertype'),
      network_name: textOf(nic, 'networkname'),
      vlan_id: numberOf(nic, 'vlanid'),
      ip_addresses: textsOf(nic, 'ipaddress'),
    })),
  }
}
