/** Really delivers events to webhooks: signed, three tries at once, and only the answer 200 counts; 204 ends the tries. */
import { createHmac } from 'node:crypto'
import type { Caller } from './call.ts'
import type { Account, LabEvent, Webhook } from './records.ts'
import type { SimulatorState } from './state.ts'

export interface WebhookSender {
  publish(event: LabEvent, caller: Caller): void
  /** Breaks off what is under way and resolves when nothing is left. */
  stop(): Promise<void>
}

const TRIES = 3
const TIMEOUT_MS = 10_000
const THREADS = 5

export function createWebhookSender(state: SimulatorState): WebhookSender {
  const underWay = new Set<Promise<unknown>>()
  const stopping = new AbortController()

  async function deliver(webhook: Webhook, headers: Record<string, string>, payload: string): Promise<void> {
    let answer: number | null = null
    // The real sender breaks on 204: it tries no more and notes nothing.
    for (let tries = 0; tries < TRIES && answer !== 200 && answer !== 204 && !stopping.signal.aborted; tries += 1)
      answer = await post(webhook.payloadurl, headers, payload, stopping.signal)
  }

  const waiting: (() => Promise<unknown>)[] = []

  /** At most five deliveries at a time, in the order of the events. */
  function pump(): void {
    while (underWay.size < THREADS) {
      const next = waiting.shift()
      if (next === undefined) return
      const work = next().finally(() => {
        underWay.delete(work)
        pump()
      })
      underWay.add(work)
    }
  }

  return {
    publish: (event, caller) => {
      for (const webhook of state.tables.webhooks.values()) {
        if (webhook.state !== 'Enabled' || !reaches(state, webhook, caller.account)) continue
        const payload = JSON.stringify(payloadOf(event, caller))
        waiting.push(() => deliver(webhook, headersOf(webhook, event.id, event.type, payload), payload))
      }
      pump()
    },
    stop: async () => {
      waiting.length = 0
      stopping.abort()
      await Promise.allSettled(underWay)
    },
  }
}

function headersOf(webhook: Webhook, eventid: string, eventtype: string, payload: string): Record<string, string> {
  return {
    'Content-Type': 'application/json',
    'User-Agent': `CS-Hookshot/${webhook.accountid}`,
    'X-CS-Event-ID': eventid,
    'X-CS-Event': eventtype,
    ...(webhook.secretkey === null
      ? {}
      : { 'X-CS-Signature': createHmac('sha256', webhook.secretkey).update(payload, 'utf8').digest('base64') }),
  }
}

async function post(
  url: string,
  headers: Record<string, string>,
  body: string,
  stopping: AbortSignal,
): Promise<number | null> {
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      signal: AbortSignal.any([stopping, AbortSignal.timeout(TIMEOUT_MS)]),
    })
    await answer.arrayBuffer()
    return answer.status
  } catch {
    return null
  }
}

function reaches(state: SimulatorState, webhook: Webhook, account: Account): boolean {
  if (webhook.scope === 'Global') return true
  if (webhook.scope === 'Local') return webhook.accountid === account.id
  const owner = state.tables.domains.get(state.tables.accounts.get(webhook.accountid)?.domainid)
  const path = state.tables.domains.get(account.domainid)?.path
  return owner !== null && path !== undefined && path.startsWith(owner.path)
}

function payloadOf(event: LabEvent, caller: Caller): Record<string, unknown> {
  const entity = event.resourcetype ?? 'Unknown'
  return {
    event: event.type,
    status: event.state,
    entity,
    entityuuid: event.resourceid ?? undefined,
    user: caller.user.id,
    account: caller.account.id,
    description: event.description,
    eventDateTime: `${new Date(event.created).toISOString().slice(0, 19).replace('T', ' ')} +0000`,
    ...(event.resourceid === null ? {} : { [entity]: event.resourceid }),
  }
}
