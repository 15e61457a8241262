// Scopes: reading them and changing them on the server, with what only our own tables keep.
import type { dhcp } from '#src/contract/ddi/dhcp.ts'
import type { Input } from '#src/contract/route.ts'
import type { DhcpScope } from '#src/drivers/ddi/dhcp-server.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { numberOf } from '#src/kernel/ipv4.ts'
import { sorted } from '#src/kernel/sorted.ts'
import { recordChange } from '#src/store/app-events.ts'
import { forgetScope, reservationOrders, saveScope, scopeNotes } from '#src/store/dhcp-orders.ts'
import { type Effect, planOf } from '../../operation.ts'
import type { DhcpDeps } from './deps.ts'
import { counted, paged, requireScope, requireState, reservationViews } from './reading.ts'
import { changedScope, checkText, checkUntaken, newScope } from './scope-rules.ts'
import { figuresOf } from './statistics.ts'
import { isEnabled, scopeView } from './views.ts'
import { networksOfZone } from './vm-macs.ts'

type In<Op extends keyof typeof dhcp.routes> = Input<(typeof dhcp.routes)[Op]>

/** Of one answer; the lists give the rest. */
const DETAIL_ROWS = 500

const COLUMNS = {
  name: (scope: DhcpScope) => scope.name,
  network: (scope: DhcpScope) => numberOf(scope.network.split('/')[0] ?? ''),
}

export function dhcpScopeList(deps: DhcpDeps) {
  return async ({ query }: In<'dhcpScopeList'>, ctx: RequestContext) => {
    const { server, database, cloudstack } = deps
    const { network_id, zone_id, enabled, include_stats = false } = query
    const [{ scopes, reservations, leases }, notes, networks] = await Promise.all([
      server.state(undefined, ctx.signal),
      scopeNotes(database.db),
      zone_id === undefined ? undefined : networksOfZone(cloudstack, zone_id, ctx),
    ])
    const note = new Map(notes.map((row) => [row.name, row]))
    const wanted = scopes.filter(({ name, enabled: is_enabled }) => {
      const network = note.get(name)?.network_id ?? null
      const fits = (ids: ReadonlySet<string>): boolean => network !== null && ids.has(network)
      return (
        (enabled === undefined || is_enabled === enabled) &&
        (network_id === undefined || network === network_id) &&
        (networks === undefined || fits(networks))
      )
    })
    const updated_at = ({ name }: DhcpScope) => note.get(name)?.updated_at.getTime() ?? null
    const page = paged(sorted(wanted, query, { ...COLUMNS, updated_at }), query)
    const held = Map.groupBy(leases, (lease) => lease.scope)
    const reserved = Map.groupBy(reservations, (row) => row.scope)
    const views = page.rows.map((scope) => {
      const own = reserved.get(scope.name) ?? []
      const counts = { leases: held.get(scope.name) ?? [], reservations: own }
      return scopeView(scope, note.get(scope.name), own.length, include_stats ? counts : undefined)
    })
    const { total_count } = page
    return {
      success: true,
      message: counted(total_count, 'scope', 'scopes'),
      data: { scopes: views, total_count, page: page.page, page_size: page.page_size },
    }
  }
}

export function dhcpScopeGet(deps: DhcpDeps) {
  return async ({ params }: In<'dhcpScopeGet'>, ctx: RequestContext) => {
    const state = await requireState(deps, params.scope_name, ctx.signal)
    const [notes, { data: statistics, reservations, leases }] = await Promise.all([
      scopeNotes(deps.database.db),
      figuresOf(deps, state, ctx.signal),
    ])
    const { scope } = state
    const note = notes.find((row) => row.name === scope.name)
    const enabled = reservations.filter(isEnabled)
    return {
      success: true,
      message: `Scope ${scope.name}.`,
      data: {
        scope: scopeView(scope, note, enabled.length, { leases: state.leases, reservations: enabled }),
        reservations: await reservationViews(deps, reservations.slice(0, DETAIL_ROWS)),
        active_leases: leases.slice(0, DETAIL_ROWS),
        statistics,
      },
    }
  }
}

