/** The asynchronous jobs: queued for each VM, moved by timers or by steps, kept after their end for whoever asks. */
import { randomUUID } from 'node:crypto'
import type { Faults } from '../control.ts'
import { ApiFault, invalid } from './api-fault.ts'
import type { EventLog, EventSubject } from './event-log.ts'
import { isUuid } from './params.ts'
import type { CommandSpec } from './params.ts'
import type { Caller } from './call.ts'
import type { Job, Json } from './records.ts'
import type { World } from './state.ts'
import { asFault } from './wire.ts'

export interface JobPlan {
  instancetype: string
  instanceid: string | null
  /** The id of the entity that a create-job has made already. */
  id?: string
  /** Jobs with the same queue run one after another. */
  queue?: string
  duration_ms: number
  event?: EventSubject
  /** The entity's move into its passing state; what it throws fails the job. */
  begin?: () => void
  /** The outcome under the command's response key; null for a bare success. */
  end: () => Json
  /** How a failed or cancelled job leaves the entity. */
  fail?: () => void
}

interface Running {
  job: Job
  plan: JobPlan
  spec: CommandSpec
  caller: Caller
  parentid: string | null
  begun: boolean
  fault: ApiFault | null
  timer: NodeJS.Timeout | null
}

export interface Jobs {
  submit(spec: CommandSpec, caller: Caller, plan: JobPlan, customjobid: string | null): Job
  /** The running job on an entity, newest first. */
  pendingOf(instanceid: string): Job | null
  step(count: number): void
  cancel(jobid: string): Job
  /** Fails what a crash left running. */
  failInterrupted(): string[]
  stop(): void
}

export const RESTART_TEXT = 'job cancelled because of management server restart or shutdown'
const KEPT_JOBS = 20_000

export function createJobs(deps: { world: World; events: EventLog; faults: Faults; time: 'auto' | 'step'; changed: () => void }): Jobs {
  const { world, events, faults } = deps
  const running = new Map<string, Running>()
  const pending = new Map<string, string>()

  function submit(spec: CommandSpec, caller: Caller, plan: JobPlan, customjobid: string | null): Job {
    const id = customjobid ?? randomUUID()
    if (!isUuid(id)) throw invalid(`Custom job id ${id} is not a valid UUID`)
    if (world.tables.jobs.has(id)) throw invalid(`There is already a job with the id ${id}`)
    const job = world.tables.jobs.put({
      id, command: spec.name, cmd: commandClass(spec.name), accountid: caller.account.id, userid: caller.user.id, jobstatus: 0, jobresultcode: 0,
      jobresult: null, jobinstancetype: plan.instancetype, jobinstanceid: plan.instanceid, created: Date.now(), completed: null,
    })
    const parentid = plan.event === undefined ? null : events.write(caller, plan.event, 'Scheduled', null)
    running.set(id, { job, plan, spec, caller, parentid, begun: false, fault: null, timer: null })
    if (plan.instanceid !== null) pending.set(plan.instanceid, id)
    pump()
    return job
  }

  /** Starts every job whose queue is free; the order of submission is kept inside a queue. */
  function pump(): void {
    const busy = new Set<string>()
    for (const entry of running.values()) {
      const queue = entry.plan.queue ?? entry.job.id
      const free = !busy.has(queue)
      busy.add(queue)
      if (free && !entry.begun) begin(entry)
    }
  }

  function begin(entry: Running): void {
    entry.begun = true
    try {
      if (entry.plan.event !== undefined) events.write(entry.caller, entry.plan.event, 'Started', entry.parentid)
      entry.plan.begin?.()
    } catch (error) {
      // The verdict is published at the job's end, as a worker that fails late does.
      entry.fault = asFault(error)
    }
    if (deps.time === 'step') return
    const jitter = 0.8 + 0.4 * Math.random()
    entry.timer = setTimeout(() => {
      finish(entry)
      deps.changed()
    }, (entry.fault === null ? entry.plan.duration_ms : 100) * jitter)
  }

  function finish(entry: Running): void {
    const injected = entry.fault === null ? faults.take('fail', entry.spec.name, (fault) => fault.at === 'job') : null
    const begun = entry.fault === null
    let fault = injected === null ? entry.fault : new ApiFault(injected.code, injected.text)
    let result: Json = null
    if (fault === null) {
      try {
        const value = entry.plan.end()
        result = value === null ? { success: true } : { [entry.spec.responseKey ?? 'result']: value }
      } catch (error) {
        fault = asFault(error)
      }
    }
    if (fault === null) settle(entry, 1, 0, result)
    else {
      if (begun) entry.plan.fail?.()
      settle(entry, 2, fault.code, { errorcode: fault.code, errortext: fault.message })
    }
  }

  function settle(entry: Running, jobstatus: 1 | 2 | 3, code: number, jobresult: Json): void {
    if (entry.timer !== null) clearTimeout(entry.timer)
    running.delete(entry.job.id)
    const { instanceid, event } = entry.plan
    if (instanceid !== null && pending.get(instanceid) === entry.job.id) pending.delete(instanceid)
    const job = world.tables.jobs.get(entry.job.id) ?? entry.job
    world.tables.jobs.put({ ...job, jobstatus, jobresultcode: code, jobresult, completed: Date.now() })
    if (event !== undefined) events.write(entry.caller, jobstatus === 1 ? event : { ...event, description: `Error while ${event.description}` }, 'Completed', entry.parentid, jobstatus === 1 ? 'INFO' : 'ERROR')
    dropOldest(world)
    pump()
  }

  return {
    submit,
    pendingOf: (instanceid) => world.tables.jobs.get(pending.get(instanceid)),
    step: (count) => {
      for (let taken = 0; taken < count; taken += 1) for (const entry of [...running.values()].filter((one) => one.begun)) finish(entry)
    },
    cancel: (jobid) => {
      const entry = running.get(jobid)
      if (entry === undefined) throw new Error('no such running job')
      if (entry.begun && entry.fault === null) entry.plan.fail?.()
      settle(entry, 3, 530, { errorcode: 530, errortext: 'job is cancelled' })
      return world.tables.jobs.get(jobid) ?? entry.job
    },
    failInterrupted: () => {
      const entities: string[] = []
      for (const job of world.tables.jobs.filter((one) => one.jobstatus === 0 && !running.has(one.id))) {
        world.tables.jobs.put({ ...job, jobstatus: 2, jobresultcode: 530, jobresult: { errorcode: 530, errortext: RESTART_TEXT }, completed: Date.now() })
        if (job.jobinstanceid !== null) entities.push(job.jobinstanceid)
      }
      return entities
    },
    stop: () => {
      for (const entry of running.values()) if (entry.timer !== null) clearTimeout(entry.timer)
      running.clear()
      pending.clear()
    },
  }
}

export function commandClass(command: string): string {
  const name = command.replace(/^./, (letter) => letter.toUpperCase()).replace('VirtualMachine', 'VM')
  return `org.apache.cloudstack.api.command.admin.${name}Cmd`
}

function dropOldest(world: World): void {
  if (world.tables.jobs.size <= KEPT_JOBS) return
  const oldest = world.tables.jobs.find((job) => job.jobstatus !== 0)
  if (oldest !== null) world.tables.jobs.remove(oldest.id)
}
