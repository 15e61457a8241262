// Disk offerings of the platform.
import { diskOfferings } from '#src/contract/disk-offerings.ts'
import { type Module, type Parts, serve } from '../module.ts'
import { platformRows } from '../platform-rows.ts'
import { diskOfferingGet, diskOfferingGetByName, diskOfferingIdGet, diskOfferingList } from './offering-list.ts'
import { offeringRows } from './offering-rows.ts'

export function diskOfferingsModule(parts: Parts): Module {
  const { cloudstack } = parts
  return {
    areas: [
      serve(diskOfferings, {
        ...platformRows(diskOfferings, parts, offeringRows(cloudstack)),
        diskOfferingList: diskOfferingList(cloudstack),
        diskOfferingGet: diskOfferingGet(cloudstack),
        diskOfferingGetByName: diskOfferingGetByName(cloudstack),
        diskOfferingIdGet: diskOfferingIdGet(cloudstack),
      }),
    ],
  }
}
