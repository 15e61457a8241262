/** Webhooks and their deliveries. */
import { randomUUID } from 'node:crypto'
import { invalid } from '../api-fault.ts'
import type { Call, Commands } from '../call.ts'
import { ownerFields } from '../owner-view.ts'
import type { Delivery, Webhook } from '../records.ts'
import type { Json } from '../row.ts'
import { idTest, keywordTest, paged, same } from '../scope.ts'
import { object, success, wireDate } from '../wire.ts'

export const webhooks: Commands = {
  createWebhook: (call) => {
    const { params, state, caller } = call
    const payloadurl = checkUrl(params.need('payloadurl'))
    if (
      state.tables.webhooks.find((one) => one.name === params.need('name') && one.accountid === caller.account.id) !==
      null
    )
      throw invalid(`Webhook with name ${params.need('name')} already exists`)
    if (
      state.tables.webhooks.find((one) => one.payloadurl === payloadurl && one.accountid === caller.account.id) !== null
    )
      throw invalid(`Payload URL: ${payloadurl} is already in use by another webhook`)
    const webhook = state.tables.webhooks.put({
      id: randomUUID(),
      name: params.need('name'),
      description: params.text('description'),
      state: stateOf(params.text('state')),
      accountid: caller.account.id,
      payloadurl,
      secretkey: params.text('secretkey'),
      sslverification: params.bool('sslverification') ?? true,
      scope: scopeOf(params.text('scope')),
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
      payloadurl: url === null ? webhook.payloadurl : checkUrl(url),
      secretkey: params.text('secretkey') ?? webhook.secretkey,
      sslverification: params.bool('sslverification') ?? webhook.sslverification,
      scope: params.has('scope') ? scopeOf(params.text('scope')) : webhook.scope,
    })
    return object(view(call, next))
  },
  deleteWebhook: (call) => {
    const webhook = need(call, call.params.need('id'))
    for (const delivery of call.state.tables.deliveries.by('webhook', webhook.id))
      call.state.tables.deliveries.remove(delivery.id)
    call.state.tables.webhooks.remove(webhook.id)
    return success()
  },
  executeWebhookDelivery: async (call) => {
    const { params } = call
    const id = params.text('webhookid')
    const url = params.text('payloadurl')
    if (id === null && url === null) throw invalid('Either webhookid or payloadurl must be specified')
    const webhook: Webhook =
      id === null
        ? {
            id: randomUUID(),
            name: 'test',
            description: null,
            state: 'Enabled',
            accountid: call.caller.account.id,
            payloadurl: checkUrl(url ?? ''),
            secretkey: params.text('secretkey'),
            sslverification: true,
            scope: 'Local',
            created: Date.now(),
          }
        : need(call, id)
    return object(
      deliveryView(
        call,
        await call.webhooks.test(webhook, params.text('payload') ?? '{"message":"CloudStack event webhook test"}'),
      ),
    )
  },
  listWebhookDeliveries: (call) => {
    const byId = idTest(call)
    const webhookid = same(call, 'webhookid')
    const type = same(call, 'eventtype')
    return paged(
      call,
      call.state.tables.deliveries.filter((one) => byId(one.id) && webhookid(one.webhookid) && type(one.eventtype)),
      (one) => deliveryView(call, one),
    )
  },
}

function need(call: Call, id: string): Webhook {
  const webhook = call.state.tables.webhooks.get(id)
  if (webhook === null) throw invalid('Unable to find Webhook: entity does not exist')
  return webhook
}

function checkUrl(url: string): string {
  if (!/^https?:\/\/[^/\s]+/.test(url) || !URL.canParse(url)) throw invalid(`Invalid payload URL ${url}`)
  return url
}

function stateOf(state: string | null): Webhook['state'] {
  if (state === null || state === 'Enabled') return 'Enabled'
  if (state === 'Disabled') return 'Disabled'
  throw invalid(`Unable to parse state ${state}`)
}

function scopeOf(scope: string | null): Webhook['scope'] {
  if (scope === null || scope === 'Local') return 'Local'
  if (scope === 'Global' || scope === 'Domain') return scope
  throw invalid(`Invalid scope specified: ${scope}`)
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

function deliveryView(call: Call, one: Delivery): Record<string, Json> {
  return {
    id: one.id,
    eventid: one.eventid,
    eventtype: one.eventtype,
    webhookid: one.webhookid,
    webhookname: call.state.tables.webhooks.get(one.webhookid)?.name ?? null,
    headers: one.headers,
    payload: one.payload,
    success: one.success,
    response: one.response,
    startdate: wireDate(one.startdate),
    enddate: wireDate(one.enddate),
  }
}
