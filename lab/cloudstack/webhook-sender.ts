/** Really delivers events to webhooks: signed, three tries at once, and only the answer 200 counts. */
import { createHmac, randomUUID } from 'node:crypto'
import type { Caller } from './call.ts'
import type { Account, Delivery, LabEvent, Webhook } from './records.ts'
import type { SimulatorState } from './state.ts'

export interface WebhookSender {
  publish(event: LabEvent, caller: Caller): void
  /** Sends a test body and answers how it went. */
  test(webhook: Webhook, payload: string): Promise<Delivery>
  /** Breaks off what is under way and resolves when nothing is left. */
  stop(): Promise<void>
}

const TRIES = 3
const TIMEOUT_MS = 10_000
const KEPT_DELIVERIES = 10
const THREADS = 5

export function createWebhookSender(state: SimulatorState, changed: () => void): WebhookSender {
  const underWay = new Set<Promise<unknown>>()
  const stopping = new AbortController()

  async function deliver(webhook: Webhook, eventid: string, eventtype: string, payload: string): Promise<Delivery> {
    const headers = headersOf(webhook, eventid, eventtype, payload)
    const startdate = Date.now()
    let outcome = { success: false, response: 'no try made' }
    for (let tries = 0; tries < TRIES && !outcome.success && !stopping.signal.aborted; tries += 1)
      outcome = await post(webhook.payloadurl, headers, payload, stopping.signal)
    const delivery: Delivery = {
      id: randomUUID(),
      eventid,
      eventtype,
      webhookid: webhook.id,
      headers: Object.entries(headers)
        .map(([name, value]) => `${name}: ${value}`)
        .join('\n'),
      payload,
      ...outcome,
      startdate,
      enddate: Date.now(),
    }
    keep(state, delivery)
    changed()
    return delivery
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
        waiting.push(() => deliver(webhook, event.id, event.type, payload))
      }
      pump()
    },
    test: async (webhook, payload) => deliver(webhook, randomUUID(), 'WEBHOOK.TEST', payload),
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
): Promise<{ success: boolean; response: string }> {
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      signal: AbortSignal.any([stopping, AbortSignal.timeout(TIMEOUT_MS)]),
    })
    await answer.arrayBuffer()
    return { success: answer.status === 200, response: `HTTP ${answer.status}` }
  } catch (error) {
    return { success: false, response: error instanceof Error ? error.message : 'failed' }
  }
}

/** Only the last ten deliveries of a webhook are kept. */
function keep(state: SimulatorState, delivery: Delivery): void {
  if (!state.tables.webhooks.has(delivery.webhookid)) return
  state.tables.deliveries.put(delivery)
  const old = state.tables.deliveries.by('webhook', delivery.webhookid)
  for (const one of old.slice(0, Math.max(0, old.length - KEPT_DELIVERIES))) state.tables.deliveries.remove(one.id)
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
