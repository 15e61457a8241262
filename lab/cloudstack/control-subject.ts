/** What the control door may do with this simulator beyond the common faults. */
import { ControlRefusal } from '../control.ts'
import type { CallLog, ControlSubject, Faults } from '../control.ts'
import type { Jobs } from './jobs.ts'
import { isKind } from './state.ts'
import type { World } from './state.ts'

export function createControlSubject(deps: {
  world: World
  jobs: Jobs
  faults: Faults
  calls: CallLog
  unknownParameters: ReadonlyMap<string, { command: string; parameter: string }>
  step(count: number): void
  reset(): void
  changed(): void
}): ControlSubject {
  const { world } = deps
  return {
    faults: deps.faults,
    calls: deps.calls,
    step: (count) => {
      deps.step(count)
      return { steps: world.steps }
    },
    reset: deps.reset,
    state: (kind) => {
      if (!isKind(world.tables, kind))
        throw new ControlRefusal(`no such kind; there are ${Object.keys(world.tables).join(', ')}`)
      return { [kind]: [...world.tables[kind].values()].map(withoutSecrets) }
    },
    mutate: (kind, id, set) => {
      if (!isKind(world.tables, kind)) throw new ControlRefusal('no such kind')
      const before = world.tables[kind].get(id)
      if (before === null) throw new ControlRefusal(`no ${kind} with this id`)
      const unknown = Object.keys(set).filter((name) => !Object.hasOwn(before, name))
      if (unknown.length > 0) throw new ControlRefusal(`${kind} have no ${unknown.join(', ')}`)
      // A machine switched off behind the platform's back stands on no host any more.
      const extra = kind === 'vms' && set['state'] === 'Stopped' ? { hostid: null } : {}
      world.restore(kind, { ...before, ...extra, ...set })
      deps.changed()
      return world.tables[kind].get(id)
    },
    routes: {
      'GET /unknown-parameters': () => ({ unknown_parameters: [...deps.unknownParameters.values()] }),
      'POST /cancel-job': (body) => {
        const { jobid } = body
        if (typeof jobid !== 'string' || world.tables.jobs.get(jobid)?.jobstatus !== 0)
          throw new ControlRefusal('no running job with this jobid')
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
