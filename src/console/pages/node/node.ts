// What every part of a node's page is given, and where a node has its page.
import type { NodeRecord } from '#src/contract/nodes/registry.ts'

export interface NodeProps {
  node: NodeRecord
}

export const hrefOfNode = (bmc_ip: string, path = ''): string =>
  `/nodes/${encodeURIComponent(bmc_ip)}${path === '' ? '' : `/${path}`}`
