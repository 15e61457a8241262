// Changes of zones; what the server in use cannot do is refused before anything changes.
import { isIP } from 'node:net'
import type { dns } from '#src/contract/ddi/dns.ts'
import type { Input } from '#src/contract/route.ts'
import type { ZoneState } from '#src/drivers/ddi/dns-server.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { recordChange } from '#src/store/app-events.ts'
import { forgetReservationZone, renameReservationZone } from '#src/store/dhcp-orders.ts'
import { countTransfer, forgetZone, renameZoneNotes, saveZone, type ZoneWrite } from '#src/store/dns-orders.ts'
import { type Effect, planOf } from '../../operation.ts'
import type { DnsDeps } from './deps.ts'
import { nameOf, reverseZones } from './names.ts'
import { requireHead, requireZone } from './reading.ts'
import { contentOf } from './record-rules.ts'

type In<Op extends keyof typeof dns.routes> = Input<(typeof dns.routes)[Op]>

export function dnsZoneCreate(deps: DnsDeps) {
  return ({ body }: In<'dnsZoneCreate'>, ctx: RequestContext) => {
    const name = nameOf(body.name)
    const { type, masters = [], reverse_zone_cidr, create_reverse_zone = false, network_id = null, comment = '' } = body
    checkMasters(masters, type === 'Secondary', 'body.masters')
    if (create_reverse_zone && reverse_zone_cidr === undefined)
      throw invalidField('body.reverse_zone_cidr', 'is needed with create_reverse_zone')
    if (create_reverse_zone && type === 'Secondary')
      throw invalidField('body.create_reverse_zone', 'reverse zones are made beside a Primary zone')
    const reverse = reverse_zone_cidr === undefined ? [] : reverseZones(reverse_zone_cidr, 'body.reverse_zone_cidr')
    return changing(deps, ctx, name, `Creating zone ${name}.`, async () => {
      const { server, database } = deps
      if ((await server.zoneHead(name)) !== undefined)
        throw new ApiError('DNS_ZONE_EXISTS', `Zone ${name} already exists.`)
      const made: string[] = []
      const settings = { notify: body.notify_enabled ?? true, transfer: body.transfer_enabled ?? false }
      try {
        await server.createZone({ name, type, masters, ...settings })
        made.push(name)
        for (const zone of create_reverse_zone ? reverse : []) {
          if ((await server.zoneHead(zone)) !== undefined) continue
          await server.createZone({ name: zone, type: 'Primary', ...settings })
          made.push(zone)
        }
      } catch (error) {
        for (const zone of made.toReversed()) await server.deleteZone(zone)
        throw error
      }
      for (const zone of made) await saveZone(database.db, zone, { network_id, ...(zone === name ? { comment } : {}) })
      return {
        reverse_zone_cidr: reverse_zone_cidr ?? null,
        reverse_zone_requested: create_reverse_zone,
        type,
        zone_name: name,
        reverse_zones: made.slice(1),
        success: true,
        message: `Zone ${name} is made${made.length > 1 ? `, with ${made.slice(1).join(', ')}` : ''}.`,
      }
    })
  }
}

export function dnsZoneUpdate(deps: DnsDeps) {
  return ({ params, body }: In<'dnsZoneUpdate'>, ctx: RequestContext) => {
    const name = nameOf(params.zone_name)
    if (nameOf(body.name) !== name)
      throw invalidField('body.name', `${body.name} differs from ${name} of the path; use new_name`)
    return changing(deps, ctx, name, `Changing zone ${name}.`, async () => {
      const { server, database } = deps
      const zone = await requireZone(deps, name)
      const new_name = body.new_name === undefined ? name : nameOf(body.new_name)
      await checkUpdate(deps, zone, body, new_name)
      if (body.type !== undefined && body.type !== zone.type)
        await server.convertZone(name, body.type, mastersAfter(zone, body))
      // First, because only the server knows every name that it has taken.
      if (new_name !== name) await server.renameZone(name, new_name)
      try {
        await server.changeZone(new_name, {
          ...(body.masters === undefined ? {} : { masters: body.masters }),
          ...(body.notify_enabled === undefined ? {} : { notify: body.notify_enabled }),
          ...(body.transfer_enabled === undefined ? {} : { transfer: body.transfer_enabled }),
          ...(body.status === undefined ? {} : { enabled: body.status === 'active' }),
        })
      } catch (error) {
        if (new_name !== name) await server.renameZone(new_name, name)
        throw error
      }
      if (new_name !== name)
        await database.transact(async (trx) => {
          await renameZoneNotes(trx, name, new_name)
          await renameReservationZone(trx, name, new_name)
        })
      const note: ZoneWrite = {
        ...(body.comment === undefined ? {} : { comment: body.comment }),
        ...(body.status === undefined ? {} : { status: body.status }),
      }
      await saveZone(database.db, new_name, note)
      const word = body.status === undefined ? 'changed' : body.status
      return {
        success: true,
        message: `Zone ${new_name} is ${new_name === name ? word : `${word}, renamed from ${name}`}.`,
      }
    })
  }
}

