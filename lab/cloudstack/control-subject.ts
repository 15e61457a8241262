/** What the control API may do with this simulator beyond the common faults. */
import { ControlError } from '../control.ts'
import type { CallLog, ControlSubject, Faults } from '../control.ts'
import type { Jobs } from './jobs.ts'
import type { Latencies } from './latencies.ts'
import { isKind } from './state.ts'
import type { SimulatorState } from './state.ts'

export function createControlSubject(deps: {
  state: SimulatorState
  jobs: Jobs
  faults: Faults
  latencies: Latencies
  calls: CallLog
  unknownParameters: ReadonlyMap<string, { command: string; parameter: string }>
  step(count: number): void
  reset(): void
  changed(): void
}): ControlSubject {
  const { state } = deps
  return {
    faults: deps.faults,
    calls: deps.calls,
    step: (count) => {
      deps.step(count)
      return { steps: state.steps }
    },
    reset: deps.reset,
    state: (kind) => {
      if (!isKind(state.tables, kind))
        throw new ControlError(`no such kind; there are ${Object.keys(state.tables).join(', ')}`)
      return { [kind]: [...state.tables[kind].values()].map(withoutSecrets) }
    },
    mutate: (kind, id, set) => {
      if (!isKind(state.tables, kind)) throw new ControlError('no such kind')
      const before = state.tables[kind].get(id)
      if (before === null) throw new ControlError(`no ${kind} with this id`)
      const unknown = Object.keys(set).filter((name) => !Object.hasOwn(before, name))
      if (unknown.length > 0) throw new ControlError(`${kind} have no ${unknown.join(', ')}`)
      // A machine switched off behind the platform's back stands on no host any more.
      const extra = kind === 'vms' && set['state'] === 'Stopped' ? { hostid: null } : {}
      state.restore(kind, { ...before, ...extra, ...set })
      deps.changed()
      return state.tables[kind].get(id)
    },
    routes: {
      'GET /unknown-parameters': () => ({ unknown_parameters: [...deps.unknownParameters.values()] }),
      'POST /latencies': ({ on }) => {
        deps.latencies.on = on === true
      },
      'POST /cancel-job': (body) => {
        const { jobid } = body
        if (typeof jobid !== 'string' || state.tables.jobs.get(jobid)?.jobstatus !== 0)
          throw new ControlError('no running job with this jobid')
        const job = deps.jobs.cancel(jobid)
        deps.changed()
        return job
      },
    },
  }
}

function withoutSecrets(record: object): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).filter(([name]) => !/secret|password|apikey/i.test(name)))
}
