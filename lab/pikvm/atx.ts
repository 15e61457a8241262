/** Power buttons and lights of a simulated KVM. The power state is the LED, which may not be wired. */
import { flagOf, invalid, ok, Refused, type Reply, textOf } from './answer.ts'
import { startMachine, stopMachine } from './machine.ts'
import type { Simulation } from './simulation.ts'

export function readAtx({ state }: Simulation): Reply {
  const { habits, busy, machine } = state
  const enabled = !habits.atx_disabled
  return ok({
    enabled,
    busy: busy.atx,
    acts: { power: busy.atx, reset: false },
    leds: { power: enabled && machine.power && !habits.led_broken, hdd: false },
  })
}

const LONG_PRESSES = 5

/** Presses only where the LED says that it is needed. */
export function power(sim: Simulation, query: URLSearchParams): Promise<Reply> {
  const action = textOf(query, 'action')
  const led = sim.state.machine.power && !sim.state.habits.led_broken
  const wait = flagOf(query, 'wait', false)
  if (action === 'on') return press(sim, { needed: !led, long: false, wait })
  if (action === 'off') return press(sim, { needed: led, long: false, wait })
  if (action === 'off_hard') return press(sim, { needed: led, long: true, wait })
  throw invalid('The argument action is not one of on, off, off_hard, reset_hard')
}

export function click(sim: Simulation, query: URLSearchParams): Promise<Reply> {
  const button = textOf(query, 'button')
  if (button !== 'power' && button !== 'power_long')
    throw invalid('The argument button is not one of power, power_long, reset')
  return press(sim, { needed: true, long: button === 'power_long', wait: flagOf(query, 'wait', false) })
}

async function press(
  sim: Simulation,
  { needed, long, wait }: { needed: boolean; long: boolean; wait: boolean },
): Promise<Reply> {
  const { state } = sim
  if (state.habits.atx_disabled) throw new Refused(400, 'AtxDisabledError', 'ATX is disabled')
  if (!needed) return ok()
  if (state.busy.atx)
    throw new Refused(409, 'AtxIsBusyError', 'Performing another ATX operation, please try again later')
  state.busy.atx = true
  state.presses.push(long ? 'long' : 'short')
  const released = sim.pause(state.speed.press_ms * (long ? LONG_PRESSES : 1)).then(() => {
    state.busy.atx = false
    act(sim, long)
  })
  if (wait) await released
  else sim.go(() => released)
  return ok()
}

function act(sim: Simulation, long: boolean): void {
  const { habits, machine, speed } = sim.state
  if (habits.dead_buttons) return
  if (!machine.power) return startMachine(sim)
  if (long) return stopMachine(sim, speed.power_ms)
  if (!habits.ignore_off) stopMachine(sim, speed.shutdown_ms)
}
