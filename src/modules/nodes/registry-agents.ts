// What agents call: enrol with a token, renew the certificate, send heartbeats (docs/decisions/0006-agent-trust.md).
import type { Static } from 'typebox'
import type { IssuedNode, NodeFacts, nodeRegistry } from '#src/contract/nodes/registry.ts'
import type { Input, Result } from '#src/contract/route.ts'
import {
  CertificateRequestError,
  CONTROL_NAME,
  hasExpired,
  type IssuedCertificate,
  isHalfLived,
  issueNodeCertificate,
} from '#src/kernel/certificates.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { Caller, RequestContext } from '#src/kernel/http/context.ts'
import { isSignedBy, readClaim } from '#src/kernel/node-signature.ts'
import { type ChangeDeps, endEvent, recordChange, recordEvent, startEvent } from '#src/store/app-events.ts'
import type { CaStore } from '#src/store/ca.ts'
import { credentialHash } from '#src/store/credentials.ts'
import { rejectionOf, useEnrolmentToken } from '#src/store/enrolment-tokens.ts'
import { reportOf } from '#src/store/node-identity.ts'
import { enrolNode, findNodeById, type NodeRow, renewNode, takeSignedTime, recordHeartbeat } from '#src/store/nodes.ts'
import { addressOf } from '#src/kernel/ip-address.ts'

export interface RegistryDeps extends ChangeDeps {
  ca: CaStore
  /** Silence after which a node counts as offline. */
  offline_after_ms: number
  heartbeat_interval_ms: number
}

type RegistryRoutes = typeof nodeRegistry.routes

/** Clocks of machines that just booted may be off; a signed message older than this is not taken. */
const CLOCK_TOLERANCE_MS = 5 * 60_000

export async function nodeEnrol(
  deps: RegistryDeps,
  ctx: RequestContext,
  body: Static<RegistryRoutes['nodeEnrol']['body']>,
): Promise<IssuedNode> {
  const facts = checkedFacts(body.facts)
  const ca = await deps.ca.get()
  const hash = credentialHash(body.token)
  const enrolled = await deps.database.transact(async (trx, publish) => {
    const used = await useEnrolmentToken(trx, hash)
    if (used === undefined) return undefined
    const node = await trx.selectFrom('node').selectAll().where('node_id', '=', used.node_id).executeTakeFirstOrThrow()
    const issued = await issue(() => issueNodeCertificate(ca, body.certificate_request, node.id))
    await enrolNode(trx, node.node_id, issued, facts)
    const event = {
      correlation_id: ctx.operation_id, action: ctx.operation, resource_type: 'NODE', resource_uuid: node.id,
      description: `Agent of node ${node.bmc_ip} enrolled`, caller: nodeCaller(node), replica_id: deps.replica_id,
    } // biome-ignore format: one event
    await startEvent(trx, publish, event)
    await endEvent(trx, publish, ctx.operation_id, { status: 'SUCCESS' })
    return { node, issued }
  })
  if (enrolled === undefined) {
    ctx.log.warn({ reason: await rejectionOf(deps.database.db, hash), from: ctx.remote_address }, 'enrolment rejected')
    throw new ApiError('ENROLMENT_REJECTED', 'The enrolment token is not known, used or expired; ask for a new one.')
  }
  return issuedNode(enrolled.node, enrolled.issued, ca.certificate)
}

export async function nodeCertificateRenew(
  deps: RegistryDeps,
  ctx: RequestContext,
  signed: Input<RegistryRoutes['nodeCertificateRenew']>['body'],
): Promise<IssuedNode> {
  const { node, signed_with } = await authenticatedNode(deps, ctx, '/configure/nodes/renew', signed.bytes)
  const body = signed.read()
  const ca = await deps.ca.get()
  const about = {
    resource_type: 'NODE',
    resource_uuid: node.id,
    description: `Renew certificate of node ${node.bmc_ip}`,
  }
  const { operation, operation_id } = ctx
  return recordChange(
    deps,
    { operation, operation_id, caller: nodeCaller(node), idempotency_key: null, named_ids: [] },
    about,
    async () => {
      const issued = await issue(() => issueNodeCertificate(ca, body.certificate_request, node.id))
      await deps.database.transact((trx) => renewNode(trx, node.id, issued, signed_with))
      return issuedNode(node, issued, ca.certificate)
    },
  )
}

