/** Power of a simulated machine: it takes its time, restarts apply what was pending, and a boot consumes a one-time override. */
import { Refused } from './answer.ts'
import { applyBiosJobs } from './jobs.ts'
import type { Simulation } from './simulation.ts'
import type { BmcState } from './state.ts'

const STANDARD = ['On', 'ForceOff', 'ForceRestart', 'GracefulRestart', 'GracefulShutdown', 'PowerCycle']

export function reset(sim: Simulation, type: string): void {
  const { state } = sim
  if (!(state.profile.reset_types ?? STANDARD).includes(type)) {
    throw new Refused(400, 'Base.1.12.ActionParameterNotSupported', `The value ${type} of ResetType is not supported.`)
  }
  if (state.habits.ignore_reset) return
  const { power_ms, shutdown_ms } = state.speed
  switch (type) {
    case 'On':
      if (state.power === 'Off') switchOn(sim)
      return
    case 'ForceOff':
      return switchOff(sim, power_ms)
    case 'GracefulShutdown':
      if (!state.habits.hang_shutdown) switchOff(sim, shutdown_ms)
      return
    case 'GracefulRestart':
    case 'ForceRestart':
    case 'PowerCycle':
      if (state.power === 'Off') {
        if (type !== 'PowerCycle') throw new Refused(409, 'IDRAC.2.8.PSU501', 'The machine is off.')
        return switchOn(sim)
      }
      if (type === 'GracefulRestart' && state.habits.hang_shutdown) return
      return switchOff(sim, type === 'GracefulRestart' ? shutdown_ms : power_ms, () => switchOn(sim))
    default:
      return
  }
}

function switchOff(sim: Simulation, after_ms: number, then?: () => void): void {
  sim.state.power = 'PoweringOff'
  sim.changed()
  sim.later(after_ms, () => {
    sim.state.power = 'Off'
    sim.changed()
    if (then !== undefined) sim.later(sim.state.speed.power_ms, then)
  })
}

function switchOn(sim: Simulation): void {
  sim.state.power = 'PoweringOn'
  sim.changed()
  sim.later(sim.state.speed.power_ms, () => {
    const { state } = sim
    state.power = 'On'
    state.last_reset_at = new Date().toISOString()
    applyBiosJobs(sim)
    start(sim, state)
    sim.changed()
  })
}

function start(sim: Simulation, state: BmcState): void {
  const { boot } = state
  const from_media = boot.enabled !== 'Disabled' && /^(Cd|UsbCd)$/.test(boot.target)
  const media = state.media.find(({ image }) => image !== null)
  state.booted_from = from_media && media?.image ? media.image : 'Hdd'
  if (boot.enabled === 'Once') state.boot = { ...boot, target: 'None', enabled: 'Disabled' }
  if (state.booted_from !== 'Hdd') sim.onBoot(state.booted_from)
}
