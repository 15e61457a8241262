// What the compute platform knows of a node that is to leave: its host, the machines on it, and the hosts that could take them.
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { asFlag, flagOf, mapOf, numberOf, type Raw, rowsOf, textOf, textsOf } from '#src/drivers/cloudstack/fields.ts'
import { collected, type ListOptions, WHOLE_SCOPE } from '#src/drivers/cloudstack/lists.ts'
import type { Demand, Target } from './capacity.ts'
import type { Share } from './shared-reading.ts'

export interface PlatformHost {
  id: string
  name: string
  state: string
  resource_state: string
  cluster_id: string
  zone_id: string
  /** Hypervisor and architecture: what a target must share. */
  kind: string
  /** Clock, cores and sockets: as close as the platform tells the processor's model. */
  processor: string
  cpu_speed_mhz: number
  free_cpu_mhz: number
  free_mem_bytes: number
  tags: readonly string[]
}

export interface PlatformVm extends Demand {
  kind: 'user' | 'router' | 'system'
  state: string
  /** Why it cannot move; null: it can. */
  stays: string | null
}

export interface PlatformReading {
  /** Null: the platform knows no such host. */
  host: PlatformHost | null
  /** All others of its cluster. */
  neighbours: readonly PlatformHost[]
  vms: readonly PlatformVm[]
  targets: readonly Target[]
  /** Null: the platform does not say. */
  ha_enabled: boolean | null
}

/** What a host of the platform is recognised by. */
export interface NodeNames {
  addresses: readonly string[]
  names: readonly string[]
}

const MIB = 1024 ** 2
/** Machines of the platform's own whose offering it does not tell. */
const UNKNOWN_SYSTEM_MIB = 512
const ASKED_MOST = 10

export async function readPlatform(
  cloudstack: CloudStack,
  node: NodeNames,
  options: { signal: AbortSignal },
  share: Share = (_what, read) => read(options),
): Promise<PlatformReading> {
  const raw = await share('hosts', (shared) =>
    listed(cloudstack, 'listHosts', 'host', { type: 'Routing', details: 'min,capacity' }, shared),
  )
  const hosts = raw.map((row) => ({ row, host: hostOf(row) }))
  const own = hosts.find(({ row }) => isHostOf(row, node))
  if (own === undefined) return { host: null, neighbours: [], vms: [], targets: [], ha_enabled: null }
  const { host } = own
  const neighbours = hosts
    .map((one) => one.host)
    .filter((one) => one.id !== host.id && one.cluster_id === host.cluster_id)
  const takers = neighbours.filter((one) => canTake(one, host))
  const address = textOf(own.row, 'ipaddress')
  const [placed, groups_elsewhere, ha_enabled] = await Promise.all([
    placedOn({ cloudstack, options, share }, host, address, takers),
    takers.length === 0
      ? new Map<string, string[]>()
      : share(`groups of ${host.cluster_id}`, (shared) => groupsOf(cloudstack, host.cluster_id, shared)),
    share(`high availability of ${host.zone_id}`, (shared) => readHaEnabled(cloudstack, host.zone_id, shared)),
  ])
  const vms = await withSuitable(cloudstack, placed, options)
  const targets = takers.map((one) => ({ ...one, groups: groups_elsewhere.get(one.id) ?? [] }))
  return { host, neighbours, vms, targets, ha_enabled }
}

/** The platform's row of the node; undefined when it knows none. */
export function isHostOf(row: Raw, { addresses, names }: NodeNames): boolean {
  const name = (textOf(row, 'name') ?? '').toLowerCase()
  return addresses.includes(textOf(row, 'ipaddress') ?? '') || names.some((one) => one.toLowerCase() === name)
}

export function listed(
  cloudstack: CloudStack,
  command: string,
  key: string,
  args: Parameters<CloudStack['call']>[1],
  options: ListOptions,
): Promise<Raw[]> {
  return collected(cloudstack.listAll(command, args, { key, read: (row) => row }, options))
}