export async function nodeHeartbeat(
  deps: RegistryDeps,
  ctx: RequestContext,
  signed: Input<RegistryRoutes['nodeHeartbeat']>['body'],
): Promise<Result<RegistryRoutes['nodeHeartbeat']>> {
  const { node, signed_with } = await authenticatedNode(deps, ctx, '/configure/nodes/heartbeat', signed.bytes)
  const body = signed.read()
  const sign = {
    facts: checkedFacts(body.facts),
    agent_address:
      body.agent.address === null
        ? ctx.remote_address.replace(/^::ffff:/, '')
        : addressOf('body.agent.address', body.agent.address),
    agent_port: body.agent.port,
  }
  await deps.database.transact(async (trx, publish) => {
    const recorded = await recordHeartbeat(trx, node.id, sign)
    if (recorded === undefined) return
    noteReport(ctx, recorded.before, recorded.after)
    if (recorded.before.told_online) return
    const about = {
      action: 'nodeOnline', resource_type: 'NODE', resource_uuid: node.id,
      description: `Node ${node.bmc_ip} is online`, caller: nodeCaller(node), replica_id: deps.replica_id,
    } // biome-ignore format: one event
    await recordEvent(trx, publish, about, { status: 'SUCCESS' })
  })
  return { interval_ms: deps.heartbeat_interval_ms, renew: isHalfLived(signed_with) }
}

/** Once for each change of what is reported; it waits in the registry for an admin. */
function noteReport(ctx: RequestContext, before: NodeRow, after: NodeRow): void {
  const since = after.reported_since?.getTime()
  if (since === undefined || since === before.reported_since?.getTime()) return
  ctx.log.warn({ bmc_ip: after.bmc_ip, ...reportOf(after) }, 'node reports another name or address')
}

/** The node that signed this request, and with which certificate's key. Throws when none did. */
async function authenticatedNode(
  deps: RegistryDeps,
  ctx: RequestContext,
  path: string,
  bytes: Buffer,
): Promise<{ node: NodeRow; signed_with: string }> {
  const claim = readClaim(ctx.headers)
  if (claim === undefined) throw rejected('The request is not signed by a node.')
  const node = await findNodeById(deps.database.db, claim.node_id)
  if (node === undefined) throw rejected('This node is not registered, or was deleted.')
  const request = { method: 'POST', path, body: bytes }
  const signed_with = [node.certificate, node.previous_certificate]
    .filter((certificate) => certificate !== null)
    .find((certificate) => isSignedBy(certificate, request, claim))
  if (signed_with === undefined) throw rejected('The signature is not one of a certificate in force.')
  if (hasExpired(signed_with)) throw rejected('The certificate has expired; the node must enrol again.')
  if (Math.abs(Date.now() - claim.signed_ms) > CLOCK_TOLERANCE_MS) {
    throw rejected(`The clock of the node is off by more than ${CLOCK_TOLERANCE_MS / 60_000} minutes.`)
  }
  if (!(await takeSignedTime(deps.database.db, node.id, claim.signed_ms, signed_with))) {
    throw rejected('A newer message of this node was taken before.')
  }
  return { node, signed_with }
}

function checkedFacts(facts: NodeFacts): NodeFacts {
  const { node_ip, addresses } = facts
  return {
    ...facts,
    node_ip: node_ip === null ? null : addressOf('body.facts.node_ip', node_ip),
    addresses: addresses?.map((address, at) => addressOf(`body.facts.addresses.${at}`, address)) ?? null,
  }
}

function rejected(message: string): ApiError {
  return new ApiError('NODE_CREDENTIAL_REJECTED', message)
}

async function issue(make: () => Promise<IssuedCertificate>): Promise<IssuedCertificate> {
  try {
    return await make()
  } catch (error) {
    if (error instanceof CertificateRequestError) throw invalidField('body.certificate_request', error.message)
    throw error
  }
}

function issuedNode(node: NodeRow, issued: IssuedCertificate, ca_pem: string): IssuedNode {
  return {
    node_id: node.id,
    bmc_ip: node.bmc_ip,
    certificate: issued.certificate,
    authority: ca_pem,
    control_name: CONTROL_NAME,
    expires_at: issued.expires_at.toISOString(),
  }
}

function nodeCaller(node: NodeRow): Caller {
  const id = `node:${node.bmc_ip}`
  return { kind: 'callback', id, role: null, tenant_id: null, user_id: null, username: id }
}
