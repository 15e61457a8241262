// The areas of the API: what exists. The only re-export of the project.
import { appEvents } from './app-events.ts'
import { auth } from './auth.ts'
import { computeHooks } from './compute/hooks.ts'
import { vmMetrics } from './compute/metrics.ts'
import { vms } from './compute/vms.ts'
import { infrastructure } from './infrastructure.ts'
import { jobs } from './jobs.ts'
import { guestNetworks } from './network/guest-networks.ts'
import { nodeNics } from './nodes/nics.ts'
import { nodeRegistry } from './nodes/registry.ts'
import type { Area } from './route.ts'
import { service } from './service.ts'
import { benchmarks } from './storage/benchmark.ts'
import { hostStorage } from './storage/host.ts'

export const areas = [service, auth, appEvents, jobs, vms, vmMetrics, infrastructure, guestNetworks, computeHooks, nodeRegistry, nodeNics, hostStorage, benchmarks] as unknown as readonly Area[]
