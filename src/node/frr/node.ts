// The record of this node's router: asks each daemon and the kernel once, then joins the answers. What a daemon did not
// answer is null with a reason.
import type { FrrNode } from '#src/contract/network/frr.ts'
import type { Host } from '#src/kernel/host.ts'
import { cacheKey, createCache } from '../cache.ts'
import { at, integerOf, textOf } from '../untrusted-json.ts'
import { type DaemonReplies, type FrrAccess, type FrrAccessConfig, openFrr, type Reply } from './access.ts'
import { BFD_PEERS, OSPF, OSPF_NEIGHBORS, parseBfdPeers, parseOspf, parseOspfNeighbors } from './adjacency.ts'
import {
  BGP_EVPN_STATISTICS,
  BGP_ROUTE_DUMPS,
  BGP_SUMMARY,
  BGP_VNIS,
  countPrefixes,
  parseBgpSummary,
  parseBgpVnis,
  parseEvpnTotal,
} from './bgp.ts'
import { type DriftConfig, readDrift } from './drift.ts'
import {
  EVPN,
  EVPN_ARP,
  EVPN_MACS,
  EVPN_RMACS,
  EVPN_VNI_DETAIL,
  EVPN_VNIS,
  parseArp,
  parseEvpnVnis,
  parseMacs,
  parseRouterMacVteps,
  parseVniDetails,
} from './evpn.ts'
import { addressOn, type KernelView, readKernel } from './kernel.ts'
import { readVtepRoutes } from './routes.ts'
import { remoteVtepsOf, vniRecords } from './vni-records.ts'
import { unavailableFields, type UnavailableFields } from '../unavailable.ts'

export interface FrrConfig extends FrrAccessConfig, DriftConfig {
  /** From the node record; the routing suite does not know them. */
  fqdn?: string
  ip_address?: string
}

export interface FrrCollector {
  node(): Promise<FrrNode>
}

const RECORD_AGE_MS = 5_000
const ROUTES_AGE_MS = 15_000
const IP_ROUTE_SUMMARY = 'show ip route summary json'
const VERSION = 'show version'
const ZEBRA = [VERSION, EVPN, EVPN_VNIS, EVPN_VNI_DETAIL, EVPN_MACS, EVPN_ARP, EVPN_RMACS, IP_ROUTE_SUMMARY]
const BGPD = [BGP_SUMMARY, BGP_VNIS, BGP_EVPN_STATISTICS]

/** Callers within 5 s share one record; route dumps, which grow with the fabric, are read every 15 s. */
export function createFrrCollector(host: Host, config: FrrConfig): FrrCollector {
  const cache = createCache(host)
  const counts = (): Promise<RouteCounts> =>
    cache.get(cacheKey<RouteCounts>('frr-routes'), ROUTES_AGE_MS, () => readRouteCounts(host, config))
  const record = cacheKey<FrrNode>('frr-node')
  return { node: () => cache.get(record, RECORD_AGE_MS, () => readNode(host, config, counts)) }
}

/** One read without caches. */
export function frrNode(host: Host, config: FrrConfig): Promise<FrrNode> {
  return readNode(host, config, () => readRouteCounts(host, config))
}

