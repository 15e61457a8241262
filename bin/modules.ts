// The modules of the control plane, and how they are mounted: every route of the contract has exactly one handler, or the start
// fails.
import { areas } from '#src/contract/index.ts'
import type { Area } from '#src/contract/route.ts'
import type { Engine } from '#src/jobs/engine.ts'
import { mountArea, type MountServices } from '#src/kernel/http/mount.ts'
import type { Server } from '#src/kernel/http/serve.ts'
import { alertsModule } from '#src/modules/alerts/index.ts'
import { authModule } from '#src/modules/auth/index.ts'
import { camModule } from '#src/modules/cam/index.ts'
import { bmcModule } from '#src/modules/bmc/index.ts'
import { computeModule } from '#src/modules/compute/index.ts'
import { consoleModule } from '#src/modules/console/index.ts'
import { ddiModule } from '#src/modules/ddi/index.ts'
import { discoveryModule } from '#src/modules/discovery/index.ts'
import { diskOfferingsModule } from '#src/modules/disk-offerings/index.ts'
import { eventsModule } from '#src/modules/events/index.ts'
import { gpuModule } from '#src/modules/gpu/index.ts'
import { haModule } from '#src/modules/ha/index.ts'
import { jobsModule } from '#src/modules/jobs/index.ts'
import { lifecycleModule } from '#src/modules/lifecycle/index.ts'
import { kvmModule } from '#src/modules/kvm/index.ts'
import type { AnyHandlers, Module, Parts, ServedArea, Watcher } from '#src/modules/module.ts'
import { networkModule } from '#src/modules/network/index.ts'
import { nodesModule } from '#src/modules/nodes/index.ts'
import { searchModule } from '#src/modules/search/index.ts'
import { serviceModule } from '#src/modules/service/index.ts'
import { tenantsModule } from '#src/modules/tenants/index.ts'
import { ownNodeHandlers } from './own-node.ts'

const MODULES: readonly ((parts: Parts) => Module)[] = [
  serviceModule,
  (parts) => consoleModule(parts, async () => (await import('../cli/command-shapes.ts')).commandShapes()),
  authModule,
  eventsModule,
  jobsModule,
  computeModule,
  tenantsModule,
  networkModule,
  ddiModule,
  gpuModule,
  diskOfferingsModule,
  discoveryModule,
  alertsModule,
  nodesModule,
  lifecycleModule,
  camModule,
  bmcModule,
  haModule,
  kvmModule,
]

/** Mounts what every module declares. Answers what they do in the background, and how peers are served by another server. */
export function mountModules(
  server: Server,
  services: MountServices,
  parts: Parts & { jobs: Engine },
): { watchers: Watcher[]; mountForPeers: (peer_server: Server) => void } {
  const found = MODULES.map((module) => module(parts))
  const modules = [
    ...found,
    searchModule(
      parts.database,
      found.flatMap(({ search = [] }) => search),
    ),
  ]
  for (const job of modules.flatMap(({ jobs = [] }) => jobs)) parts.jobs.register(job)
  const served = assemble(areas, modules, ownNodeHandlers(parts.own_node))
  for (const { area, handlers } of served) mountArea(server, area, handlers, services)
  return {
    watchers: modules.flatMap(({ watchers = [] }) => watchers),
    mountForPeers(peer_server) {
      for (const { area, handlers } of served) mountArea(peer_server, insideOf(area), handlers, services)
    },
  }
}

/** What nodes of the cluster call each other for. */
function insideOf(area: Area): Area {
  return { ...area, routes: Object.fromEntries(Object.entries(area.routes).filter(([, route]) => route.inside_only)) }
}

/** Every area of the contract with the handlers of all its routes. Throws for every mistake of the declarations at once. */
export function assemble(
  contract: readonly Area[],
  modules: readonly Pick<Module, 'areas'>[],
  on_node: AnyHandlers,
): ServedArea[] {
  const served = modules.flatMap((module) => module.areas)
  const problems = [...strangers(contract, served), ...contract.flatMap((area) => problemsOf(area, served, on_node))]
  if (problems.length > 0) throw new Error(`The modules do not serve the contract: ${problems.join('; ')}.`)
  return contract.map((area) => {
    const own = served.find((one) => one.area === area)?.handlers
    return { area, handlers: { ...on_node, ...own } }
  })
}

function strangers(contract: readonly Area[], served: readonly ServedArea[]): string[] {
  return served
    .filter(({ area }) => !contract.includes(area))
    .map(({ area }) => `a module serves the area ${area.name}, which src/contract/index.ts does not list`)
}

function problemsOf(area: Area, served: readonly ServedArea[], on_node: AnyHandlers): string[] {
  const mine = served.filter((one) => one.area === area)
  if (mine.length > 1) return [`${mine.length} modules serve the area ${area.name}`]
  const names = Object.keys(area.routes)
  const local = names.filter((name) => area.routes[name]?.runs_on === 'node')
  const control = names.filter((name) => !local.includes(name))
  const [one] = mine
  if (one === undefined && control.length > 0) return [`no module of bin/modules.ts serves the area ${area.name}`]
  const handled = Object.keys(one?.handlers ?? {})
  return [
    ...control.filter((name) => !handled.includes(name)).map((name) => `${name} of ${area.name} has no handler`),
    ...local
      .filter((name) => !(name in on_node))
      .map((name) => `${name} of ${area.name} runs on nodes, which have no handler`),
    ...handled
      .filter((name) => !control.includes(name))
      .map((name) => `the handler ${name} of ${area.name} is of no route that runs on the control plane`),
  ]
}
