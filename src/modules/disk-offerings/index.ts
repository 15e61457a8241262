// Handlers of the disk offering area.
import { diskOfferings } from '#src/contract/disk-offerings.ts'
import type { Handlers } from '#src/contract/route.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { type PlatformDeps, platformRows } from '../platform-rows.ts'
import { diskOfferingGet, diskOfferingGetByName, diskOfferingIdGet, diskOfferingList } from './offering-list.ts'
import { offeringRows } from './offering-rows.ts'

export function diskOfferingHandlers(deps: PlatformDeps): Handlers<typeof diskOfferings.routes, RequestContext> {
  const { cloudstack } = deps
  return {
    ...platformRows(diskOfferings, deps, offeringRows(cloudstack)),
    diskOfferingList: diskOfferingList(cloudstack),
    diskOfferingGet: diskOfferingGet(cloudstack),
    diskOfferingGetByName: diskOfferingGetByName(cloudstack),
    diskOfferingIdGet: diskOfferingIdGet(cloudstack),
  }
}
