// What a node is to the overlay fabric, told from the sessions of all routers: a leaf, or a route reflector that others need.

export interface Router {
  name: string
  /** Its addresses and router id: what others call it. */
  addresses: ReadonlySet<string>
  /** Peers that its sessions are established with. */
  peers: readonly string[]
}

/**
 * `leaf`: all others reach each other without it. `reflector`: some of them need it, but have another one in common.
 * `last_reflector`: some would lose sight of each other.
 */
export type FabricRole = 'none' | 'leaf' | 'reflector' | 'last_reflector'

export function fabricRole(self: Router, others: readonly Router[]): FabricRole {
  const mine = (peer: string): boolean => self.addresses.has(peer) || peer === self.name
  // A router with more sessions than this one is no client of it, but rather the other way round.
  const clients = others.filter(({ peers }) => peers.some(mine) && peers.length <= self.peers.length)
  if (self.peers.length === 0 && !others.some(({ peers }) => peers.some(mine))) return 'none'
  let role: FabricRole = 'leaf'
  for (const [index, one] of clients.entries()) {
    for (const other of clients.slice(index + 1)) {
      if (isPeer(one, other) || isPeer(other, one)) continue
      const common = one.peers.some((peer) => !mine(peer) && other.peers.includes(peer))
      if (!common) return 'last_reflector'
      role = 'reflector'
    }
  }
  return role
}

function isPeer(one: Router, other: Router): boolean {
  return one.peers.some((peer) => other.addresses.has(peer) || peer === other.name)
}
