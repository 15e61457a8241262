// Addresses and names: DHCP, DNS, IPAM, public addresses.
import { publicIps } from '#src/contract/ddi/public-ips.ts'
import { bindJob } from '#src/jobs/define.ts'
import { type Module, type Parts, serve } from '../module.ts'
import { publicIpAcquireJob } from './public-ips-acquire.job.ts'
import { publicIpHandlers } from './public-ips.ts'

export function ddiModule(parts: Parts): Module {
  // Without a place for names of public addresses every name is unknown and none is published.
  const deps = { ...parts, dns: undefined }
  return { areas: [serve(publicIps, publicIpHandlers(deps))], jobs: [bindJob(publicIpAcquireJob, deps)] }
}
