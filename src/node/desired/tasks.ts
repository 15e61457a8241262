// Changes of desired state that go on after their answer. One of an area at a time; a restart of the agent forgets them, and the
// same order again goes on where they ended.
import { randomUUID } from 'node:crypto'
import type { DesiredAreaName, DesiredTask } from '#src/contract/nodes/agent-desired.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { Log } from '#src/kernel/log.ts'

export interface Tasks {
  /** The same order while it runs is the same task; another one of the area is refused. */
  start(order: Pick<DesiredTask, 'area' | 'action' | 'hash'>, work: () => Promise<string>): DesiredTask
  /** As it is once it has ended, or after so long. */
  ended(id: string, limit_ms: number): Promise<DesiredTask>
  get(id: string): DesiredTask
  ofArea(area: DesiredAreaName): DesiredTask | null
  /** Resolves when none runs, or after so long. */
  settled(limit_ms: number): Promise<void>
}

const MOST = 100

export function createTasks(log: Log, now: () => number): Tasks {
  const tasks = new Map<string, { task: DesiredTask; done: Promise<void> }>()
  const ofArea = (area: DesiredAreaName): DesiredTask | null =>
    [...tasks.values()].findLast(({ task }) => task.area === area)?.task ?? null
  const known = (id: string) => {
    const found = tasks.get(id)
    if (found === undefined) throw new ApiError('TASK_NOT_FOUND', `Task ${id} not found; order the change again.`)
    return found
  }
  return {
    start(order, work) {
      const running = ofArea(order.area)
      if (running?.status === 'running') {
        if (running.action === order.action && running.hash === order.hash) return running
        throw new ApiError('DESIRED_AREA_BUSY', `Task ${running.id} changes the area ${order.area}; wait for its end.`)
      }
      const task: DesiredTask = {
        id: randomUUID(),
        ...order,
        status: 'running',
        code: null,
        message: order.action === 'apply' ? 'Applying the document.' : 'Removing what the area made.',
        started_at: new Date(now()).toISOString(),
        ended_at: null,
      }
      const end = (status: DesiredTask['status'], code: string | null, message: string): void =>
        void Object.assign(task, { status, code, message, ended_at: new Date(now()).toISOString() })
      const done = work().then(
        (message) => end('completed', null, message),
        (error: unknown) => {
          const known_error =
            error instanceof ApiError ? error : new ApiError('DESIRED_FAILED', undefined, { cause: error })
          // What others made, or a document that cannot be, is no defect.
          const level = ['DESIRED_FAILED', 'INTERNAL_ERROR'].includes(known_error.code) ? 'error' : 'warn'
          log[level]({ err: error, area: order.area, task_id: task.id }, 'desired state not reached')
          end('failed', known_error.code, known_error.message)
        },
      )
      tasks.set(task.id, { task, done })
      for (const id of [...tasks.keys()].slice(0, Math.max(0, tasks.size - MOST))) tasks.delete(id)
      return task
    },
    async ended(id, limit_ms) {
      const { task, done } = known(id)
      await within(done, limit_ms)
      return task
    },
    get: (id) => known(id).task,
    ofArea,
    settled: (limit_ms) => within(Promise.all([...tasks.values()].map(({ done }) => done)), limit_ms),
  }
}

async function within(work: Promise<unknown>, limit_ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, limit_ms)
  })
  await Promise.race([work, limit])
  clearTimeout(timer)
}