async function checkUpdate(
  { server }: DnsDeps,
  zone: ZoneState,
  body: In<'dnsZoneUpdate'>['body'],
  new_name: string,
): Promise<void> {
  const { limits } = server
  const type = body.type ?? zone.type
  if (type !== zone.type && !limits.conversions[zone.type].includes(type))
    throw unsupported(`turn a ${zone.type} zone into a ${type} zone`)
  if (body.masters !== undefined || type !== zone.type)
    checkMasters(mastersAfter(zone, body), type === 'Secondary', 'body.masters')
  if (body.status !== undefined && body.status !== 'active' && !limits.pausable.includes(type))
    throw unsupported(`pause a ${type} zone`)
  if (new_name === zone.name) return
  if (!limits.renamable.includes(zone.type)) throw unsupported(`rename a ${zone.type} zone`)
  if ((await server.zoneHead(new_name)) !== undefined)
    throw new ApiError('DNS_ZONE_EXISTS', `Zone ${new_name} already exists.`)
}

/** A zone that becomes another kind than a copy leaves its masters behind. */
function mastersAfter(zone: ZoneState, body: In<'dnsZoneUpdate'>['body']): readonly string[] {
  return body.masters ?? ((body.type ?? zone.type) === 'Secondary' ? zone.masters : [])
}

function unsupported(what: string): ApiError {
  return new ApiError('DDI_UNSUPPORTED', `The DNS server in use cannot ${what}.`)
}

function checkMasters(masters: readonly string[], needed: boolean, path: string): void {
  if (needed && masters.length === 0) throw invalidField(path, 'a Secondary zone needs the address of a master')
  if (!needed && masters.length > 0) throw invalidField(path, 'only a Secondary zone has masters')
  const bad = masters.findIndex((master) => !isMaster(master))
  if (bad >= 0)
    throw invalidField(
      `${path}/${bad}`,
      `${masters[bad] ?? ''} is no address; a port follows after a colon, IPv6 in brackets`,
    )
}

/** 192.0.2.1, 192.0.2.1:5300, 2001:db8::1, [2001:db8::1]:5300. */
function isMaster(text: string): boolean {
  if (isIP(text) !== 0) return true
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([0-9.]+)):(\d{1,5})$/.exec(text) ?? []
  const port_number = Number(port)
  return (
    isIP(bracketed ?? plain ?? '') === (bracketed === undefined ? 4 : 6) && port_number > 0 && port_number <= 65_535
  )
}

export function dnsZoneDelete(deps: DnsDeps) {
  return async ({ params, query }: In<'dnsZoneDelete'>, ctx: RequestContext) => {
    const name = nameOf(params.zone_name)
    if (ctx.dry_run) return planOf({ would: () => effectOfDeletion(deps, name) })
    if (nameOf(query.confirm ?? '') !== name)
      throw invalidField('query.confirm', `must be ${name}: everything in the zone is lost`)
    return changing(deps, ctx, name, `Deleting zone ${name}.`, async () => {
      await requireHead(deps, name)
      await deps.server.deleteZone(name)
      await deps.database.transact(async (trx) => {
        await forgetZone(trx, name)
        await forgetReservationZone(trx, name)
      })
      return { success: true, message: `Zone ${name} is deleted.` }
    })
  }
}

const MOST_NAMED = 100

async function effectOfDeletion(deps: DnsDeps, name: string): Promise<Effect> {
  await requireHead(deps, name)
  const records = (await deps.server.records(name)).filter(({ type }) => type !== 'SOA' && type !== 'NS')
  const count = `${records.length} ${records.length === 1 ? 'record' : 'records'}`
  return {
    message: `Would delete zone ${name} with ${count}.`,
    affected: records
      .slice(0, MOST_NAMED)
      .map((record) => ({ kind: 'dns_record', id: null, name: `${record.fqdn} ${record.type} ${contentOf(record)}` })),
  }
}

export function dnsZoneTransfer(deps: DnsDeps) {
  return ({ params }: In<'dnsZoneTransfer'>, ctx: RequestContext) =>
    changing(deps, ctx, nameOf(params.zone_name), `Copying zone ${params.zone_name}.`, async () => {
      const zone = await requireZone(deps, params.zone_name)
      if (zone.type !== 'Secondary')
        throw unsupported(`copy ${zone.name}: it is a ${zone.type} zone and has no masters`)
      await deps.server.transferZone(zone.name)
      await countTransfer(deps.database.db, zone.name)
      return { success: true, message: `Zone ${zone.name} is being copied from ${zone.masters.join(', ')}.` }
    })
}

export function dnsZoneNotify(deps: DnsDeps) {
  return ({ params }: In<'dnsZoneNotify'>, ctx: RequestContext) =>
    changing(deps, ctx, nameOf(params.zone_name), `Notifying the secondaries of ${params.zone_name}.`, async () => {
      const zone = await requireZone(deps, params.zone_name)
      if (zone.type !== 'Primary') throw unsupported(`notify for ${zone.name}: it is a ${zone.type} zone`)
      await deps.server.notifyZone(zone.name)
      return { success: true, message: `The secondaries of ${zone.name} are told.` }
    })
}

function changing<T extends { message: string }>(
  deps: DnsDeps,
  ctx: RequestContext,
  name: string,
  description: string,
  work: () => Promise<T>,
): Promise<T> {
  const about = { resource_type: 'DNS_ZONE', resource_uuid: name, tenant_id: null, description }
  return recordChange(deps, ctx, about, async (note) => {
    const answer = await deps.lock(work)
    deps.contents.forget(name)
    note.description = answer.message
    return answer
  })
}
