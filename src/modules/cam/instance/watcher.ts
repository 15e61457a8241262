// Keeps the state of the NVR true, so that changes of it reach streams however they came about: one replica at a time reads the
// machine's state from the platform, and asks the NVR itself.
import type { Background } from '#src/kernel/background.ts'
import { UpstreamError } from '#src/kernel/errors.ts'
import type { Log } from '#src/kernel/log.ts'
import type { CamInstanceChange, CamInstanceRow, NvrState } from '#src/store/cam-instance.ts'
import { createLeader, type Leader } from '#src/store/leader.ts'
import { LOCKS } from '#src/store/locks.ts'
import type { Jobs } from '#src/jobs/admit.ts'
import type { CamDeps } from '../deps.ts'
import { liveConfig } from './nvr-state.ts'
import { settlePassword } from './password.ts'
import { machineOf } from './platform.ts'
import { settledInstance } from './settle.ts'

type WatcherDeps = Pick<CamDeps, 'config' | 'database' | 'cloudstack' | 'cam_store' | 'currentNvr'> & {
  jobs: Jobs
  background: Background
  log: Log
}

/** Those that a job does not have. */
const WATCHED: ReadonlySet<NvrState> = new Set(['running', 'stopped', 'restarting', 'unreachable'])
/** A restart takes about 30 seconds. */
const RESTART_WITHIN_MS = 180_000
/** Between the order to restart and the restart, the NVR still answers. */
const RESTART_BEGINS_MS = 5000

export function createNvrWatcher(deps: WatcherDeps): Leader {
  const { database, log, background, config } = deps
  return createLeader({ database, lock: LOCKS.nvr_watcher, name: 'nvr', log, background }, (held) =>
    background.repeat('nvr-state', config.cam.watch_ms, held, () => checkNvr(deps, held)),
  )
}

async function checkNvr(deps: WatcherDeps, signal: AbortSignal): Promise<void> {
  const row = await settledInstance(deps)
  if (row === undefined || !WATCHED.has(row.state) || row.vm_id === null) return
  const seen = await observed(deps, row, signal)
  if (seen === undefined) return
  const { state, error_message = '', next_action = '' } = seen
  const same = state === row.state && error_message === row.error_message
  // What provisioning found about the camera is kept while nothing else is the matter.
  if (same) return
  // Whoever changed the row while the NVR was asked knows better.
  await deps.cam_store.change(row.id, { ...seen, state: state ?? row.state, error_message, next_action }, row)
}

/** Undefined: nothing new can be said. */
async function observed(
  deps: WatcherDeps,
  row: CamInstanceRow,
  signal: AbortSignal,
): Promise<CamInstanceChange | undefined> {
  const machine = await machineOf(deps.cloudstack, row.vm_id ?? '', signal)
  if (machine === undefined) {
    const error_message = 'The virtual machine of the NVR is gone from the compute platform.'
    return { state: 'failed', error_message, next_action: 'DELETE /cam/current, then initialize again.' }
  }
  if (machine.state === 'Stopped' || machine.state === 'Stopping') {
    return { state: 'stopped', next_action: 'Start the virtual machine of the NVR.' }
  }
  if (machine.ip !== null && machine.ip !== row.vm_ip_address) {
    await deps.cam_store.change(row.id, { vm_ip_address: machine.ip }, row)
    // It is asked there in the next round.
    return undefined
  }
  const since_ms = Date.now() - row.changed_at.getTime()
  if (row.state === 'restarting' && since_ms < RESTART_BEGINS_MS) return undefined
  try {
    await settlePassword(deps, signal)
    const { safe_mode } = await liveConfig(await deps.currentNvr(), signal)
    if (!safe_mode) return { state: 'running' }
    const error_message = 'The NVR could not use its configuration and runs in safe mode, without cameras.'
    return { state: 'running', error_message, next_action: 'Correct its configuration on its virtual machine.' }
  } catch (error) {
    if (!(error instanceof UpstreamError) || signal.aborted) throw error
    return withoutAnswer(error, row, since_ms)
  }
}

function withoutAnswer(
  { status }: UpstreamError,
  row: CamInstanceRow,
  since_ms: number,
): CamInstanceChange | undefined {
  if (status === 401) {
    const error_message = 'The NVR rejects the stored password of its admin.'
    const next_action = 'Store the right one with POST /cam/current/admin-password/verify.'
    return { state: 'running', error_message, next_action }
  }
  // Its front answers while what is behind it starts.
  const starting = status !== undefined && status >= 500
  if (row.state === 'restarting' && since_ms < RESTART_WITHIN_MS) return undefined
  if (starting && row.state === 'running') return { state: 'restarting' }
  const error_message = `The NVR at ${row.vm_ip_address ?? 'its address'} does not answer.`
  const next_action = 'Look at its virtual machine and the network in between; it is asked again every few seconds.'
  return { state: 'unreachable', error_message, next_action }
}
