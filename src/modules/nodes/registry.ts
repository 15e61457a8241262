// The operations of the node registry.
import { randomBytes, randomUUIDv7 } from 'node:crypto'
import type { Static } from 'typebox'
import { pageOf } from '#src/contract/common.ts'
import type { nodeRegistry, RegisterNode } from '#src/contract/nodes/registry.ts'
import type { Handlers, Result } from '#src/contract/route.ts'
import { caMark, fingerprintOf } from '#src/kernel/certificates.ts'
import { runningJob } from '#src/jobs/lookup.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { recordChange } from '#src/store/app-events.ts'
import { credentialHash } from '#src/store/credentials.ts'
import { acceptReport, reportOf } from '#src/store/node-identity.ts'
import { insertEnrolmentToken } from '#src/store/enrolment-tokens.ts'
import { deleteNode, findNode, insertNode, listNodes, lockNode, type NodeRow, nodeRecordOf } from '#src/store/nodes.ts'
import { addressOf } from '#src/kernel/ip-address.ts'
import { nodeCertificateRenew, nodeEnrol, nodeHeartbeat, type RegistryDeps } from './registry-agents.ts'

export function registryHandlers(deps: RegistryDeps): Handlers<typeof nodeRegistry.routes, RequestContext> {
  const { database, offline_after_ms } = deps
  return {
    nodeList: async ({ query }) => {
      const { page: _page, page_size: _size, ...filter } = query
      return { ...(await listNodes(database.db, filter, offline_after_ms, pageOf(query))), ...pageOf(query) }
    },
    nodeGet: async ({ params }) =>
      nodeRecordOf(
        found(await findNode(database.db, addressOf('params.bmcIP', params.bmcIP)), params.bmcIP),
        offline_after_ms,
      ),
    nodeRegister: async ({ body }, ctx) => register(deps, ctx, body),
    nodeDelete: ({ params }, ctx) => remove(deps, ctx, addressOf('params.bmcIP', params.bmcIP)),
    nodeReportAccept: ({ params, body }, ctx) =>
      accept(deps, ctx, addressOf('params.bmcIP', params.bmcIP), body?.reported_since),
    nodeEnrolmentTokenCreate: ({ body }, ctx) => createToken(deps, ctx, body),
    nodeEnrol: ({ body }, ctx) => nodeEnrol(deps, ctx, body),
    nodeCertificateRenew: ({ body }, ctx) => nodeCertificateRenew(deps, ctx, body),
    nodeHeartbeat: ({ body }, ctx) => nodeHeartbeat(deps, ctx, body),
  }
}

async function register(deps: RegistryDeps, ctx: RequestContext, body: Static<typeof RegisterNode>) {
  const bmc_ip = addressOf('body.bmc_ip', body.bmc_ip)
  const node = {
    id: randomUUIDv7(),
    bmc_ip,
    node_ip: body.node_ip === undefined ? null : addressOf('body.node_ip', body.node_ip),
    fqdn: body.fqdn ?? null,
    hostname: body.hostname ?? body.fqdn?.split('.')[0] ?? null,
    role: body.role ?? null,
    zone: body.zone ?? null,
    registered_by: ctx.caller.username,
  }
  const about = { resource_type: 'NODE', resource_uuid: node.id, description: `Register node ${bmc_ip}` }
  const row = await recordChange(deps, ctx, about, async () => {
    const inserted = await deps.database.transact((trx) => insertNode(trx, node))
    if (inserted === undefined)
      throw new ApiError('NODE_EXISTS', `A node with the BMC address ${bmc_ip} is registered.`)
    return inserted
  })
  return nodeRecordOf(row, deps.offline_after_ms)
}

async function remove(deps: RegistryDeps, ctx: RequestContext, bmc_ip: string): Promise<{ message: string }> {
  const before = found(await findNode(deps.database.db, bmc_ip), bmc_ip)
  const about = { resource_type: 'NODE', resource_uuid: before.id, description: `Delete node ${bmc_ip}` }
  return recordChange(deps, ctx, about, async () => {
    await deps.database.transact(async (trx) => {
      const row = found(await lockNode(trx, bmc_ip), bmc_ip)
      const job = await runningJob(trx, { node_ip: bmc_ip })
      if (job !== undefined)
        throw new ApiError(
          'NODE_JOB_RUNNING',
          `Job ${job} of node ${bmc_ip} is running; wait for its end or cancel it.`,
        )
      await deleteNode(trx, row)
    })
    return { message: `Node ${bmc_ip} is deleted.` }
  })
}

async function accept(deps: RegistryDeps, ctx: RequestContext, bmc_ip: string, since: string | undefined) {
  const node = found(await findNode(deps.database.db, bmc_ip), bmc_ip)
  const about = { resource_type: 'NODE', resource_uuid: node.id, description: `Accept report of node ${bmc_ip}` }
  const row = await recordChange(deps, ctx, about, (note) =>
    deps.database.transact(async (trx) => {
      const locked = found(await lockNode(trx, bmc_ip), bmc_ip)
      if (since !== undefined && locked.reported_since?.getTime() !== Date.parse(since)) {
        throw new ApiError(
          'NODE_REPORT_CONFLICT',
          `Node ${bmc_ip} reports something else since ${since}; read it again.`,
        )
      }
      const { name, address } = reportOf(locked)
      const parts = [name === null ? [] : `name ${name}`, address === null ? [] : `address ${address}`].flat()
      note.description = `Accept ${parts.join(' and ') || 'nothing new'} of node ${bmc_ip}`
      return acceptReport(trx, locked)
    }),
  )
  return nodeRecordOf(row, deps.offline_after_ms)
}

type TokenRoute = (typeof nodeRegistry.routes)['nodeEnrolmentTokenCreate']

/** The end of the token names the CA, so that the enrolling machine knows whom to trust before it trusts anybody. */
async function createToken(
  deps: RegistryDeps,
  ctx: RequestContext,
  body: Static<TokenRoute['body']>,
): Promise<Result<TokenRoute>> {
  const bmc_ip = addressOf('body.bmc_ip', body.bmc_ip)
  const node = found(await findNode(deps.database.db, bmc_ip), bmc_ip)
  const { certificate } = await deps.ca.get()
  const token = `gpe_${randomBytes(24).toString('base64url')}.${caMark(certificate)}`
  const about = { resource_type: 'NODE', resource_uuid: node.id, description: `Create enrolment token for ${bmc_ip}` }
  const expires_at = await recordChange(deps, ctx, about, () =>
    deps.database.transact((trx) =>
      insertEnrolmentToken(trx, {
        hash: credentialHash(token),
        node_id: node.node_id,
        created_by: ctx.caller.username,
        expires_in_minutes: body.expires_in_minutes ?? 60,
      }),
    ),
  )
  const authority_fingerprint = fingerprintOf(certificate)
  return { token, bmc_ip, expires_at: expires_at.toISOString(), authority_fingerprint }
}

export function found(row: NodeRow | undefined, bmc_ip: string): NodeRow {
  if (row === undefined) throw new ApiError('NODE_NOT_FOUND', `No node with the BMC address ${bmc_ip} is registered.`)
  return row
}