export function hostOf(row: Raw): PlatformHost {
  const free = (total: string, used: string): number =>
    Math.max(0, Math.floor((numberOf(row, total) ?? 0) - (numberOf(row, used) ?? 0)))
  return {
    id: textOf(row, 'id') ?? '',
    name: textOf(row, 'name') ?? '',
    state: textOf(row, 'state') ?? '',
    resource_state: textOf(row, 'resourcestate') ?? '',
    cluster_id: textOf(row, 'clusterid') ?? '',
    zone_id: textOf(row, 'zoneid') ?? '',
    kind: `${textOf(row, 'hypervisor') ?? ''} ${textOf(row, 'arch') ?? ''}`,
    processor: ['cpuspeed', 'cpunumber', 'cpusockets'].map((name) => textOf(row, name) ?? '?').join(' '),
    cpu_speed_mhz: numberOf(row, 'cpuspeed') ?? 0,
    free_cpu_mhz: free('cpuwithoverprovisioning', 'cpuallocatedvalue'),
    free_mem_bytes: free('memorywithoverprovisioning', 'memoryallocatedbytes'),
    tags: textsOf(row, 'hosttags'),
  }
}

function canTake(one: PlatformHost, host: PlatformHost): boolean {
  return one.state === 'Up' && one.resource_state === 'Enabled' && one.kind === host.kind
}

interface Source {
  cloudstack: CloudStack
  options: ListOptions
  share: Share
}

async function placedOn(
  { cloudstack, options, share }: Source,
  host: PlatformHost,
  address: string | null,
  takers: readonly PlatformHost[],
): Promise<PlatformVm[]> {
  const here = { hostid: host.id }
  const [user_rows, router_rows, system_rows, local, offerings] = await Promise.all([
    listed(cloudstack, 'listVirtualMachines', 'virtualmachine', { ...here, ...VM_ARGS }, options),
    listed(cloudstack, 'listRouters', 'router', { ...here, ...WHOLE_SCOPE }, options),
    listed(cloudstack, 'listSystemVms', 'systemvm', here, options),
    localDisks(cloudstack, address, options),
    share('offerings', (shared) => offeringsById(cloudstack, shared)),
  ])
  const seen = new Set(user_rows.map((row) => textOf(row, 'id')))
  const stopped = [...local].filter((id) => !seen.has(id))
  const stopped_rows = await Promise.all(
    stopped.map((id) => listed(cloudstack, 'listVirtualMachines', 'virtualmachine', { id, ...VM_ARGS }, options)),
  )
  const equal_target = takers.some(({ processor }) => processor === host.processor)
  const about: About = { host, local, offerings, equal_target }
  return [
    ...[...user_rows, ...stopped_rows.flat()].map((row) => vmOf(row, 'user', about)),
    ...router_rows.map((row) => vmOf(row, 'router', about)),
    ...system_rows.map((row) => vmOf(row, 'system', about)),
  ]
}

const VM_ARGS = { ...WHOLE_SCOPE, details: 'min,servoff,affgrp' } as const

/** Ids of machines with a disk on storage of this host alone, running or not. */
async function localDisks(
  cloudstack: CloudStack,
  address: string | null,
  options: ListOptions,
): Promise<ReadonlySet<string>> {
  if (address === null) return new Set()
  const pools = await listed(
    cloudstack,
    'listStoragePools',
    'storagepool',
    { ipaddress: address, scope: 'HOST' },
    options,
  )
  const volumes = await Promise.all(
    pools.map((pool) => {
      const args = { storageid: textOf(pool, 'id') ?? '', ...WHOLE_SCOPE }
      return listed(cloudstack, 'listVolumes', 'volume', args, options)
    }),
  )
  return new Set(volumes.flat().flatMap((row) => textOf(row, 'virtualmachineid') ?? []))
}

async function offeringsById(cloudstack: CloudStack, options: ListOptions): Promise<ReadonlyMap<string, Raw>> {
  const ask = (issystem: boolean) =>
    listed(cloudstack, 'listServiceOfferings', 'serviceoffering', { listall: true, issystem }, options)
  const rows = (await Promise.all([ask(false), ask(true)])).flat()
  return new Map(rows.map((row) => [textOf(row, 'id') ?? '', row]))
}

interface About {
  host: PlatformHost
  local: ReadonlySet<string>
  offerings: ReadonlyMap<string, Raw>
  equal_target: boolean
}

