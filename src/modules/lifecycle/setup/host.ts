// The node as a host of the compute platform: where it belongs, added once, enabled when all the rest is done.
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { type Raw, textOf } from '#src/drivers/cloudstack/fields.ts'
import { changeOnce } from '#src/jobs/submit-once.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { PLATFORM } from '#src/drivers/cloudstack/platform-change.ts'
import type { SetupDeps, SetupRun } from './input.ts'
import { nodeOf } from './machine.ts'

interface Named {
  id: string
  name: string
}

export interface Placement {
  zone: Named
  pod: Named
  cluster: Named
}

/** Throws, naming what would decide, where the platform offers several. */
export async function placementOf(
  { cloudstack, setup }: Pick<SetupDeps, 'cloudstack' | 'setup'>,
  zone_name: string | null,
  signal: AbortSignal,
): Promise<Placement> {
  const rows: Raw[] = []
  const all = cloudstack.listAll(
    'listClusters',
    { hypervisor: 'KVM' },
    { key: 'cluster', read: (row: Raw) => row },
    { signal },
  )
  for await (const row of all) rows.push(row)
  const in_zone = rows.filter(
    (row) => zone_name === null || [textOf(row, 'zonename'), textOf(row, 'zoneid')].includes(zone_name),
  )
  const fitting = in_zone.filter(
    (row) => setup.cluster === undefined || [textOf(row, 'name'), textOf(row, 'id')].includes(setup.cluster),
  )
  const [row] = fitting
  if (row === undefined || fitting.length > 1) {
    const names = in_zone.map((one) => textOf(one, 'name')).join(', ')
    throw new ApiError('NODE_STATE', `Set setup.cluster to the cluster that node joins in zone ${zone_name ?? '(any)'}; the platform has ${names || 'none there'}.`) // biome-ignore format: one sentence
  }
  const named = (id: string, name: string): Named => ({ id: textOf(row, id) ?? '', name: textOf(row, name) ?? '' })
  return { zone: named('zoneid', 'zonename'), pod: named('podid', 'podname'), cluster: named('id', 'name') }
}

/** The host with this address; undefined: the platform has none. */
export async function hostAt(cloudstack: CloudStack, address: string, signal: AbortSignal): Promise<Raw | undefined> {
  const item = { key: 'host', read: (row: Raw) => row }
  for await (const row of cloudstack.listAll('listHosts', { type: 'Routing', details: 'min' }, item, { signal })) {
    if (textOf(row, 'ipaddress') === address) return row
  }
  return undefined
}

/** It is signed in to and its agent is set up meanwhile. */
const ADD_MS = 10 * 60_000
const HOST_POLL_MS = 2000

export async function registerHost(run: SetupRun): Promise<void> {
  const { deps, state, signal } = run
  const { cloudstack, setup } = deps
  const address = state.node_ip ?? ''
  const { zone, pod, cluster } = await placementOf(deps, (await nodeOf(run)).zone, signal)
  await changeOnce(run, {
    name: 'add-host',
    system: PLATFORM,
    // A second one for the same address is refused.
    repeatable: true,
    submit: async () => {
      const args = {
        zoneid: zone.id,
        podid: pod.id,
        clusterid: cluster.id,
        hypervisor: 'KVM',
        url: `http://${address}`,
        username: setup.host_username,
        password: setup.host_password ?? '',
        allocationstate: 'Disabled',
      }
      await cloudstack.call('addHost', args, { timeout_ms: ADD_MS, signal })
      return null
    },
    find: async () => {
      const host = await hostAt(cloudstack, address, signal)
      return host === undefined ? undefined : { made: textOf(host, 'id') }
    },
  })
  // The platform answers before the agent of the host has reported.
  if (!(await hostIsUp(run))) await run.repeatAfter(HOST_POLL_MS)
  const host = await hostAt(cloudstack, address, signal)
  await run.save({ host_id: host === undefined ? '' : (textOf(host, 'id') ?? '') })
  await run.note('INFO', `The platform has the host ${address} in cluster ${cluster.name}.`)
}

/** By the platform's list, whatever the answer to its addition said. */
export async function hostIsUp({ deps, state, signal }: SetupRun): Promise<boolean> {
  const host = await hostAt(deps.cloudstack, state.node_ip ?? '', signal)
  return host !== undefined && textOf(host, 'state') === 'Up'
}

export async function enableHost(run: SetupRun): Promise<void> {
  const host = await hostAt(run.deps.cloudstack, run.state.node_ip ?? '', run.signal)
  if (host === undefined) throw new ApiError('HOST_NOT_FOUND', `The platform lists no host ${run.state.node_ip ?? ''}.`)
  await run.deps.cloudstack.call(
    'updateHost',
    { id: textOf(host, 'id') ?? '', allocationstate: 'Enable' },
    { signal: run.signal },
  )
}

export async function hostIsEnabled({ deps, state, signal }: SetupRun): Promise<boolean> {
  const host = await hostAt(deps.cloudstack, state.node_ip ?? '', signal)
  return host !== undefined && textOf(host, 'resourcestate') === 'Enabled'
}
