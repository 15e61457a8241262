/** The asynchronous jobs: queued for each VM, moved by timers or by steps, kept after their end for whoever asks. */
import { randomUUID } from 'node:crypto'
import type { Faults } from '../control.ts'
import { ApiFault, internal, invalid } from './api-fault.ts'
import type { Caller } from './call.ts'
import type { EventLog, EventSubject } from './event-log.ts'
import { isUuid } from './params.ts'
import type { CommandSpec } from './params.ts'
import type { Job } from './records.ts'
import type { Json } from './row.ts'
import type { SimulatorState } from './state.ts'
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

const RESTART_TEXT = 'job cancelled because of management server restart or shutdown'
const MOST_JOBS = 5000

interface JobDeps {
  state: SimulatorState
  events: EventLog
  faults: Faults
  time: 'auto' | 'step'
  changed: () => void
}

export class Jobs {
  readonly #deps: JobDeps
  readonly #running = new Map<string, Running>()
  readonly #pending = new Map<string, string>()

  constructor(deps: JobDeps) {
    this.#deps = deps
  }

  /** The chosen id is checked only here: a create-job's entity exists by then, and stays behind when the id is refused. */
  submit(spec: CommandSpec, caller: Caller, plan: JobPlan, customjobid: string | null): Job {
    const { state, events } = this.#deps
    const id = customjobid ?? randomUUID()
    if (!isUuid(id)) throw invalid(`UUID: ${id} doesn't follow the UUID format`)
    if (state.tables.jobs.has(id)) throw internal('Entity already exists ')
    const job = state.tables.jobs.put({
      id,
      command: spec.name,
      cmd: commandClass(spec.name),
      accountid: caller.account.id,
      userid: caller.user.id,
      jobstatus: 0,
      jobresultcode: 0,
      jobresult: null,
      jobinstancetype: plan.instancetype,
      jobinstanceid: plan.instanceid,
      created: Date.now(),
      completed: null,
    })
    const parentid = plan.event === undefined ? null : events.write(caller, plan.event, 'Scheduled', null)
    this.#running.set(id, { job, plan, spec, caller, parentid, begun: false, fault: null, timer: null })
    if (plan.instanceid !== null) this.#pending.set(plan.instanceid, id)
    this.#pump()
    return job
  }

  /** The running job on an entity, newest first. */
  pendingOf(instanceid: string): Job | null {
    return this.#deps.state.tables.jobs.get(this.#pending.get(instanceid))
  }

  /** Each step ends every job that had begun before it. */
  step(count: number): void {
    for (let taken = 0; taken < count; taken += 1) {
      for (const entry of [...this.#running.values()].filter((one) => one.begun)) this.#finish(entry)
    }
  }

  cancel(jobid: string): Job {
    const entry = this.#running.get(jobid)
    if (entry === undefined) throw new Error('no such running job')
    if (entry.begun && entry.fault === null) entry.plan.fail?.()
    return this.#settle(entry, 3, 530, { errorcode: 530, errortext: 'job is cancelled' })
  }

  /** Fails what a crash left running, and names the entities concerned. */
  failInterrupted(): string[] {
    const { jobs } = this.#deps.state.tables
    const entities: string[] = []
    for (const job of jobs.filter((one) => one.jobstatus === 0 && !this.#running.has(one.id))) {
      const jobresult = { errorcode: 530, errortext: RESTART_TEXT }
      jobs.put({ ...job, jobstatus: 2, jobresultcode: 530, jobresult, completed: Date.now() })
      if (job.jobinstanceid !== null) entities.push(job.jobinstanceid)
    }
    return entities
  }

  stop(): void {
    for (const entry of this.#running.values()) if (entry.timer !== null) clearTimeout(entry.timer)
    this.#running.clear()
    this.#pending.clear()
  }

  /** Starts every job whose queue is free; the order of submission is kept inside a queue. */
  #pump(): void {
    const busy = new Set<string>()
    for (const entry of this.#running.values()) {
      const queue = entry.plan.queue ?? entry.job.id
      const free = !busy.has(queue)
      busy.add(queue)
      if (free && !entry.begun) this.#begin(entry)
    }
  }

  #begin(entry: Running): void {
    entry.begun = true
    try {
      if (entry.plan.event !== undefined) {
        this.#deps.events.write(entry.caller, entry.plan.event, 'Started', entry.parentid)
      }
      entry.plan.begin?.()
    } catch (error) {
      // The verdict is published at the job's end, as a worker that fails late does.
      entry.fault = asFault(error)
    }
    if (this.#deps.time === 'step') return
    const jitter = 0.8 + 0.4 * Math.random()
    entry.timer = setTimeout(
      () => {
        this.#finish(entry)
        this.#deps.changed()
      },
      (entry.fault === null ? entry.plan.duration_ms : 100) * jitter,
    )
  }

  #finish(entry: Running): void {
    const began = entry.fault === null
    let fault = entry.fault ?? this.#injected(entry)
    let result: Json = null
    if (fault === null && this.#deps.faults.take('pretend', entry.spec.name) !== null) {
      // The word of success without the deed: the entity is left as after a failure.
      entry.plan.fail?.()
      this.#settle(entry, 1, 0, { success: true })
      return
    }
    if (fault === null) {
      try {
        const value = entry.plan.end()
        result = value === null ? { success: true } : { [entry.spec.responseKey ?? 'result']: value }
      } catch (error) {
        fault = asFault(error)
      }
    }
    if (fault === null) {
      this.#settle(entry, 1, 0, result)
      return
    }
    if (began) entry.plan.fail?.()
    this.#settle(entry, 2, fault.code, { errorcode: fault.code, errortext: fault.message })
  }

  #injected(entry: Running): ApiFault | null {
    const injected = this.#deps.faults.take('fail', entry.spec.name, (fault) => fault.at === 'job')
    return injected === null ? null : new ApiFault(injected.code, injected.text)
  }

  #settle(entry: Running, jobstatus: 1 | 2 | 3, code: number, jobresult: Json): Job {
    if (entry.timer !== null) clearTimeout(entry.timer)
    this.#running.delete(entry.job.id)
    const { instanceid, event } = entry.plan
    if (instanceid !== null && this.#pending.get(instanceid) === entry.job.id) this.#pending.delete(instanceid)
    const { jobs } = this.#deps.state.tables
    const job = jobs.put({ ...entry.job, jobstatus, jobresultcode: code, jobresult, completed: Date.now() })
    if (event !== undefined) {
      const good = jobstatus === 1
      const subject = good ? event : { ...event, description: `Error while ${event.description}` }
      this.#deps.events.write(entry.caller, subject, 'Completed', entry.parentid, good ? 'INFO' : 'ERROR')
    }
    if (jobs.size > MOST_JOBS) {
      const oldest = jobs.find((one) => one.jobstatus !== 0)
      if (oldest !== null) jobs.remove(oldest.id)
    }
    this.#pump()
    return job
  }
}

function commandClass(command: string): string {
  const name = command.replace(/^./, (letter) => letter.toUpperCase()).replace('VirtualMachine', 'VM')
  return `org.apache.cloudstack.api.command.admin.${name}Cmd`
}
