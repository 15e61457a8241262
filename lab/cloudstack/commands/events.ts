/** Action events: reading, archiving, deleting, and the names of their types. */
import { internal, invalid } from '../api-fault.ts'
import type { Call, Commands } from '../call.ts'
import { ownerFields } from '../owner-view.ts'
import type { LabEvent } from '../records.ts'
import type { Json } from '../row.ts'
import { idTest, keywordTest, paged, pagedByLength, same, visible } from '../scope.ts'
import { list, success, wireDate } from '../wire.ts'

const STATES = new Set(['Created', 'Scheduled', 'Started', 'Completed'])

export const events: Commands = {
  listEvents: (call) => {
    const { params, state } = call
    const wanted = params.text('state')
    if (wanted !== null && !STATES.has(wanted)) throw invalid(`Invalid state specified: ${wanted}`)
    const resourceid = params.text('resourceid')
    const resourcetype = params.text('resourcetype')
    if (resourceid !== null && resourcetype === null)
      throw invalid('resourceid parameter must be used with resourcetype parameter')
    if (resourceid !== null && !state.known(resourceid)) throw invalid('Invalid resourceid')
    if (resourcetype !== null && !/^[A-Z][a-z]{3}/.test(resourcetype)) throw invalid('Invalid resourcetype')
    const all = [...state.tables.events.values()].reverse()
    const reply = paged(call, all.filter(eventTest(call)), (event) => eventView(call, event))
    // Past the end this list has not even a count.
    return reply.kind === 'list' && reply.rows.length === 0 ? list([], 0) : reply
  },
  archiveEvents: (call) => {
    for (const event of chosen(call)) call.state.tables.events.put({ ...event, archived: true })
    return success()
  },
  listEventTypes: (call) => pagedByLength(call, eventTypes(), (name) => ({ name })),
}

/** startid is OR-ed into the query upstream: its matches come whatever the other filters say. */
function eventTest(call: Call): (event: LabEvent) => boolean {
  const { params, state } = call
  const from = params.date('startdate')
  const to = params.date('enddate')
  const archived = params.bool('archived') ?? false
  const startid = params.text('startid')
  const root =
    startid === null
      ? null
      : (state.tables.events.get(startid) ?? state.tables.events.find((event) => String(event.number) === startid))
  const tests = [same(call, 'type'), same(call, 'level'), same(call, 'state'), same(call, 'resourceid')] as const
  const resourcetype = params.text('resourcetype')?.toLowerCase() ?? null
  const keyword = keywordTest(call)
  const byId = idTest(call)
  const mine = visible(call)
  const bare = !['type', 'level', 'state', 'resourceid', 'id', 'startdate', 'enddate', 'keyword'].some(
    (name) => params.text(name) !== null,
  )
  return (event) => {
    if (!mine(event)) return false
    if (startid !== null && root !== null && (event.id === root.id || event.parentid === root.id)) return true
    if (startid !== null && bare) return false
    return (
      byId(event.id) &&
      tests[0](event.type) &&
      tests[1](event.level) &&
      tests[2](event.state) &&
      tests[3](event.resourceid) &&
      event.archived === archived &&
      (resourcetype === null || event.resourcetype?.toLowerCase() === resourcetype) &&
      (from === null || event.created >= from) &&
      (to === null || event.created <= to) &&
      keyword(event.type, event.description, event.level)
    )
  }
}

function chosen(call: Call): LabEvent[] {
  const { params, state } = call
  const ids = params.list('ids')
  const type = params.text('type')
  const to = params.date('enddate')
  const from = params.date('startdate')
  if (ids.length === 0 && type === null && to === null) throw invalid('either ids, type or enddate must be specified')
  const wanted = new Set(ids)
  if (ids.some((id) => state.tables.events.get(id)?.archived !== false))
    throw internal('Unable to archive Events, one or more parameters has invalid values')
  return state.tables.events.filter(
    (event) =>
      (wanted.size === 0 || wanted.has(event.id)) &&
      (type === null || event.type === type) &&
      (to === null || event.created <= to) &&
      (from === null || event.created >= from),
  )
}

