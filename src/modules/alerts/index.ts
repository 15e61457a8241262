// Alerts of the platform, and those that were archived.
import { alerts } from '#src/contract/alerts.ts'
import { type Module, type Parts, serve } from '../module.ts'
import { alertGet, alertIdGet, alertList, alertTypeList } from './alert-list.ts'
import { alertArchive } from './archive.ts'

export function alertsModule(parts: Parts): Module {
  return {
    areas: [
      serve(alerts, {
        alertList: alertList(parts),
        alertGet: alertGet(parts),
        alertIdGet: alertIdGet(parts),
        alertArchive: alertArchive(parts),
        alertTypeList: alertTypeList(parts),
      }),
    ],
  }
}
