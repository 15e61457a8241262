// Handlers of the virtual machine areas.
import type { computeHooks } from '#src/contract/compute/hooks.ts'
import type { vmMetrics } from '#src/contract/compute/metrics.ts'
import { vms } from '#src/contract/compute/vms.ts'
import type { infrastructure } from '#src/contract/infrastructure.ts'
import type { Handlers } from '#src/contract/route.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { type PlatformDeps, platformRows } from '../platform-rows.ts'
import { computeHookReceive, type HookDeps } from './hook.ts'
import { clusterList, hostList, serviceOfferingList, templateList, zoneList } from './infrastructure.ts'
import { vmMetricsAggregate } from './metrics.ts'
import { provisionVm } from './provision.ts'
import { vmUsageGet, vmUsageList } from './usage.ts'
import { isoList, vmGet, vmGetByName, vmIdGet, vmList } from './vm-list.ts'
import { vmRows } from './vm-rows.ts'

export type ComputeDeps = PlatformDeps

export function computeHandlers(deps: ComputeDeps): Handlers<typeof vms.routes, RequestContext> {
  const { cloudstack } = deps
  return {
    ...platformRows(vms, deps, vmRows(cloudstack)),
    vmProvision: provisionVm(deps),
    vmList: vmList(cloudstack),
    vmGet: vmGet(cloudstack),
    vmGetByName: vmGetByName(cloudstack),
    vmIdGet: vmIdGet(cloudstack),
    isoList: isoList(cloudstack),
  }
}

export function vmMetricsHandlers({
  cloudstack,
}: Pick<ComputeDeps, 'cloudstack'>): Handlers<typeof vmMetrics.routes, RequestContext> {
  return {
    vmMetricsAggregate: vmMetricsAggregate(cloudstack),
    vmUsageList: vmUsageList(cloudstack),
    vmUsageGet: vmUsageGet(cloudstack),
  }
}

export function infrastructureHandlers({
  cloudstack,
}: Pick<ComputeDeps, 'cloudstack'>): Handlers<typeof infrastructure.routes, RequestContext> {
  return {
    zoneList: zoneList(cloudstack),
    clusterList: clusterList(cloudstack),
    hostList: hostList(cloudstack),
    templateList: templateList(cloudstack),
    serviceOfferingList: serviceOfferingList(cloudstack),
  }
}

export function computeHookHandlers(deps: HookDeps): Handlers<typeof computeHooks.routes, RequestContext> {
  return { computeHookReceive: computeHookReceive(deps) }
}