function eventView(call: Call, event: LabEvent): Record<string, Json> {
  return {
    id: event.id,
    username: call.state.tables.users.get(event.userid)?.username ?? null,
    type: event.type,
    level: event.level,
    description: event.description,
    ...ownerFields(call.state, event),
    resourceid: event.resourceid,
    resourcetype: event.resourcetype,
    resourcename: event.resourcename,
    created: wireDate(event.created),
    state: event.state,
    parentid: event.parentid,
    archived: event.archived,
  }
}

/** The names that matter to the product and their families; upstream has about 530. */
function eventTypes(): string[] {
  const families: Record<string, string> = {
    VM: 'CREATE DESTROY EXPUNGE START STOP REBOOT UPDATE UPGRADE DYNAMIC.SCALE MIGRATE MOVE RESTORE RECOVER IMPORT UNMANAGE RESETPASSWORD RESETSSHKEY RESETUSERDATA AG.UPDATE LEASE.EXPIRED LEASE.DISABLED',
    NIC: 'CREATE DELETE UPDATE SECONDARY.IP.CONFIGURE SECONDARY.IP.UNCONFIGURE DETAIL.ADD DETAIL.REMOVE',
    VOLUME:
      'CREATE DELETE ATTACH DETACH RESIZE UPLOAD MIGRATE DESTROY RECOVER CHANGE.DISK.OFFERING DETAIL.UPDATE DETAIL.ADD DETAIL.REMOVE',
    ISO: 'CREATE DELETE COPY ATTACH DETACH EXTRACT UPDATE',
    TEMPLATE: 'CREATE DELETE UPDATE COPY DOWNLOAD.SUCCESS DOWNLOAD.FAILED EXTRACT',
    VMSNAPSHOT: 'CREATE DELETE REVERTTO',
    SNAPSHOT: 'CREATE DELETE REVERT COPY ON_PRIMARY OFF_PRIMARY',
    BACKUP: 'CREATE DELETE RESTORE OFFERING.ASSIGN OFFERING.REMOVE',
    NETWORK: 'CREATE DELETE UPDATE RESTART OFFERING.CREATE OFFERING.DELETE OFFERING.EDIT',
    NET: 'IPASSIGN IPRELEASE RULEADD RULEDELETE RULEMODIFY IPRESERVE',
    FIREWALL: 'OPEN CLOSE UPDATE EGRESS.OPEN EGRESS.CLOSE EGRESS.UPDATE',
    STATICNAT: 'ENABLE DISABLE',
    DOMAIN: 'CREATE DELETE UPDATE',
    ACCOUNT: 'CREATE DELETE ENABLE DISABLE UPDATE',
    USER: 'CREATE DELETE LOGIN LOGOUT ENABLE DISABLE UPDATE LOCK',
    'VLAN.IP': 'RANGE.CREATE RANGE.DELETE RANGE.DEDICATE RANGE.RELEASE',
    HOST: 'DELETE RECONNECT',
    MAINT: 'PREPARE CANCEL',
    ALERT: 'ARCHIVE DELETE',
    CONFIGURATION: 'VALUE.EDIT',
    'SERVICE.OFFERING': 'CREATE DELETE EDIT',
    'DISK.OFFERING': 'CREATE DELETE EDIT',
    'GPU.CARD': 'CREATE EDIT DELETE',
    'VGPU.PROFILE': 'CREATE EDIT DELETE',
    'GPU.DEVICE': 'CREATE EDIT DELETE MANAGE UNMANAGE',
    WEBHOOK: 'CREATE DELETE UPDATE',
    AG: 'CREATE DELETE ASSIGN REMOVE',
    'SERVICE.PROVIDER': 'CREATE DELETE UPDATE',
    PHYSICAL: 'NETWORK.CREATE NETWORK.DELETE NETWORK.UPDATE',
    VPC: 'CREATE DELETE UPDATE RESTART',
    LB: 'CREATE DELETE UPDATE ASSIGN.TO.RULE REMOVE.FROM.RULE',
    ROUTER: 'CREATE DESTROY START STOP REBOOT HEALTH.CHECKS',
    PROJECT: 'CREATE ACTIVATE SUSPEND DELETE UPDATE',
  }
  return Object.entries(families).flatMap(([family, names]) => names.split(' ').map((name) => `${family}.${name}`))
}
