/** Webhooks. */
import { randomUUID } from 'node:crypto'
import { internal, invalid } from '../api-fault.ts'
import type { Call, Commands } from '../call.ts'
import { ownerFields } from '../owner-view.ts'
import type { Webhook } from '../records.ts'
import type { Json } from '../row.ts'
import { idTest, keywordTest, paged, same } from '../scope.ts'
import { object, wireDate } from '../wire.ts'

export const webhooks: Commands = {
  createWebhook: (call) => {
    const { params, state, caller } = call
    const scope = scopeOf(params.text('scope'))
    const wanted = stateOf(params.text('state'))
    const payloadurl = checkUrl(call, params.need('payloadurl'))
    if (
      state.tables.webhooks.find((one) => one.payloadurl === payloadurl && one.accountid === caller.account.id) !== null
    )
      throw internal(`Payload URL: ${payloadurl} is already in use by another webhook`)
    const webhook = state.tables.webhooks.put({
      id: randomUUID(),
      name: params.need('name'),
      description: params.text('description'),
      state: wanted,
      accountid: caller.account.id,
      payloadurl,
      secretkey: params.text('secretkey'),
      sslverification: params.bool('sslverification') ?? true,
      scope,
      created: Date.now(),
    })
    return object(view(call, webhook))
  },
  listWebhooks: (call) => {
    const byId = idTest(call)
    const name = same(call, 'name')
    const state = same(call, 'state')
    const scope = same(call, 'scope')
    const keyword = keywordTest(call)
    return paged(
      call,
      call.state.tables.webhooks.filter(
        (one) => byId(one.id) && name(one.name) && state(one.state) && scope(one.scope) && keyword(one.name),
      ),
      (one) => view(call, one),
    )
  },
  updateWebhook: (call) => {
    const { params, state } = call
    const webhook = need(call, params.need('id'))
    const url = params.text('payloadurl')
    const next = state.tables.webhooks.put({
      ...webhook,
      name: params.text('name') ?? webhook.name,
      description: params.text('description') ?? webhook.description,
      state: params.has('state') ? stateOf(params.text('state')) : webhook.state,
      payloadurl: url === null ? webhook.payloadurl : checkUrl(call, url),
      secretkey: params.text('secretkey') ?? webhook.secretkey,
      sslverification: params.bool('sslverification') ?? webhook.sslverification,
      scope: params.has('scope') ? scopeOf(params.text('scope')) : webhook.scope,
    })
    return object(view(call, next))
  },
}

function need(call: Call, id: string): Webhook {
  const webhook = call.state.tables.webhooks.get(id)
  if (webhook === null) throw invalid('Unable to find Webhook: entity does not exist')
  return webhook
}

/** The platform sends nothing to itself; the lab alone may have its webhooks on this machine. */
function checkUrl(call: Call, url: string): string {
  const host = /^https?:\/\/([^/:\s]+)/.exec(url)?.[1]
  if (host === undefined) throw invalid(`Unable to resolve ${url.split(':')[0] ?? ''}.`)
  if (host.endsWith('.invalid')) throw invalid(`Unable to resolve ${host}.`)
  const inside = host === 'localhost' || /^(127\.|169\.254\.|0\.0\.0\.0$)/.test(host)
  if (inside && !call.state.loopback_webhooks) throw invalid('Illegal host specified in URL.')
  return url
}

function stateOf(state: string | null): Webhook['state'] {
  if (state === null || state === 'Enabled') return 'Enabled'
  if (state === 'Disabled') return 'Disabled'
  throw internal('Invalid state specified')
}

function scopeOf(scope: string | null): Webhook['scope'] {
  if (scope === null || scope === 'Local') return 'Local'
  if (scope === 'Global' || scope === 'Domain') return scope
  throw internal('Invalid scope specified')
}

function view(call: Call, one: Webhook): Record<string, Json> {
  return {
    id: one.id,
    name: one.name,
    description: one.description,
    state: one.state,
    ...ownerFields(call.state, { accountid: one.accountid, projectid: null }),
    payloadurl: one.payloadurl,
    secretkey: one.secretkey,
    sslverification: one.sslverification,
    scope: one.scope,
    created: wireDate(one.created),
  }
}
