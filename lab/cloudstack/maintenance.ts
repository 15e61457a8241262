/** What the platform does by itself: downloads go on, states settle after a restart, an alert appears now and then. */
import { randomUUID } from 'node:crypto'
import { wellKnown } from '../site.ts'
import type { EventLog } from './event-log.ts'
import type { Jobs } from './jobs.ts'
import type { VmState } from './records.ts'
import type { SimulatorState } from './state.ts'

interface Maintenance {
  step(): void
  /**
   * What a crash left in a passing state: volumes are put back before anybody asks; machines are settled by the next round,
   * as the power-state sync does.
   */
  afterRestart(entities: readonly string[]): void
  stop(): void
}

const ROUND_MS = 5000
const ALERT_EVERY_ROUNDS = 60
const SETTLED: Partial<Record<VmState, VmState>> = {
  Starting: 'Stopped',
  Stopping: 'Stopped',
  Migrating: 'Running',
  Restoring: 'Stopped',
  Shutdown: 'Stopped',
}

const PASSING: ReadonlySet<string> = new Set(['Attaching', 'Detaching', 'Resizing'])

export function createMaintenance(deps: {
  state: SimulatorState
  events: EventLog
  jobs: Jobs
  time: 'auto' | 'step'
  changed: () => void
}): Maintenance {
  const { state } = deps
  let unsettled = new Set<string>()
  let rounds = 0

  function step(): void {
    rounds += 1
    for (const id of unsettled) settle(id)
    unsettled = new Set()
    continueDownloads(state)
    if (rounds % ALERT_EVERY_ROUNDS === 0) raiseAlert(state, rounds)
  }

  function settleVolume(id: string): void {
    const volume = state.tables.volumes.get(id)
    if (volume !== null && PASSING.has(volume.state)) state.tables.volumes.put({ ...volume, state: 'Ready' })
  }

  function settle(id: string): void {
    const vm = state.tables.vms.get(id)
    const settled = vm === null ? undefined : SETTLED[vm.state]
    if (vm === null || settled === undefined || deps.jobs.pendingOf(id) !== null) return
    state.tables.vms.put({
      ...vm,
      state: settled,
      hostid: settled === 'Running' ? vm.hostid : null,
      lastupdated: Date.now(),
    })
    const system = state.tables.accounts.find((account) => account.system)
    const user = state.tables.users.by('account', system?.id ?? null)[0]
    if (system === null || user === undefined) return
    const type = settled === 'Running' ? 'VM.START' : 'VM.STOP'
    deps.events.write(
      { account: system, user },
      {
        type,
        description: `Out of band VM power ${settled === 'Running' ? 'on' : 'off'}. VM Id: ${id}`,
        resourcetype: 'VirtualMachine',
        resourceid: id,
        resourcename: vm.name,
      },
      'Completed',
      null,
    )
  }

  const timer =
    deps.time === 'auto'
      ? setInterval(() => {
          step()
          deps.changed()
        }, ROUND_MS)
      : null
  timer?.unref()
  return {
    step,
    afterRestart: (entities) => {
      for (const id of entities) {
        unsettled.add(id)
        settleVolume(id)
      }
    },
    stop: () => {
      if (timer !== null) clearInterval(timer)
    },
  }
}

/** A registered image downloads in a few rounds; the address "broken" fails, so that failure can be shown without a fault. */
function continueDownloads(state: SimulatorState): void {
  for (const template of state.tables.templates.filter(
    (one) => one.downloadstate === 'DOWNLOAD_IN_PROGRESS' || one.downloadstate === 'NOT_DOWNLOADED',
  )) {
    if (template.url.includes('broken')) {
      state.tables.templates.put({
        ...template,
        downloadstate: 'DOWNLOAD_ERROR',
        status: 'HTTP Server returned 404 (expected 200 OK)',
      })
      continue
    }
    // The seeded half-finished download stays as it is: lists need one that is not ready.
    if (template.id === wellKnown.templates['Alpine 3.20 (downloading)']) continue
    const percent = Math.min(100, template.percent + 34)
    const done = percent === 100
    state.tables.templates.put({
      ...template,
      percent,
      isready: done,
      status: done ? 'Download Complete' : `${percent}% Downloaded`,
      downloadstate: done ? 'DOWNLOADED' : 'DOWNLOAD_IN_PROGRESS',
    })
  }
}

function raiseAlert(state: SimulatorState, rounds: number): void {
  const host = [...state.tables.hosts.values()][rounds % Math.max(1, state.tables.hosts.size)]
  if (host === undefined) return
  state.tables.alerts.put({
    id: randomUUID(),
    type: 7,
    name: 'ALERT.COMPUTE.HOST',
    description: `Host ${host.name} answered late to its ping`,
    sent: Date.now(),
    archived: false,
  })
}
