// Network service providers: reading, and the checks before a change.
import { pageOf } from '#src/contract/common.ts'
import { type ElementType, serviceProviders } from '#src/contract/network/providers.ts'
import type { Handlers, Input } from '#src/contract/route.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { onePage } from '#src/drivers/cloudstack/page.ts'
import { invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { type PlatformDeps, platformRows } from '../platform-rows.ts'
import { ELEMENT_LISTS, elementOf, optionsOf, PROVIDER_ITEM, providerIds, readElement } from './provider-lookup.ts'
import { elementRows, providerRows } from './provider-rows.ts'

type In<Op extends keyof typeof serviceProviders.routes> = Input<(typeof serviceProviders.routes)[Op]>

export function serviceProviderHandlers(deps: PlatformDeps): Handlers<typeof serviceProviders.routes, RequestContext> {
  const { cloudstack } = deps
  const changes = platformRows(serviceProviders, deps, providerRows(cloudstack))
  return {
    ...changes,
    serviceProviderElementCreate: ({ params, body }: In<'serviceProviderElementCreate'>, ctx: RequestContext) => {
      const row = rowOf(elementRows.create, params.nsp_type)(cloudstack)
      return platformRows(serviceProviders, deps, row).serviceProviderElementCreate(
        { params, body, query: undefined },
        ctx,
      )
    },
    serviceProviderElementConfigure: ({ params, body }: In<'serviceProviderElementConfigure'>, ctx: RequestContext) => {
      const row = rowOf(elementRows.configure, params.nsp_type)(cloudstack)
      return platformRows(serviceProviders, deps, row).serviceProviderElementConfigure(
        { params, body, query: undefined },
        ctx,
      )
    },
    serviceProviderList: serviceProviderList(cloudstack),
    serviceProviderElementGet: ({ params, body }: In<'serviceProviderElementGet'>, ctx: RequestContext) =>
      readElement(cloudstack, params.nsp_type, body.id, ctx),
    serviceProviderElementList: serviceProviderElementList(cloudstack),
  }
}

/** Each kind of element has commands of its own. */
function rowOf<R>(table: Partial<Record<ElementType, R>>, nsp_type: ElementType): R {
  const row = table[nsp_type]
  if (row !== undefined) return row
  throw invalidField(
    'path.nsp_type',
    `elements of ${nsp_type} cannot be made; those of ${Object.keys(table).join(', ')} can`,
  )
}

function serviceProviderList(cloudstack: CloudStack) {
  return async ({ body }: In<'serviceProviderList'>, ctx: RequestContext) => {
    const page = pageOf(body)
    const args = {
      physicalnetworkid: body?.physical_network_id,
      name: body?.name,
      state: body?.state,
      keyword: body?.keyword,
    }
    const { rows, count } = await cloudstack.listPage(
      'listNetworkServiceProviders',
      args,
      PROVIDER_ITEM,
      page,
      optionsOf(ctx),
    )
    return { service_providers: rows, count, ...page }
  }
}

/** The platform's list counts its page, and one command lists both kinds of router: counting and telling apart are ours. */
function serviceProviderElementList(cloudstack: CloudStack) {
  return async ({ params, body }: In<'serviceProviderElementList'>, ctx: RequestContext) => {
    const type = params.nsp_type
    const page = pageOf(body)
    const providers = await providerIds(cloudstack, type, ctx)
    const { command, key } = ELEMENT_LISTS[type]
    const args = { nspid: body?.nsp_id, enabled: body?.enabled, keyword: body?.keyword }
    const elements = cloudstack.listAll(command, args, { key, read: (row) => elementOf(row, type) }, optionsOf(ctx))
    const { rows, count } = await onePage(elements, page, ({ nsp_id }) => nsp_id !== null && providers.has(nsp_id))
    return { elements: rows, count, ...page }
  }
}
