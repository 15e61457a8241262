// Starts a decommission: the node is looked at once more, and what is found must be what the caller has acknowledged.
import { createHash } from 'node:crypto'
import type { decommission } from '#src/contract/nodes/decommission.ts'
import type { Input } from '#src/contract/route.ts'
import type { Jobs } from '#src/jobs/admit.ts'
import type { JobRow } from '#src/jobs/job-row.ts'
import { lastJob } from '#src/jobs/lookup.ts'
import { throwIfFailed } from '#src/jobs/run.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { findPreflight } from '#src/store/decommissions.ts'
import { moveNode, recordNics } from '#src/store/node-lifecycle.ts'
import type { NodeRow } from '#src/store/nodes.ts'
import { nodeJobOf, readNodeJob } from '../job-view.ts'
import type { LeaveInput } from '../leave/run.ts'
import { macsOf } from './address-reading.ts'
import { decommissionStartJob } from './decommission.job.ts'
import { requireNode, STEP_TITLES, wishOf } from './handlers.ts'
import { type Preflight, runPreflight } from './preflight.ts'
import type { SourceDeps } from './sources.ts'

export interface StartDeps extends SourceDeps {
  jobs: Jobs
}

type Start = Input<(typeof decommission.routes)['decommissionStart']>

/** States that a node leaves from; one that was registered by hand was never set up here. */
const LEAVES_FROM = ['configured', 'configure_failed', 'discovered'] as const

export function decommissionStart(deps: StartDeps) {
  const { database, jobs } = deps
  return async (input: Start, ctx: RequestContext) => {
    const row = ctx.resumed ? undefined : await admitted(deps, input, ctx)
    const id = row?.id ?? ctx.operation_id
    const job = await jobs.wait(id, { timeout_ms: ctx.wait_seconds * 1000, signal: ctx.signal })
    throwIfFailed(job)
    const facts = await readNodeJob(database.db, job)
    return { ...nodeJobOf(facts), job_id: job.id, message: job.status, steps: [...STEP_TITLES] }
  }
}

async function admitted(deps: StartDeps, { params, body }: Start, ctx: RequestContext): Promise<JobRow> {
  const { db } = deps.database
  const node = await requireNode(db, params.nodeIP)
  const request = createHash('sha256').update(JSON.stringify(body)).digest('hex').slice(0, 16)
  const last = await lastJob(db, { types: [decommissionStartJob.type], node_ip: node.bmc_ip })
  if (last?.job_status === 'running' && (last.metadata as Record<string, unknown>)['request'] === request) return last
  if (!LEAVES_FROM.some((state) => state === node.provision_status)) {
    const way_out = node.provision_status === 'decommissioning' ? '; retry its decommission' : ''
    throw new ApiError('NODE_STATE', `Node ${node.bmc_ip} is ${node.provision_status}${way_out}.`)
  }
  const wish = wishOf(body)
  const preflight = await runPreflight(deps, node, wish, ctx.caller.username, STEP_TITLES)
  await requireAcknowledged(deps, node, body, preflight)
  const macs = await macsOf(db, node)
  return deps.jobs.admit(decommissionStartJob, {
    operation: ctx,
    input: inputOf(node, body, preflight, ctx),
    description: `Decommissioning node ${node.bmc_ip}.`,
    resource_id: node.id,
    resource_name: node.fqdn ?? node.hostname ?? node.bmc_ip,
    node_ip: node.bmc_ip,
    metadata: {
      ...wish, request, role: node.role, fingerprint: preflight.answer.fingerprint, asked_by: ctx.caller.username,
      ...(body.reason === undefined ? {} : { reason: body.reason }),
    }, // biome-ignore format: a record
    also: async (trx) => {
      await moveNode(trx, node.bmc_ip, LEAVES_FROM, 'decommissioning', ctx.operation_id)
      // By these the report of its wipe is recognised.
      await recordNics(
        trx,
        node.node_id,
        [...macs].map((permanent_mac) => ({ name: '', permanent_mac })),
      )
    },
  })
}

async function requireAcknowledged(
  { database }: StartDeps,
  node: NodeRow,
  { acknowledge, force = false }: Start['body'],
  { answer }: Preflight,
): Promise<void> {
  const failed = answer.checks.filter(({ status }) => status === 'fail')
  if (failed.length > 0) {
    throw new ApiError(
      'PREFLIGHT_FAILED',
      `Node ${node.bmc_ip} cannot leave: ${failed.map(({ message }) => message).join(' ')}`,
      {
        errors: failed.map(({ name, message }) => ({ path: name, message })),
      },
    )
  }
  const seen = await findPreflight(database.db, node.node_id, acknowledge.fingerprint)
  if (seen === undefined || acknowledge.fingerprint !== answer.fingerprint) {
    const why =
      seen === undefined ? 'is not known, or older than 10 minutes' : 'does not fit any more: what it found has changed'
    throw new ApiError('PREFLIGHT_CHANGED', `The acknowledged preflight ${why}. Repeat it and read what it says.`)
  }
  const destroyed = answer.destroyed_vm_names
  const named = acknowledge.vms ?? []
  const differs = named.length !== destroyed.length || destroyed.some((name) => !named.includes(name))
  if (differs || (destroyed.length > 0 && !force)) {
    const rest =
      destroyed.length === 0
        ? 'no machine: leave acknowledge.vms empty'
        : `${destroyed.join(', ')}: name exactly these in acknowledge.vms, and set force`
    throw new ApiError('PREFLIGHT_CHANGED', `The decommission of node ${node.bmc_ip} destroys ${rest}.`)
  }
}

function inputOf(
  node: NodeRow,
  body: Start['body'],
  { answer, readings, plan }: Preflight,
  ctx: RequestContext,
): LeaveInput {
  return {
    bmc_ip: node.bmc_ip,
    node_id: node.node_id,
    by: ctx.caller.username,
    state: node.provision_status as LeaveInput['state'],
    addresses: [...readings.node.addresses],
    names: [node.fqdn, node.hostname].filter((name) => name !== null),
    destroy: (plan?.destroyed ?? []).map(({ id, name }) => ({ id, name })),
    disks: answer.wiped_disks,
    store_served: answer.store_served_at_admission,
    osds: answer.storage?.osds ?? [],
    ...(node.role === null ? {} : { role: node.role }),
    wipe: body.wipe ?? 'full',
    power_off: body.power_off ?? true,
    confirm_powered_off: body.confirm_powered_off ?? false,
    findings: answer.checks.map(({ name, status, message }) => `${status} ${name}: ${message}`),
  }
}
