// What each area of the agent is told for a node of this kind; the agent compares it by its hash.
import type { BaseDocument, BridgesDocument, HypervisorDocument, NetworkDocument, PlatformAgentDocument } from '#src/contract/nodes/desired-documents.ts' // biome-ignore format: one line
import { ApiError } from '#src/kernel/errors.ts'
import { declaredMtus } from '#src/store/mtu-declarations.ts'
import { guestNetworkSites } from '#src/store/guest-networks.ts'
import type { SetupRun } from './input.ts'
import { nodeOf } from './machine.ts'
import { bridgeOf, type Mtus, networkDocument } from './plan.ts'
import { placementOf } from './host.ts'

export async function declared({ deps }: SetupRun): Promise<Mtus> {
  return Object.fromEntries((await declaredMtus(deps.database.db)).map(({ role, mtu }) => [role, mtu]))
}

export async function networkOf(run: SetupRun): Promise<NetworkDocument | null> {
  return networkDocument(run.deps.setup, run.input, run.state, await declared(run))
}

export async function baseOf({ deps, state, input }: SetupRun): Promise<BaseDocument> {
  const { repositories, time_zone, time_servers } = deps.setup
  const { fqdn, node_ip } = state
  const hostname = (fqdn ?? `node-${input.node_id}`).split('.')[0]?.toLowerCase() ?? ''
  return {
    hostname,
    time_zone,
    ...(fqdn == null
      ? {}
      : { fqdn: fqdn.toLowerCase(), hosts: [{ address: node_ip ?? '', names: [fqdn.toLowerCase(), hostname] }] }),
    ...(time_servers.length === 0 ? {} : { time_servers }),
    ...(repositories.length === 0 ? {} : { repositories }),
  }
}

export async function hypervisorOf({ deps }: SetupRun): Promise<HypervisorDocument> {
  return {
    packages: deps.setup.hypervisor_packages,
    libvirt: { listen_tls: false, listen_tcp: false, vnc_listen: '0.0.0.0' },
  }
}

/** Bridges of guest networks that were built on nodes; networks of the platform alone bring theirs with their machines. */
export async function bridgesOf({ deps, input }: SetupRun): Promise<BridgesDocument> {
  const sites = await guestNetworkSites(deps.database.db, input.guest_bridges.map(({ network }) => network)) // biome-ignore format: one call
  return {
    bridges: sites.map(({ name, bridge, kind, segment_id, nic, mtu }) => {
      const wanted = input.guest_bridges.find(({ network }) => network === name)?.nic ?? nic
      return {
        bridge,
        kind,
        segment_id,
        ...(wanted === null || kind === 'vxlan' ? {} : { nic: wanted }),
        ...(mtu === null ? {} : { mtu }),
      }
    }),
  }
}

export async function platformAgentOf(run: SetupRun): Promise<PlatformAgentDocument> {
  const { deps, input } = run
  const { setup, platform_hosts } = deps
  if (platform_hosts.length === 0) throw new ApiError('COMPUTE_NOT_CONFIGURED', 'setup.platform_hosts names no server.')
  const { id, zone: zone_name } = await nodeOf(run)
  const { zone, pod, cluster } = await placementOf(deps, zone_name, run.signal)
  const has = (role: 'public' | 'guest'): boolean =>
    input.nics.some(({ untagged, tagged }) => untagged === role || tagged.some((one) => one.role === role))
  const management = bridgeOf(setup, 'management')
  return {
    packages: setup.platform_packages,
    management_hosts: [...platform_hosts],
    zone: zone.id,
    pod: pod.id,
    cluster: cluster.id,
    guid: id,
    private_device: management,
    public_device: has('public') ? bridgeOf(setup, 'public') : management,
    guest_device: has('guest') ? bridgeOf(setup, 'guest') : management,
  }
}
