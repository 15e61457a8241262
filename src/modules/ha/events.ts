// POST /internal/ha/events/ingest: who may report about which node, and what becomes of the report.
import type { HaEventIngest } from '#src/contract/ha/ha.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { Caller, RequestContext } from '#src/kernel/http/context.ts'
import { addressOf } from '#src/kernel/ip-address.ts'
import { ingestHaEvent, type NewHaEvent } from '#src/store/ha-events.ts'
import { isHaMember } from '#src/store/ha-members.ts'
import type { HaDeps } from './deps.ts'

export async function ingestEvent(
  deps: HaDeps,
  ctx: RequestContext,
  body: HaEventIngest,
): Promise<{ event_id: string; duplicate: boolean }> {
  const address = addressOf('body.resource_uuid', body.resource_uuid)
  const peer = peerOf(ctx.caller)
  if (peer === undefined) requireOwn(deps, ctx, address)
  else await requirePeer(deps, peer, address)
  const event = newEvent(body, address, ctx.operation_id, ctx.caller)
  const taken = await deps.database.transact((trx, publish) => ingestHaEvent(trx, publish, event))
  ctx.log.info({ action: body.action, address, duplicate: taken.duplicate }, 'failover event')
  return taken
}

export function newEvent(body: HaEventIngest, address: string, operation_id: string, caller: Caller): NewHaEvent {
  const { action, status = 'COMPLETED', message = '', counter = null } = body
  const level = body.level ?? (status === 'FAILED' ? 'ERROR' : 'INFO')
  const given = body.occurred_at === undefined ? Date.now() : Date.parse(body.occurred_at)
  // A clock that runs ahead must not put an event before those that will follow.
  const occurred_at = new Date(Math.min(given, Date.now()))
  return { action, status, level, message, address, counter, occurred_at, operation_id, caller }
}

/** The address that a caller's certificate names; undefined for who holds the secret of the cluster. */
function peerOf({ id }: Caller): string | undefined {
  return id.startsWith('cluster:') ? id.slice('cluster:'.length) : undefined
}

/** Every node has the secret, so it says nothing of who sends: that it comes from this very machine does. */
function requireOwn({ own_node, config }: HaDeps, ctx: RequestContext, address: string): void {
  const own = new Set([...own_node.names(), config.ha.address])
  const sender = ctx.remote_address.replace(/^::ffff:/, '')
  if (!isLoopback(sender) && !own.has(sender)) {
    const way = 'Send it to the management node on the same machine, or under a certificate of the cluster.'
    throw new ApiError('FORBIDDEN', `The cluster secret is taken from this machine alone, not from ${sender}. ${way}`)
  }
  if (isLoopback(address) && address !== config.ha.address) {
    throw invalidField('body.resource_uuid', `${address} names no node; send its address on the cluster network`)
  }
  if (!own.has(address)) {
    throw new ApiError('FORBIDDEN', `${address} is no address of this machine: a node reports about itself alone.`)
  }
}

async function requirePeer({ database }: HaDeps, peer: string, address: string): Promise<void> {
  if (peer !== address) {
    throw new ApiError('FORBIDDEN', `The certificate is of ${peer}: it reports about itself alone, not ${address}.`)
  }
  if (!(await isHaMember(database.db, peer))) {
    throw new ApiError('FORBIDDEN', `${peer} is no member of the management cluster.`)
  }
}

function isLoopback(address: string): boolean {
  return address.startsWith('127.') || address === '::1'
}
