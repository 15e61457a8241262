// Guest networks on the nodes: what is checked before a job begins, and the results of the jobs.
import { sql } from 'kysely'
import type { guestNetworkJobs, NetworkJobResult } from '#src/contract/network/guest-network-jobs.ts'
import type { BridgeSpec } from '#src/contract/nodes/agent-bridges.ts'
import type { Handlers, Input } from '#src/contract/route.ts'
import { textOf } from '#src/drivers/cloudstack/fields.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import type { JobDefinition } from '#src/jobs/define.ts'
import type { Jobs } from '#src/jobs/admit.ts'
import { acceptedJob } from '#src/jobs/answer.ts'
import { jobsById, runningJob } from '#src/jobs/lookup.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { Db, Trx } from '#src/store/database.ts'
import {
  findSite,
  type GuestNetworkJobRow,
  type GuestNetworkOperation,
  type GuestNetworkSite,
  lastNetworkJobs,
  latestNetworkJob,
  reserveSite,
  startNetworkJob,
} from '#src/store/guest-networks.ts'
import { LOCKS } from '#src/store/locks.ts'
import { allNodes } from '#src/store/nodes.ts'
import { guestNetworkCheckJob, guestNetworkCreateJob, guestNetworkDeleteJob } from './guest-network-nodes.job.ts'
import type { GuestNetworkDeps, GuestNetworkInput, GuestNetworkState } from './guest-network-run.ts'
import { requireUnused } from './guest-network-platform.ts'
import { isConfigured, nodeName } from './node-page.ts'
import { type Effect, planOf } from '../operation.ts'

export interface GuestNetworkJobDeps extends GuestNetworkDeps {
  jobs: Jobs
}

type CreateBody = Input<typeof guestNetworkJobs.routes.guestNetworkCreate>['body']
type Definition = JobDefinition<GuestNetworkDeps, GuestNetworkInput, GuestNetworkState>

export function guestNetworkJobHandlers(
  deps: GuestNetworkJobDeps,
): Handlers<typeof guestNetworkJobs.routes, RequestContext> {
  const { database } = deps
  const onSite = (definition: Definition, operation: GuestNetworkOperation, verb: string) =>
    acceptedJob(deps.jobs, {
      async admit({ params }: { params: { id: string } }, ctx) {
        const site = await requireSite(database.db, params.id)
        return begin(deps, ctx, { definition, operation, verb, site, platform: {}, reserve: false })
      },
    })
  const onDelete = onSite(guestNetworkDeleteJob, 'delete', 'Deleting')
  return {
    guestNetworkCreate: acceptedJob(deps.jobs, {
      async admit({ body }: { body: CreateBody }, ctx) {
        const site = siteOf(body)
        const platform = await platformArgs(deps, body)
        return begin(deps, ctx, {
          definition: guestNetworkCreateJob, operation: 'create', verb: 'Creating', site, platform, reserve: true,
        }) // biome-ignore format: one record
      },
    }),
    guestNetworkDelete: (input, ctx) =>
      ctx.dry_run ? planOf({ would: () => effectOfDeletion(deps, input.params.id, ctx) }) : onDelete(input, ctx),
    guestNetworkCheck: onSite(guestNetworkCheckJob, 'check', 'Checking'),
    guestNetworkJobsLast: async () => resultsOf(database.db, await lastNetworkJobs(database.db)),
    async guestNetworkJobLatest({ query }: { query: { network?: string } }) {
      const row = await latestNetworkJob(database.db, query.network)
      const [found] = await resultsOf(database.db, row === undefined ? [] : [row])
      if (found === undefined)
        throw new ApiError(
          'NETWORK_JOB_NOT_FOUND',
          `No create or delete job of guest network ${query.network ?? '(any)'} is known.`,
        )
      return found
    },
  }
}

async function requireSite(db: Db, id: string): Promise<GuestNetworkSite> {
  const site = await findSite(db, id)
  if (site === undefined) throw new ApiError('NETWORK_NOT_FOUND', `No guest network ${id} was made on the nodes.`)
  return site
}

async function effectOfDeletion(deps: GuestNetworkJobDeps, id: string, ctx: RequestContext): Promise<Effect> {
  const site = await requireSite(deps.database.db, id)
  await requireUnused(deps.cloudstack, site, ctx.signal)
  const nodes = await hypervisors(deps)
  return {
    message: `This would delete guest network ${site.name} from the compute platform, and its bridge ${site.bridge} from ${nodes.length} nodes.`,
    affected: nodes.map(({ node_id, name }) => ({ kind: 'node', id: node_id, name })),
  }
}

interface Beginning {
  definition: Definition
  operation: GuestNetworkOperation
  verb: string
  site: GuestNetworkSite
  platform: Record<string, string>
  reserve: boolean
}

