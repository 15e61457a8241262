// How a node is known to the distributed store.

/** By a number that no other node ever gets, so that what is removed later is certainly its own. */
export function storeClientOf({ node_id }: { node_id: number }): string {
  return `groundplane-node-${node_id}`
}
