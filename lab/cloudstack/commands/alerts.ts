/** Alerts: once archived they are never listed again. */
import { internal, invalid } from '../api-fault.ts'
import type { Call, Commands } from '../call.ts'
import type { Alert } from '../records.ts'
import { idTest, keywordTest, paged, pagedByLength, same } from '../scope.ts'
import { success, wireDate } from '../wire.ts'

export const alerts: Commands = {
  listAlerts: (call) => {
    const byId = idTest(call)
    const type = same(call, 'type')
    const name = same(call, 'name')
    const keyword = keywordTest(call)
    const found = call.state.tables.alerts.filter(
      (alert) =>
        !alert.archived &&
        byId(alert.id) &&
        type(String(alert.type)) &&
        name(alert.name) &&
        keyword(alert.name, alert.description),
    )
    found.sort((a, b) => b.sent - a.sent)
    return paged(call, found, (alert) => ({
      id: alert.id,
      type: alert.type,
      name: alert.name,
      description: alert.description,
      sent: wireDate(alert.sent),
    }))
  },
  archiveAlerts: (call) => {
    for (const alert of chosen(call)) call.state.tables.alerts.put({ ...alert, archived: true })
    return success()
  },
  listAlertTypes: (call) => pagedByLength(call, TYPES, ([alerttypeid, name]) => ({ alerttypeid, name })),
}

function chosen(call: Call): Alert[] {
  const { params, state } = call
  const ids = params.list('ids')
  const type = params.text('type')
  const from = params.date('startdate')
  const to = params.date('enddate')
  if (ids.length === 0 && type === null && to === null)
    throw invalid('either ids, type, startdate or enddate must be specified')
  if (ids.some((id) => state.tables.alerts.get(id)?.archived !== false))
    throw internal('Unable to archive Alerts, one or more parameters has invalid values')
  const wanted = new Set(ids)
  return state.tables.alerts.filter(
    (alert) =>
      !alert.archived &&
      (wanted.size === 0 || wanted.has(alert.id)) &&
      (type === null || String(alert.type) === type) &&
      (to === null || alert.sent <= to) &&
      (from === null || alert.sent >= from),
  )
}

/** Code 32 is used by three types upstream. */
const TYPES: [number, string][] = [
  [0, 'ALERT.MEMORY'],
  [1, 'ALERT.CPU'],
  [2, 'ALERT.STORAGE'],
  [3, 'ALERT.STORAGE.ALLOCATED'],
  [4, 'ALERT.NETWORK.PUBLICIP'],
  [5, 'ALERT.NETWORK.PRIVATEIP'],
  [6, 'ALERT.SECONDARY.STORAGE'],
  [7, 'ALERT.COMPUTE.HOST'],
  [8, 'ALERT.USERVM'],
  [9, 'ALERT.SERVICE.DOMAINROUTER'],
  [10, 'ALERT.SERVICE.CONSOLEPROXY'],
  [11, 'ALERT.NETWORK.ROUTING'],
  [12, 'ALERT.STORAGE.MISC'],
  [13, 'ALERT.USAGE'],
  [14, 'ALERT.MANAGEMENT'],
  [15, 'ALERT.NETWORK.DOMAINROUTERMIGRATE'],
  [16, 'ALERT.SERVICE.CONSOLEPROXYMIGRATE'],
  [17, 'ALERT.USERVM.MIGRATE'],
  [18, 'ALERT.NETWORK.VLAN'],
  [19, 'ALERT.SERVICE.SSVM'],
  [20, 'ALERT.USAGE.RESULT'],
  [21, 'ALERT.STORAGE.DELETE'],
  [22, 'ALERT.RESOURCE.COUNT'],
  [23, 'ALERT.USAGE.SANITY'],
  [24, 'ALERT.NETWORK.DIRECTPUBLICIP'],
  [25, 'ALERT.NETWORK.LOCALSTORAGE'],
  [26, 'ALERT.RESOURCE.LIMIT.EXCEEDED'],
  [27, 'ALERT.SYNC'],
  [28, 'ALERT.UPLOAD.FAILED'],
  [29, 'ALERT.OOBM.AUTHERROR'],
  [30, 'ALERT.HA.ACTION'],
  [31, 'ALERT.CA.CERT'],
  [32, 'ALERT.VM.SNAPSHOT'],
  [32, 'ALERT.VR.PUBLIC.IFACE.MTU'],
  [32, 'ALERT.VR.PRIVATE.IFACE.MTU'],
]
