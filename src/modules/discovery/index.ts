// What the platform can do, how much room it has, and its own jobs.
import { discovery } from '#src/contract/discovery.ts'
import { type Module, type Parts, serve } from '../module.ts'
import { discoveryApiList } from './apis.ts'
import { discoveryCapabilityGet, discoveryCapacityList } from './capacity.ts'
import { discoveryAsyncJobGet, discoveryAsyncJobList } from './platform-jobs.ts'

export function discoveryModule({ cloudstack }: Parts): Module {
  return {
    areas: [
      serve(discovery, {
        discoveryApiList: discoveryApiList(cloudstack),
        discoveryAsyncJobList: discoveryAsyncJobList(cloudstack),
        discoveryAsyncJobGet: discoveryAsyncJobGet(cloudstack),
        discoveryCapabilityGet: discoveryCapabilityGet(cloudstack),
        discoveryCapacityList: discoveryCapacityList(cloudstack),
      }),
    ],
  }
}
