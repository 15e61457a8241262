// Operations of the MTU areas that run on a node.
import type { Handlers } from '#src/contract/route.ts'
import type { mtu } from '#src/contract/network/mtu.ts'
import type { L2Probe } from './l2-probe.ts'
import type { NodeApply } from './node-apply.ts'

/** The part of a request's context that these operations read. */
export interface MtuContext {
  readonly signal: AbortSignal
  readonly dry_run: boolean
}

export type MtuNodeHandlers = Pick<Handlers<(typeof mtu)['routes'], MtuContext>, 'mtuL2Probe' | 'mtuNodeApply'>

export function mtuNodeHandlers(deps: { apply: NodeApply; probe: L2Probe }): MtuNodeHandlers {
  return {
    mtuL2Probe: ({ body }, { signal }) => deps.probe.run(body, signal),
    mtuNodeApply: ({ body }, { dry_run }) => deps.apply.apply(body, dry_run),
  }
}
