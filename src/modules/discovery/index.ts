// Handlers of the discovery area.
import type { discovery } from '#src/contract/discovery.ts'
import type { Handlers } from '#src/contract/route.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { discoveryApiList } from './apis.ts'
import { discoveryCapabilityGet, discoveryCapacityList } from './capacity.ts'
import { discoveryAsyncJobGet, discoveryAsyncJobList } from './platform-jobs.ts'

export function discoveryHandlers({
  cloudstack,
}: {
  cloudstack: CloudStack
}): Handlers<typeof discovery.routes, RequestContext> {
  return {
    discoveryApiList: discoveryApiList(cloudstack),
    discoveryAsyncJobList: discoveryAsyncJobList(cloudstack),
    discoveryAsyncJobGet: discoveryAsyncJobGet(cloudstack),
    discoveryCapabilityGet: discoveryCapabilityGet(cloudstack),
    discoveryCapacityList: discoveryCapacityList(cloudstack),
  }
}
