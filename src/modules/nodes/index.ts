// The registry of nodes, their enrolment, and their NICs while they are configured.
import { nodeNics } from '#src/contract/nodes/nics.ts'
import { nodeRegistry } from '#src/contract/nodes/registry.ts'
import { type Module, type Parts, serve } from '../module.ts'
import { tableSource } from '../search-source.ts'
import { createLiveness } from './liveness.ts'
import { nodeNicHandlers } from './nics.ts'
import { registryHandlers } from './registry.ts'

export function nodesModule(parts: Parts): Module {
  const deps = { ...parts, ...parts.config.nodes }
  return {
    areas: [serve(nodeRegistry, registryHandlers(deps)), serve(nodeNics, nodeNicHandlers(deps))],
    watchers: [createLiveness(deps)],
    search: [tableSource(parts.database, 'node', nodeRegistry, 'nodeGet', (bmcIP) => ({ params: { bmcIP } }))],
  }
}
