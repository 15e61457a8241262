// Handlers of the DNS area.
import type { dns } from '#src/contract/ddi/dns.ts'
import type { Handlers } from '#src/contract/route.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { DnsDeps } from './deps.ts'
import {
  dnsRecordBulk,
  dnsRecordCreate,
  dnsRecordDelete,
  dnsRecordGet,
  dnsRecordList,
  dnsRecordUpdate,
} from './records.ts'
import { dnsZoneCreate, dnsZoneDelete, dnsZoneNotify, dnsZoneTransfer, dnsZoneUpdate } from './zone-changes.ts'
import { dnsZoneExport, dnsZoneImport } from './zone-transfer.ts'
import { dnsZoneGet, dnsZoneList } from './zones.ts'

export function dnsHandlers(deps: DnsDeps): Handlers<typeof dns.routes, RequestContext> {
  return {
    dnsRecordList: dnsRecordList(deps),
    dnsRecordCreate: dnsRecordCreate(deps),
    dnsRecordBulk: dnsRecordBulk(deps),
    dnsRecordGet: dnsRecordGet(deps),
    dnsRecordUpdate: dnsRecordUpdate(deps),
    dnsRecordDelete: dnsRecordDelete(deps),
    dnsZoneList: dnsZoneList(deps),
    dnsZoneCreate: dnsZoneCreate(deps),
    dnsZoneGet: dnsZoneGet(deps),
    dnsZoneUpdate: dnsZoneUpdate(deps),
    dnsZoneDelete: dnsZoneDelete(deps),
    dnsZoneTransfer: dnsZoneTransfer(deps),
    dnsZoneNotify: dnsZoneNotify(deps),
    dnsZoneExport: dnsZoneExport(deps),
    dnsZoneImport: dnsZoneImport(deps),
  }
}
