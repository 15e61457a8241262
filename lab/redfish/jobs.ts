/** The queue of a simulated BMC: BIOS changes that wait for a restart, and updates that run by themselves. */
import { Refused } from './answer.ts'
import type { Simulation } from './simulation.ts'
import type { RemoteJob, Value } from './state.ts'

export function makeJob(sim: Simulation, name: string, more: Partial<RemoteJob> = {}): RemoteJob {
  const { state } = sim
  const number = state.next_job
  state.next_job += 1
  const job: RemoteJob = {
    id: state.profile.jobs ? `JID_${number}` : String(number % 100_000),
    name,
    state: 'New',
    percent: 0,
    message: 'Task created.',
    made_at: new Date().toISOString(),
    ...more,
  }
  state.jobs.push(job)
  return job
}

const ENDED = /^(Completed|Failed|Exception|CompletedWithErrors)$/
const isBios = ({ bios, state }: RemoteJob): boolean => bios !== undefined && !ENDED.test(state)

/** A vendor refuses further changes while a job holds the BIOS. */
export function stageBios(
  sim: Simulation,
  attributes: Record<string, Value>,
  apply_time: string | undefined,
): RemoteJob | null {
  const { state } = sim
  if (state.profile.is_dell && state.jobs.some(isBios)) {
    throw new Refused(
      400,
      'IDRAC.2.8.SYS011',
      'Pending configuration values are already committed, unable to perform another set operation.',
    )
  }
  Object.assign(state.bios_pending, attributes)
  sim.changed()
  // Without an apply time they stay pending for ever.
  if (apply_time !== 'OnReset') return null
  return makeJob(sim, 'Configure: BIOS.Setup.1-1', {
    state: 'Scheduled',
    message: 'Task successfully scheduled.',
    bios: { ...state.bios_pending },
  })
}

/** Called when the machine starts. */
export function applyBiosJobs(sim: Simulation): void {
  for (const job of sim.state.jobs.filter(isBios)) {
    job.state = 'Running'
    job.percent = 34
    sim.later(sim.state.speed.job_ms, () => {
      if (!sim.state.jobs.includes(job)) return
      if (sim.state.habits.fail_jobs)
        return end(sim, job, sim.state.profile.jobs ? 'Failed' : 'Exception', 'Unable to apply the settings.')
      Object.assign(sim.state.bios, job.bios)
      sim.state.bios_pending = {}
      end(sim, job, 'Completed', 'Job completed successfully.')
    })
  }
}

const HOLD_MS = 20

export function startUpdate(sim: Simulation): RemoteJob {
  const { state } = sim
  const { habits, speed } = state
  const job = makeJob(sim, 'Firmware Update: BIOS', { state: 'Running', message: 'The update is running.' })
  sim.later(speed.update_ms / 2, () => {
    job.percent = 50
    if (!habits.restart_in_update) return
    state.dead = true
    sim.hangUp()
    sim.later(speed.dead_ms, () => {
      state.dead = false
      state.sessions.clear()
    })
  })
  const finish = (): void => {
    if (!state.jobs.includes(job)) return
    if (habits.hold_updates) return sim.later(HOLD_MS, finish)
    if (habits.fail_jobs)
      return end(sim, job, state.profile.jobs ? 'Failed' : 'Exception', 'RED003: the image is not valid.')
    if (habits.update_needs_reset) {
      job.percent = 100
      job.state = 'UserIntervention'
      job.message = 'A restart of the machine is needed.'
      return
    }
    if (!habits.update_without_effect) state.bios_version = nextVersion(state.bios_version)
    end(sim, job, 'Completed', 'Job completed successfully.')
  }
  sim.later(speed.update_ms, finish)
  return job
}

function nextVersion(version: string): string {
  const parts = version.split('.')
  return [...parts.slice(0, -1), String(Number(parts.at(-1)) + 1)].join('.')
}

function end(sim: Simulation, job: RemoteJob, state: string, message: string): void {
  Object.assign(job, { state, message, percent: 100 })
  if (sim.state.habits.forget_tasks) sim.state.jobs = sim.state.jobs.filter((one) => one !== job)
  sim.changed()
}

export function clearJobs(sim: Simulation, force: boolean): void {
  const { state } = sim
  if (state.habits.resist_clear && !force) return
  // What waits for a restart is gone with its job.
  if (state.jobs.some(isBios)) state.bios_pending = {}
  state.jobs = force ? [] : state.jobs.filter((job) => /^(Running)$/.test(job.state))
  sim.changed()
  if (!force) return
  state.ready = false
  sim.later(state.speed.not_ready_ms, () => {
    state.ready = true
  })
}

export function deleteJob(sim: Simulation, id: string): boolean {
  const job = sim.state.jobs.find((one) => one.id === id)
  if (job === undefined) return false
  if (sim.state.habits.resist_clear)
    throw new Refused(405, 'Base.1.12.OperationNotAllowed', 'The job cannot be deleted.')
  if (isBios(job)) sim.state.bios_pending = {}
  sim.state.jobs = sim.state.jobs.filter((one) => one !== job)
  sim.changed()
  return true
}