async function readNode(host: Host, config: FrrConfig, routes: () => Promise<RouteCounts>): Promise<FrrNode> {
  const access = await openFrr(host, config)
  const [zebra, bgpd, ospfd, bfdd, counts, kernel, daemons, drift] = await Promise.all([
    access.ask('zebra', ZEBRA),
    access.ask('bgpd', BGPD),
    access.ask('ospfd', [OSPF, OSPF_NEIGHBORS]),
    access.ask('bfdd', [BFD_PEERS]),
    routes(),
    readKernel(host),
    access.daemons(),
    readDrift(host, config),
  ])
  const unavailable = unavailableFields()
  const summary = readReply(unavailable, 'bgp', bgpd.json(BGP_SUMMARY), parseBgpSummary)
  if (summary === null) unavailable.none('as', bgpd.reason ?? 'the BGP summary cannot be read')
  else if (summary.as === null) unavailable.none('as', 'BGP is not configured')
  if (config.fqdn === undefined) unavailable.none('fqdn', 'the node record has no name')
  if (config.ip_address === undefined) unavailable.none('ip_address', 'the node record has no address')
  if (drift.reason !== null) unavailable.none('sdn_status', drift.reason)
  const name = versionOf(zebra)?.hostname ?? null
  if (name === null) unavailable.none('name', zebra.reason ?? 'the version text names no host')
  return {
    name,
    fqdn: config.fqdn ?? null,
    ip_address: config.ip_address ?? null,
    ...statusOf(zebra, bgpd),
    as: summary?.as ?? null,
    sdn_status: drift.sdn_status,
    sdn_last_error: drift.sdn_last_error,
    bgp: summary?.bgp ?? null,
    frr: suiteOf(zebra, [zebra, bgpd, ospfd, bfdd], daemons, unavailable),
    ospf: readReply(unavailable, 'ospf', ospfd.json(OSPF), parseOspf),
    bfd_peers: readReply(unavailable, 'bfd_peers', bfdd.json(BFD_PEERS), (value) =>
      parseBfdPeers(value, (device, peer) => addressOn(kernel, device, peer)),
    ),
    ospf_neighbors: readReply(unavailable, 'ospf_neighbors', ospfd.json(OSPF_NEIGHBORS), parseOspfNeighbors),
    evpn_routes: evpnRoutes(bgpd, counts, unavailable),
    vnis: await vnisOf({ access, zebra, bgpd, kernel }, unavailable),
    unavailable: unavailable.list,
  }
}

interface RouteCounts {
  imet: Reply
  macip: Reply
  prefix: Reply
}

async function readRouteCounts(host: Host, config: FrrConfig): Promise<RouteCounts> {
  const replies = await (await openFrr(host, config)).ask('bgpd', Object.values(BGP_ROUTE_DUMPS))
  // Only the counts are kept: a dump of a large fabric is many megabytes.
  const count = (command: string): Reply => {
    const reply = replies.json(command)
    return 'reason' in reply ? reply : { value: countPrefixes(reply.value) }
  }
  return {
    imet: count(BGP_ROUTE_DUMPS.imet),
    macip: count(BGP_ROUTE_DUMPS.macip),
    prefix: count(BGP_ROUTE_DUMPS.prefix),
  }
}

function evpnRoutes(bgpd: DaemonReplies, counts: RouteCounts, unavailable: UnavailableFields): FrrNode['evpn_routes'] {
  return {
    imet: readReply(unavailable, 'evpn_routes.imet', counts.imet, integerOf),
    macip: readReply(unavailable, 'evpn_routes.macip', counts.macip, integerOf),
    prefix: readReply(unavailable, 'evpn_routes.prefix', counts.prefix, integerOf),
    total_routes: readReply(unavailable, 'evpn_routes.total_routes', bgpd.json(BGP_EVPN_STATISTICS), parseEvpnTotal),
  }
}

function statusOf(zebra: DaemonReplies, bgpd: DaemonReplies): Pick<FrrNode, 'status' | 'error'> {
  const reasons = [zebra.reason, bgpd.reason].filter((reason) => reason !== null)
  return reasons.length === 0
    ? { status: 'online', error: null }
    : { status: 'offline', error: [...new Set(reasons)].join('; ') }
}

