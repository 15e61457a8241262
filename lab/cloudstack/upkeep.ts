/** What the platform does by itself: downloads go on, states settle after a restart, an alert appears now and then. */
import { randomUUID } from 'node:crypto'
import { wellKnown } from '../world.ts'
import type { EventLog } from './event-log.ts'
import type { Jobs } from './jobs.ts'
import type { VmState } from './records.ts'
import type { World } from './state.ts'

interface Upkeep {
  step(): void
  /** Remembers entities that a crash left in a passing state; the next round settles them, as the power-state sync does. */
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

export function createUpkeep(deps: {
  world: World
  events: EventLog
  jobs: Jobs
  time: 'auto' | 'step'
  changed: () => void
}): Upkeep {
  const { world } = deps
  let unsettled = new Set<string>()
  let rounds = 0

  function step(): void {
    rounds += 1
    for (const id of unsettled) settle(id)
    unsettled = new Set()
    continueDownloads(world)
    if (rounds % ALERT_EVERY_ROUNDS === 0) raiseAlert(world, rounds)
  }

  function settle(id: string): void {
    const vm = world.tables.vms.get(id)
    const state = vm === null ? undefined : SETTLED[vm.state]
    if (vm === null || state === undefined || deps.jobs.pendingOf(id) !== null) return
    world.tables.vms.put({ ...vm, state, hostid: state === 'Running' ? vm.hostid : null, lastupdated: Date.now() })
    const system = world.tables.accounts.find((account) => account.system)
    const user = world.tables.users.by('account', system?.id ?? null)[0]
    if (system === null || user === undefined) return
    const type = state === 'Running' ? 'VM.START' : 'VM.STOP'
    deps.events.write(
      { account: system, user },
      {
        type,
        description: `Out of band VM power ${state === 'Running' ? 'on' : 'off'}. VM Id: ${id}`,
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
      for (const id of entities) unsettled.add(id)
    },
    stop: () => {
      if (timer !== null) clearInterval(timer)
    },
  }
}

/** A registered image downloads in a few rounds; the address "broken" fails, so that failure can be shown without a fault. */
function continueDownloads(world: World): void {
  for (const template of world.tables.templates.filter(
    (one) => one.downloadstate === 'DOWNLOAD_IN_PROGRESS' || one.downloadstate === 'NOT_DOWNLOADED',
  )) {
    if (template.url.includes('broken')) {
      world.tables.templates.put({
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
    world.tables.templates.put({
      ...template,
      percent,
      isready: done,
      status: done ? 'Download Complete' : `${percent}% Downloaded`,
      downloadstate: done ? 'DOWNLOADED' : 'DOWNLOAD_IN_PROGRESS',
    })
  }
}

function raiseAlert(world: World, rounds: number): void {
  const host = [...world.tables.hosts.values()][rounds % Math.max(1, world.tables.hosts.size)]
  if (host === undefined) return
  world.tables.alerts.put({
    id: randomUUID(),
    type: 7,
    name: 'ALERT.COMPUTE.HOST',
    description: `Host ${host.name} answered late to its ping`,
    sent: Date.now(),
    archived: false,
  })
}