export function dhcpScopeCreate(deps: DhcpDeps) {
  return ({ body }: In<'dhcpScopeCreate'>, ctx: RequestContext) =>
    changing(deps, ctx, body.name, `Creating scope ${body.name}.`, async () => {
      const { server, database } = deps
      checkText(body.description ?? '', server.limits, 'body.description')
      const scope = newScope(body, server.limits, await server.scopes())
      await saveScope(database.db, scope, { description: body.description ?? '', network_id: body.network_id ?? null })
      await server.createScope(scope).catch(async (error: unknown) => {
        await database.transact((trx) => forgetScope(trx, scope.name))
        throw error
      })
      const { first, last } = scope.range
      const message = `Scope ${scope.name} serves ${first} to ${last}${scope.enabled ? '' : ' when it is enabled'}.`
      return {
        end_address: last,
        network: scope.network,
        scope_name: scope.name,
        start_address: first,
        success: true,
        message,
      }
    })
}

export function dhcpScopeUpdate(deps: DhcpDeps) {
  return ({ params, body }: In<'dhcpScopeUpdate'>, ctx: RequestContext) => {
    if (body.name !== params.scope_name)
      throw invalidField(
        'body.name',
        `${body.name} differs from ${params.scope_name} of the path; scopes are not renamed`,
      )
    return changing(deps, ctx, body.name, `Changing scope ${body.name}.`, async () => {
      const { limits } = deps.server
      checkText(body.description ?? '', limits, 'body.description')
      const [{ scope: before, reservations, leases }, orders] = await Promise.all([
        requireState(deps, body.name),
        reservationOrders(deps.database.db, { scope: body.name }),
      ])
      const scope = changedScope(before, body, limits)
      // Its clients would answer for the router.
      if (scope.gateway !== before.gateway) checkUntaken(scope.gateway, [...orders, ...reservations], leases)
      await replace(deps, scope, body.description)
      return { success: true, message: `Scope ${body.name} is changed.` }
    })
  }
}

export function dhcpScopeSwitch(deps: DhcpDeps, enabled: boolean) {
  const word = enabled ? 'enabled' : 'disabled'
  return ({ params }: In<'dhcpScopeEnable'>, ctx: RequestContext) =>
    changing(deps, ctx, params.scope_name, `Scope ${params.scope_name} is being ${word}.`, async () => {
      const scope = await requireScope(deps, params.scope_name)
      if (scope.enabled !== enabled) await replace(deps, { ...scope, enabled }, undefined)
      return { success: true, message: `Scope ${scope.name} is ${word}.` }
    })
}

export function dhcpScopeDelete(deps: DhcpDeps) {
  return async ({ params, query }: In<'dhcpScopeDelete'>, ctx: RequestContext) => {
    const { server, database } = deps
    const name = params.scope_name
    const check = () => deletable(deps, name, query.force === true)
    if (ctx.dry_run) return planOf({ would: check })
    return changing(deps, ctx, name, `Deleting scope ${name}.`, async () => {
      await check()
      await server.deleteScope(name)
      await database.transact((trx) => forgetScope(trx, name))
      return { success: true, message: `Scope ${name} is deleted.` }
    })
  }
}

/** Throws while it is in use, unless that is forced. */
async function deletable(deps: DhcpDeps, name: string, force: boolean): Promise<Effect> {
  const [{ reservations, leases }, orders] = await Promise.all([
    requireState(deps, name),
    reservationOrders(deps.database.db, { scope: name }),
  ])
  const reserved = new Map([...orders, ...reservations].map(({ mac, ip }) => [mac, ip]))
  const what = `${reserved.size} reservations and ${leases.length} active leases`
  if (!force && reserved.size + leases.length > 0)
    throw new ApiError('DHCP_SCOPE_IN_USE', `Scope ${name} has ${what}; pass force=true to delete them with it.`)
  return {
    message: `Would delete scope ${name} with ${what}.`,
    affected: [
      ...[...reserved].map(([mac, ip]) => ({ kind: 'dhcp_reservation', id: mac, name: `${mac} ${ip}` })),
      ...leases.map(({ mac, ip }) => ({ kind: 'dhcp_lease', id: null, name: `${mac} ${ip}` })),
    ],
  }
}

/** The order first: what the server then lacks shows as drift. */
async function replace(
  { server, database }: DhcpDeps,
  scope: DhcpScope,
  description: string | undefined,
): Promise<void> {
  await saveScope(database.db, scope, { description })
  await server.updateScope(scope.name, scope)
}

function changing<T extends { message: string }>(
  deps: DhcpDeps,
  ctx: RequestContext,
  name: string,
  description: string,
  work: () => Promise<T>,
): Promise<T> {
  const about = { resource_type: 'DHCP_SCOPE', resource_uuid: name, tenant_id: null, description }
  return recordChange(deps, ctx, about, async (note) => {
    const answer = await deps.lock(work)
    note.description = answer.message
    return answer
  })
}
