// Who really holds the virtual addresses: daemons say what they did, and after a split nobody says it again. One replica asks
// the nodes themselves.
import { randomUUIDv7 } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { agentFailover, type FailoverState } from '#src/contract/nodes/agent-failover.ts'
import { SYSTEM } from '#src/kernel/http/context.ts'
import type { Publish } from '#src/store/app-events.ts'
import type { Trx } from '#src/store/database.ts'
import { ingestHaEvent, openHaEvents } from '#src/store/ha-events.ts'
import { type HaMemberRow, haMembers, saveVipHolder } from '#src/store/ha-members.ts'
import { createLeader, type Leader } from '#src/store/leader.ts'
import { LOCKS } from '#src/store/locks.ts'
import { findNode } from '#src/store/nodes.ts'
import type { HaDeps } from './deps.ts'

const VIP_DUPLICATE = 'VIP_DUPLICATE'

export function createVipWatcher(deps: HaDeps): Leader {
  const { database, log, background, config } = deps
  const { virtual_addresses, check_ms } = config.ha
  const addresses = virtual_addresses.map((one) => one.split('/')[0] ?? one)
  return createLeader({ database, lock: LOCKS.ha_watcher, name: 'ha', log, background }, async (held) => {
    while (!held.aborted) {
      if (addresses.length > 0) await checkHolders(deps, addresses, held)
      await pause(check_ms, undefined, { signal: held })
    }
  })
}

interface Observation {
  member: HaMemberRow
  state: FailoverState | undefined
}

/** Writes one event when an address is first claimed twice, and its end when it no longer is. */
async function checkHolders(deps: HaDeps, addresses: readonly string[], signal: AbortSignal): Promise<void> {
  const members = await haMembers(deps.database.db)
  const seen = await Promise.all(
    members.map(
      async (member): Promise<Observation> => ({ member, state: await ask(deps, member, addresses, signal) }),
    ),
  )
  if (signal.aborted) return
  const twice = new Map(addresses.flatMap((address) => claimsOf(address, seen)))
  await deps.database.transact(async (trx, publish) => {
    const before = await openHaEvents(trx, VIP_DUPLICATE)
    for (const { member, state } of seen) {
      await saveVipHolder(trx, member.node_id, state === undefined ? null : state.held.length > 0)
    }
    for (const [address, message] of twice) if (!before.has(address)) await report(trx, publish, address, message)
    for (const address of before) if (!twice.has(address)) await report(trx, publish, address, undefined)
  })
}

/** Two members have it, or one has it and yet another machine answers for it: a member whose agent is silent, perhaps. */
function claimsOf(address: string, seen: readonly Observation[]): [string, string][] {
  const holders = seen.filter(({ state }) => state?.held.includes(address) === true)
  const names = holders.map(({ member }) => member.address).join(' and ')
  if (holders.length > 1) return [[address, `${address} is held by ${names}.`]]
  const others = holders.some(({ state }) => state?.answered_by_others?.includes(address) === true)
  return others ? [[address, `${address} is held by ${names}, and another machine answers for it.`]] : []
}

/** The operation goes on until the address is claimed once again: its event is open until then. */
async function report(trx: Trx, publish: Publish, address: string, message: string | undefined): Promise<void> {
  const about = { action: VIP_DUPLICATE, address, counter: null, occurred_at: new Date(), caller: SYSTEM }
  const said = message === undefined
    ? ({ status: 'COMPLETED', level: 'INFO', message: `${address} is held once again.` } as const)
    : ({ status: 'IN_PROGRESS', level: 'ERROR', message } as const) // biome-ignore format: two cases
  await ingestHaEvent(trx, publish, { ...about, ...said, operation_id: randomUUIDv7() })
}

async function ask(
  { database, agents, config, log }: HaDeps,
  member: HaMemberRow,
  addresses: readonly string[],
  signal: AbortSignal,
): Promise<FailoverState | undefined> {
  try {
    const row = await findNode(database.db, member.bmc_ip)
    if (row === undefined) return undefined
    const options = { timeout_ms: config.nodes.agent_timeout_ms, signal }
    const client = agents.client(row, agentFailover.routes, options)
    return await client.agentFailoverRead({ query: { addresses: addresses.join(',') } })
  } catch (err) {
    log.debug({ err, address: member.address }, 'a member does not say whether it holds the virtual addresses')
    return undefined
  }
}