function vmOf(row: Raw, kind: PlatformVm['kind'], about: About): PlatformVm {
  const offering = about.offerings.get(textOf(row, 'serviceofferingid') ?? '') ?? {}
  const size = (name: string): number | null => numberOf(row, name) ?? numberOf(offering, name)
  const groups = rowsOf(row, 'affinitygroup')
  const ofType = (type: string): string[] =>
    groups.filter((one) => textOf(one, 'type') === type).flatMap((one) => textOf(one, 'id') ?? [])
  return {
    id: textOf(row, 'id') ?? '',
    name: textOf(row, 'name') ?? '',
    kind,
    state: textOf(row, 'state') ?? 'Unknown',
    cpu_mhz: (size('cpunumber') ?? 1) * (size('cpuspeed') ?? about.host.cpu_speed_mhz),
    mem_bytes: (size('memory') ?? UNKNOWN_SYSTEM_MIB) * MIB,
    tags: textsOf(offering, 'hosttags'),
    apart: ofType('host anti-affinity'),
    together: ofType('host affinity'),
    stays: kind === 'user' ? reasonToStay(row, groups, about) : null,
  }
}

/** Why a machine cannot move to another host while it runs. */
function reasonToStay(row: Raw, groups: readonly Raw[], { host, local, equal_target }: About): string | null {
  const state = textOf(row, 'state') ?? 'Unknown'
  if (state === 'Error' || state === 'Unknown') return `the platform shows it as ${state}`
  if (host.state !== 'Up') return `its host is ${host.state}`
  if (local.has(textOf(row, 'id') ?? '')) return 'a disk of it is on storage of this host alone'
  if ((numberOf(row, 'gpucount') ?? 0) > 0 || textOf(row, 'vgpuprofileid') !== null) return 'it has a GPU'
  const dedicated = groups.some((one) => textOf(one, 'type') === 'ExplicitDedication')
  if (dedicated) return 'it is bound to dedicated hosts'
  const mode = mapOf(row, 'details')['guest.cpu.mode']
  const is_bound = mode === 'host-passthrough' || mode === 'host-model'
  if (is_bound && !equal_target) return `its processor is set to ${mode}, and no other host has the same one`
  return null
}

/** Affinity groups that have a member on a host, by host. */
async function groupsOf(
  cloudstack: CloudStack,
  clusterid: string,
  options: ListOptions,
): Promise<ReadonlyMap<string, string[]>> {
  const args = { clusterid, ...WHOLE_SCOPE, details: 'min,affgrp' }
  const groups = new Map<string, string[]>()
  for (const row of await listed(cloudstack, 'listVirtualMachines', 'virtualmachine', args, options)) {
    const host_id = textOf(row, 'hostid')
    if (host_id === null) continue
    const ids = rowsOf(row, 'affinitygroup').flatMap((one) => textOf(one, 'id') ?? [])
    if (ids.length > 0) groups.set(host_id, [...(groups.get(host_id) ?? []), ...ids])
  }
  return groups
}

/** Asks the platform for the largest ones; its no overrides our yes. */
async function withSuitable(
  cloudstack: CloudStack,
  vms: readonly PlatformVm[],
  options: ListOptions,
): Promise<PlatformVm[]> {
  const movable = vms.filter(({ kind, stays, state }) => kind === 'user' && stays === null && state === 'Running')
  const largest = movable.toSorted((a, b) => b.mem_bytes - a.mem_bytes).slice(0, ASKED_MOST)
  const found = await Promise.all(
    largest.map(async ({ id }) => [id, await suitableHosts(cloudstack, id, options)] as const),
  )
  const suitable = new Map(found)
  return vms.map((vm) => {
    const hosts = suitable.get(vm.id)
    return hosts === undefined ? vm : { ...vm, suitable: hosts }
  })
}

/** Hosts that the platform would move the machine to without moving its disks. */
export async function suitableHosts(
  cloudstack: CloudStack,
  virtualmachineid: string,
  options: ListOptions,
): Promise<ReadonlySet<string>> {
  const rows = await listed(cloudstack, 'findHostsForMigration', 'host', { virtualmachineid }, options)
  const fit = rows.filter(
    (row) => flagOf(row, 'suitableformigration') === true && flagOf(row, 'requiresStorageMotion') !== true,
  )
  return new Set(fit.flatMap((row) => textOf(row, 'id') ?? []))
}

async function readHaEnabled(cloudstack: CloudStack, zoneid: string, options: ListOptions): Promise<boolean | null> {
  const name = 'vm.ha.enabled'
  const rows = await listed(cloudstack, 'listConfigurations', 'configuration', { name, zoneid }, options)
  return asFlag(rows.find((row) => textOf(row, 'name') === name)?.['value'])
}