async function begin(deps: GuestNetworkJobDeps, ctx: RequestContext, beginning: Beginning) {
  const { definition, operation, verb, site, platform, reserve } = beginning
  const nodes = await hypervisors(deps)
  const { name, network_id } = site
  return deps.jobs.admit(definition, {
    operation: ctx,
    input: { name, network_id, bridge: specOf(site), nodes, platform },
    description: `${verb} guest network ${name} on ${nodes.length} nodes.`,
    resource_name: name,
    ...(network_id === null ? {} : { resource_id: network_id }),
    metadata: { network: name, bridge: site.bridge, nodes: nodes.map((node) => node.name) },
    async also(trx) {
      await sql`select pg_advisory_xact_lock(${LOCKS.guest_networks})`.execute(trx)
      await startOrRefuse(trx, { job_id: ctx.operation_id, network: name, operation, total_nodes: nodes.length })
      if (reserve && !(await reserveSite(trx, site))) {
        throw new ApiError(
          'NETWORK_EXISTS',
          `A guest network with the name ${name}, the bridge ${site.bridge} or this segment exists.`,
        )
      }
    },
  })
}

async function startOrRefuse(trx: Trx, start: Parameters<typeof startNetworkJob>[1]): Promise<void> {
  const types = [guestNetworkCreateJob.type, guestNetworkDeleteJob.type, guestNetworkCheckJob.type]
  const running = await runningJob(trx, { types, resource_name: start.network }, start.job_id)
  if (running !== undefined)
    throw new ApiError('NETWORK_JOB_RUNNING', `The job ${running} of this guest network is running.`)
  await startNetworkJob(trx, start)
}

/** With what the jobs themselves say; a job that is deleted has no result any more. */
async function resultsOf(db: Db, rows: readonly GuestNetworkJobRow[]): Promise<NetworkJobResult[]> {
  const found = await jobsById(
    db,
    rows.map(({ job_id }) => job_id),
  )
  return rows.flatMap(({ job_id, network, operation, total_nodes, bridge_result }) => {
    const job = found.get(job_id)
    if (job === undefined) return []
    const { job_status, status, progress, failure_reason } = job
    const error = job_status === 'failed' ? (failure_reason ?? '') : ''
    return [{ job_id, network, operation, total_nodes, bridge_result, status, progress, state: job_status, error }]
  })
}

async function hypervisors({ database }: GuestNetworkJobDeps): Promise<GuestNetworkInput['nodes']> {
  const rows = (await allNodes(database.db)).filter(
    (row) => row.role !== 'management' && row.certificate !== null && isConfigured(row),
  )
  if (rows.length === 0)
    throw new ApiError(
      'NODES_UNREACHABLE',
      'No agent has enrolled from any hypervisor node, so no node can be asked; enrol them first (`groundplane node enrol`).',
    )
  return rows.map((row) => ({
    node_id: row.id,
    name: nodeName(row),
    fqdn: row.fqdn ?? '',
    node_ip: row.node_ip ?? '',
  }))
}

function siteOf(body: CreateBody): GuestNetworkSite {
  const { name, kind, segment_id, nic, mtu } = body
  if (kind === 'vlan' && segment_id > 4094) throw invalidField('body.segment_id', 'a VLAN id ends at 4094')
  if (kind === 'vlan' && nic === undefined) throw invalidField('body.nic', 'a VLAN needs the NIC it runs on')
  const bridge = body.bridge ?? `gn${segment_id}`
  return { name, network_id: null, bridge, kind, segment_id, nic: nic ?? null, mtu: mtu ?? null }
}

function specOf({ bridge, kind, segment_id, nic, mtu }: GuestNetworkSite): BridgeSpec {
  return { bridge, kind, segment_id, ...(nic === null ? {} : { nic }), ...(mtu === null ? {} : { mtu }) }
}

async function platformArgs({ cloudstack }: GuestNetworkJobDeps, body: CreateBody): Promise<Record<string, string>> {
  const offering = await findOne(cloudstack, 'listNetworkOfferings', 'networkoffering', {
    id: body.network_offering_id,
  })
  if (offering === undefined) throw invalidField('body.network_offering_id', 'there is no such network offering')
  // The platform chooses the segment of an isolated network itself and refuses one that is given.
  const isolated = textOf(offering, 'guestiptype') === 'Isolated'
  const args: Record<string, string | undefined> = {
    name: body.name,
    displaytext: body.display_text ?? body.name,
    zoneid: body.zone_id,
    networkofferingid: body.network_offering_id,
    vlan: isolated ? undefined : `${body.segment_id}`,
    gateway: body.gateway,
    netmask: body.netmask,
    startip: body.start_ip,
    endip: body.end_ip,
  }
  return Object.fromEntries(Object.entries(args).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])))
}
