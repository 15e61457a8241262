// Lets the LED of a NIC blink (linux-node 3). ethtool blocks for as long as it blinks, so it is started and left
// running; a driver that cannot blink says so at once.
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { Host, RunningCommand } from '#src/kernel/host.ts'
import { readDevices, readLinks } from '../net/snapshot.ts'

/** A rejection comes within milliseconds; what runs longer than this blinks. */
const EARLY_MS = 300
/** A driver may hold ethtool in the kernel; one that does not end by itself is killed. */
const GRACE_MS = 2000

export interface Blinker {
  /** Settles once the LED blinks. A second call for the same NIC ends the first. */
  blink(interfaceName: string, duration: number): Promise<{ message: string; interfaceName: string; duration: number }>
  /** Ends every LED that still blinks. */
  stop(): Promise<void>
}

export function createBlinker(host: Host, { grace_ms = GRACE_MS } = {}): Blinker {
  const running = new Map<string, RunningCommand>()
  /** The last change of each NIC: two calls at once must not both find nothing to end. */
  const changes = new Map<string, Promise<unknown>>()
  const inTurn = <T>(name: string, work: () => Promise<T>): Promise<T> => {
    const turn = (changes.get(name) ?? Promise.resolve()).then(work, work)
    changes.set(name, turn)
    const forget = (): void => {
      if (changes.get(name) === turn) changes.delete(name)
    }
    turn.then(forget, forget)
    return turn
  }
  const end = async (name: string): Promise<void> => {
    const former = running.get(name)
    if (former === undefined) return
    running.delete(name)
    former.signal('SIGINT')
    const kill = setTimeout(() => former.signal('SIGKILL'), grace_ms)
    await former.ended
    clearTimeout(kill)
  }
  const begin = async (name: string, duration: number): Promise<RunningCommand> => {
    await end(name)
    const command = host.spawn('ethtool', ['-p', name, String(duration)], { timeout_ms: (duration + 5) * 1000 })
    running.set(name, command)
    void command.ended.then(() => {
      if (running.get(name) === command) running.delete(name)
    })
    return command
  }
  return {
    async blink(interfaceName, duration) {
      await requirePhysical(host, interfaceName)
      const command = await inTurn(interfaceName, () => begin(interfaceName, duration))
      await refuseEarlyFailure(command, interfaceName)
      return {
        message: `The LED of ${interfaceName} blinks for ${duration} seconds.`,
        interfaceName,
        duration,
      }
    },
    async stop() {
      const names = new Set([...running.keys(), ...changes.keys()])
      await Promise.all([...names].map((name) => inTurn(name, () => end(name))))
    },
  }
}

async function requirePhysical(host: Host, name: string): Promise<void> {
  const links = await readLinks(host)
  const link = links.find((one) => one.ifname === name)
  if (link === undefined) throw invalidField('interfaceName', `the node has no device ${name}`)
  const devices = await readDevices(host, [link])
  if (devices.get(name)?.hardware !== true) throw invalidField('interfaceName', `${name} is not a physical NIC`)
}

async function refuseEarlyFailure(command: RunningCommand, name: string): Promise<void> {
  const { promise: early, resolve } = Promise.withResolvers<'running'>()
  const timer = setTimeout(() => resolve('running'), EARLY_MS)
  const result = await Promise.race([command.ended, early])
  clearTimeout(timer)
  if (result === 'running' || (result.outcome === 'exited' && result.exit_code === 0)) return
  if (result.outcome === 'missing') throw new ApiError('AGENT_ERROR', 'The LED cannot blink: ethtool is not installed.')
  // Nothing is killed for its time so early: a later call for the same NIC ended it.
  if (result.outcome === 'timeout')
    throw new ApiError('AGENT_ERROR', `Another call for the LED of ${name} ended this one; try again.`)
  const unsupported = /not supported/i.test(result.stderr)
  const why = unsupported ? `the driver of ${name} cannot do it` : `ethtool failed with exit code ${result.exit_code}`
  throw new ApiError('AGENT_ERROR', `The LED cannot blink: ${why}.`)
}
