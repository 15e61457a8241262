// Operations of desired state: checks an order against the schema of its area, and starts or joins the task that carries it out.
import Value from 'typebox/value'
import {
  type agentDesired, type DesiredAreaName, type DesiredState, type DesiredTask, GUARDED_AREAS,
} from '#src/contract/nodes/agent-desired.ts' // biome-ignore format: one import
import type { Handlers } from '#src/contract/route.ts'
import { documentHash } from '#src/kernel/document-hash.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { Log } from '#src/kernel/log.ts'
import type { DesiredArea } from './area.ts'
import { createTasks } from './tasks.ts'

export interface DesiredOptions {
  areas: Record<DesiredAreaName, DesiredArea>
  now: () => number
  log: Log
}

export interface Desired {
  handlers: Handlers<(typeof agentDesired)['routes'], RequestContext>
  stop(): Promise<void>
}

/** Most changes are done by then, and their caller need not ask again. */
const ANSWER_MS = 2000
/** A task that takes longer goes on with the same order after the restart. */
const STOP_MS = 5000

export function createDesired({ areas, now, log }: DesiredOptions): Desired {
  const tasks = createTasks(log, now)
  const state = async (name: DesiredAreaName): Promise<DesiredState> => {
    const { hash, applied_at, differences, pending } = await areas[name].state()
    const task = tasks.ofArea(name)
    const is_applying = task?.status === 'running' || (hash !== null && applied_at === null)
    const settled = hash === null ? 'empty' : differences.length === 0 ? 'in_sync' : 'differs'
    return { area: name, hash, applied_at, verdict: is_applying ? 'applying' : settled, differences, pending, task }
  }
  const start = (order: Pick<DesiredTask, 'area' | 'action' | 'hash'>, work: () => Promise<string>) =>
    tasks.ended(tasks.start(order, work).id, ANSWER_MS)
  return {
    handlers: {
      agentDesiredSet({ params, body: { document, hash, guard_seconds } }) {
        const area = areas[params.area]
        checkGuard(params.area, guard_seconds)
        checkDocument(area, document)
        if (documentHash(document) !== hash)
          throw new ApiError(
            'DESIRED_HASH_MISMATCH',
            `The document has the hash ${documentHash(document)}, not ${hash}.`,
          )
        return start({ area: params.area, action: 'apply', hash }, () => area.apply(document, { hash, guard_seconds }))
      },
      agentDesiredGet: ({ params }) => state(params.area),
      agentDesiredRemove({ params, query: { guard_seconds } }) {
        const area = areas[params.area]
        checkGuard(params.area, guard_seconds)
        return start({ area: params.area, action: 'remove', hash: null }, () => area.remove({ guard_seconds }))
      },
      async agentDesiredConfirm({ params, body: { hash } }) {
        const { confirm } = areas[params.area]
        if (confirm === undefined)
          throw new ApiError('DESIRED_NOTHING_PENDING', `Changes of the area ${params.area} need no confirmation.`)
        await confirm(hash)
        return state(params.area)
      },
      agentTaskGet: ({ params }) => tasks.get(params.id),
    },
    stop: () => tasks.settled(STOP_MS),
  }
}

function checkGuard(area: DesiredAreaName, guard_seconds: number | undefined): void {
  if (guard_seconds === undefined || GUARDED_AREAS.includes(area)) return
  throw invalidField('guard_seconds', `the area ${area} does not revert by itself`)
}

function checkDocument({ schema }: DesiredArea, document: unknown): void {
  const [first] = Value.Errors(schema, document)
  if (first === undefined) return
  throw invalidField(`document${first.instancePath.replaceAll('/', '.')}`, first.message)
}