function suiteOf(
  zebra: DaemonReplies,
  asked: readonly DaemonReplies[],
  daemons: Awaited<ReturnType<FrrAccess['daemons']>>,
  unavailable: UnavailableFields,
): FrrNode['frr'] {
  if (asked.every((one) => one.state === 'not_installed')) {
    unavailable.none('frr', 'routing daemon not installed')
    return null
  }
  const names = ['zebra', 'bgpd', 'ospfd', 'bfdd']
  const inState = (state: DaemonReplies['state']): string[] =>
    names.filter((_name, index) => asked[index]?.state === state)
  const version = versionOf(zebra)?.version ?? null
  if (version === null) unavailable.none('frr.version', zebra.reason ?? 'the version text has no version')
  const summary = zebra.json(IP_ROUTE_SUMMARY)
  return {
    version,
    daemons: [...new Set([...daemons.running, ...inState('answers')])].filter(
      (name) => !inState('silent').includes(name) && !inState('dead').includes(name),
    ),
    silent_daemons: [...new Set([...daemons.silent, ...inState('silent')])],
    vni_count: readReply(unavailable, 'frr.vni_count', zebra.json(EVPN), (value) =>
      value === undefined ? 0 : integerOf(at(value, 'numVnis')),
    ),
    routes_total: readReply(unavailable, 'frr.routes_total', summary, (value) => integerOf(at(value, 'routesTotal'))),
    routes_installed: readReply(unavailable, 'frr.routes_installed', summary, (value) =>
      integerOf(at(value, 'routesTotalFib')),
    ),
  }
}

interface VniSources {
  access: FrrAccess
  zebra: DaemonReplies
  bgpd: DaemonReplies
  kernel: KernelView
}

async function vnisOf(from: VniSources, unavailable: UnavailableFields): Promise<FrrNode['vnis']> {
  const vnis = readReply(unavailable, 'vnis', from.zebra.json(EVPN_VNIS), parseEvpnVnis)
  if (vnis === null) return null
  const rmac_vteps =
    readReply(unavailable, 'vnis[].remote_vteps', from.zebra.json(EVPN_RMACS), parseRouterMacVteps) ?? new Map()
  const vteps = [...new Set(vnis.flatMap((vni) => remoteVtepsOf(vni, rmac_vteps)))]
  const { kernel } = from
  if (vnis.length > 0 && kernel.links === null)
    unavailable.none('vnis[].vxlan_tunnel', 'the kernel cannot be asked for links')
  if (vnis.length > 0 && kernel.floods === null) {
    unavailable.none('vnis[].remote_vtep_info[].state', 'the kernel cannot be asked for flood entries')
  }
  return vniRecords({
    vnis,
    details:
      readReply(unavailable, 'vnis[].local_vtep', from.zebra.json(EVPN_VNI_DETAIL), parseVniDetails) ?? new Map(),
    bgp:
      vnis.length === 0
        ? new Map()
        : (readReply(unavailable, 'vnis[].rd', from.bgpd.json(BGP_VNIS), parseBgpVnis) ?? new Map()),
    macs: readReply(unavailable, 'vnis[].mac_table', from.zebra.json(EVPN_MACS), parseMacs),
    arp: readReply(unavailable, 'vnis[].arp_table', from.zebra.json(EVPN_ARP), parseArp),
    rmac_vteps,
    routes: await readVtepRoutes(from.access, vteps),
    kernel,
  })
}

/** "FRRouting 8.4.4 (r1) on Linux(6.1)". */
function versionOf(zebra: DaemonReplies): { version: string | null; hostname: string | null } | null {
  const line = zebra.text(VERSION)?.split('\n')[0]
  if (line === undefined) return null
  return {
    version: textOf(line.split(/\s+/)[1] ?? null),
    hostname: textOf(/\(([^)]+)\)/.exec(line)?.[1] ?? null),
  }
}

/** Parses a reply, or notes why the field is null. */
function readReply<T>(
  unavailable: UnavailableFields,
  field: string,
  reply: Reply,
  parse: (value: unknown) => T | null,
): T | null {
  if ('reason' in reply) return unavailable.none(field, reply.reason)
  return unavailable.orNull(field, parse(reply.value), 'the daemon does not tell')
}
