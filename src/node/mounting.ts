// What a program mounts of the areas whose routes run on nodes. Free of the readers behind them, so that the control plane
// can mount the routes without loading what answers them.
import type { Area, Handlers, RouteSpec, Routes } from '#src/contract/route.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'

/** The routes of an area that run on a node; the others belong to the control plane alone. */
export type NodeRoutes<A extends Routes> = {
  [Op in keyof A as A[Op]['runs_on'] extends 'node' ? Op : never]: A[Op]
}

export type NodeHandlers<A extends Routes> = Handlers<NodeRoutes<A>, RequestContext>

export function nodeRoutesOf<A extends Routes>(area: Area<A>): Area<NodeRoutes<A>> {
  const own = Object.entries(area.routes).filter(([, route]: [string, RouteSpec]) => route.runs_on === 'node')
  // Exactly the routes that the type names were kept.
  return { ...area, routes: Object.fromEntries(own) as NodeRoutes<A> }
}

type Call = (input: unknown, ctx: unknown) => unknown

/** Handlers of an area's node routes that are looked up when they are called. */
export function delayedHandlers<A extends Routes>(
  area: Area<A>,
  open: () => Promise<NodeHandlers<A>>,
): NodeHandlers<A> {
  const entries = Object.keys(nodeRoutesOf(area).routes).map((operation) => {
    const call: Call = async (input, ctx) => {
      const handlers: Readonly<Record<string, unknown>> = await open()
      return (handlers[operation] as Call)(input, ctx)
    }
    return [operation, call]
  })
  // Each entry calls the handler of the same name with the same input.
  return Object.fromEntries(entries) as NodeHandlers<A>
}
