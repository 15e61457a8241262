// Collects an inventory, stores it, and says what differs from the one before.
import type { BmcInventory, bmcMachine } from '#src/contract/bmc/machine.ts'
import type { Input } from '#src/contract/route.ts'
import { readInventory } from '#src/drivers/redfish/inventory.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { addInventory } from '#src/store/bmcs.ts'
import { recordOperation } from '../operation.ts'
import { type BmcDeps, orderOf } from './bmc-call.ts'

type In = Input<(typeof bmcMachine)['routes']['bmcInventoryCollect']>
type Collected = Omit<BmcInventory, 'changes'>

export function bmcInventoryCollect(deps: BmcDeps) {
  return async ({ body }: In, ctx: RequestContext): Promise<BmcInventory> => {
    const order = orderOf(body, ctx)
    const bmc = await deps.bmcs.open(order)
    const subject = {
      resource_id: order.bmc_ip,
      description: `Collecting the inventory of ${order.bmc_ip}.`,
      done: `The inventory of ${order.bmc_ip} is collected.`,
    }
    return recordOperation(deps, ctx, 'BMC', subject, async () => {
      bmc.forgetGraph()
      const inventory = await readInventory(bmc, ctx.signal)
      const before = await addInventory(deps.database.db, inventory)
      return { ...inventory, changes: before === undefined ? [] : changesOf(before, inventory) }
    })
  }
}

const LISTS = ['cpu', 'gpu', 'drives', 'nics', 'psu', 'firmware'] as const

/** Parts that came, went or are other ones; a part whose branch could not be read has neither come nor gone. */
export function changesOf(before: Collected, now: Collected): string[] {
  const unread = new Set(
    [...before.branches, ...now.branches].flatMap(({ name, status }) => (status === 'unavailable' ? [name] : [])),
  )
  const lists = [
    ...LISTS.map((name) => [name, before[name], now[name]] as const),
    ['memory', before.memory.dimms, now.memory.dimms] as const,
  ]
  return [
    ...fieldChanges('system', before.system, now.system),
    ...lists
      .filter(([name]) => !unread.has(name) && !(name === 'gpu' && unread.has('cpu')))
      .flatMap(([name, was, is]) => listChanges(name, was, is)),
  ]
}

/** Change all the time, and are no change of the machine. */
const PASSING = new Set(['power_state', 'indicator', 'life_left_percent', 'link'])

type Part = Readonly<Record<string, unknown>>

function fieldChanges(what: string, was: Part, is: Part): string[] {
  return Object.keys(is)
    .filter((name) => !PASSING.has(name) && JSON.stringify(was[name]) !== JSON.stringify(is[name]))
    .map((name) => `${what} ${name}: ${shown(was[name])} became ${shown(is[name])}`)
}

function listChanges(
  what: string,
  was: readonly (Part & { id: string })[],
  is: readonly (Part & { id: string })[],
): string[] {
  const before = new Map(was.map((one) => [one.id, one]))
  const after = new Map(is.map((one) => [one.id, one]))
  return [
    ...was.filter(({ id }) => !after.has(id)).map(({ id }) => `${what} ${id} is gone`),
    ...is.flatMap((one) => {
      const known = before.get(one.id)
      return known === undefined ? [`${what} ${one.id} is new`] : fieldChanges(`${what} ${one.id}`, known, one)
    }),
  ]
}

function shown(value: unknown): string {
  return value === null || value === undefined ? 'unknown' : String(value)
}
