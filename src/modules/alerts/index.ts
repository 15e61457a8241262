// Handlers of the alert area.
import type { alerts } from '#src/contract/alerts.ts'
import type { Handlers } from '#src/contract/route.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { ChangeDeps } from '#src/store/app-events.ts'
import { alertGet, alertIdGet, alertList, alertTypeList } from './alert-list.ts'
import { alertArchive } from './archive.ts'

interface AlertDeps extends ChangeDeps {
  cloudstack: CloudStack
}

export function alertHandlers(deps: AlertDeps): Handlers<typeof alerts.routes, RequestContext> {
  return {
    alertList: alertList(deps),
    alertGet: alertGet(deps),
    alertIdGet: alertIdGet(deps),
    alertArchive: alertArchive(deps),
    alertTypeList: alertTypeList(deps),
  }
}
