// Keyset pages over the nodes of the registry.
import type { NodeRow } from '#src/store/nodes.ts'

const PAGE_SIZE = 50

/** What a page says about itself; the rows are in the order of their node_id. */
export function pageOfNodes<T extends { row: NodeRow }>(
  all: readonly T[],
  body: { after_id?: number; page_size?: number } | undefined,
): { page: T[]; has_more: boolean; next_id: number; page_size: number } {
  const page_size = body?.page_size ?? PAGE_SIZE
  const rest = all.filter(({ row }) => row.node_id > (body?.after_id ?? 0))
  const page = rest.slice(0, page_size)
  const has_more = rest.length > page_size
  return { page, has_more, next_id: has_more ? (page.at(-1)?.row.node_id ?? 0) : 0, page_size }
}

/** With an address and a full name: only such nodes are asked. */
export function isConfigured(row: NodeRow): boolean {
  return row.node_ip !== null && row.fqdn !== null
}

/** What people call the node. */
export function nodeName(row: NodeRow): string {
  return row.fqdn ?? row.node_ip ?? row.bmc_ip
}
