// Handlers of the DHCP area.
import type { dhcp } from '#src/contract/ddi/dhcp.ts'
import type { Handlers } from '#src/contract/route.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { DhcpDeps } from './deps.ts'
import { dhcpLeaseConvert, dhcpLeaseGet, dhcpLeaseList } from './leases.ts'
import {
  dhcpReservationCreate,
  dhcpReservationDelete,
  dhcpReservationList,
  dhcpReservationUpdate,
} from './reservations.ts'
import {
  dhcpScopeCreate,
  dhcpScopeDelete,
  dhcpScopeGet,
  dhcpScopeList,
  dhcpScopeSwitch,
  dhcpScopeUpdate,
} from './scopes.ts'
import { dhcpScopeStatistics } from './statistics.ts'

export function dhcpHandlers(deps: DhcpDeps): Handlers<typeof dhcp.routes, RequestContext> {
  return {
    dhcpLeaseList: dhcpLeaseList(deps),
    dhcpLeaseGet: dhcpLeaseGet(deps),
    dhcpLeaseConvert: dhcpLeaseConvert(deps),
    dhcpReservationList: dhcpReservationList(deps),
    dhcpReservationCreate: dhcpReservationCreate(deps),
    dhcpReservationUpdate: dhcpReservationUpdate(deps),
    dhcpReservationDelete: dhcpReservationDelete(deps),
    dhcpScopeList: dhcpScopeList(deps),
    dhcpScopeCreate: dhcpScopeCreate(deps),
    dhcpScopeGet: dhcpScopeGet(deps),
    dhcpScopeUpdate: dhcpScopeUpdate(deps),
    dhcpScopeDelete: dhcpScopeDelete(deps),
    dhcpScopeDisable: dhcpScopeSwitch(deps, false),
    dhcpScopeEnable: dhcpScopeSwitch(deps, true),
    dhcpScopeStatistics: dhcpScopeStatistics(deps),
  }
}
