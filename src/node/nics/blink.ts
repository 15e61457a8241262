// Lets the LED of a NIC blink (linux-node 3). ethtool blocks for as long as it blinks, so it is started and left
// running; a driver that cannot blink says so at once.
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { Host, RunningCommand } from '#src/kernel/host.ts'
import { readDevices, readLinks } from '../net/picture.ts'

/** A refusal comes within milliseconds; what runs longer than this blinks. */
const EARLY_MS = 300

export interface Blinker {
  /** Settles once the LED blinks. A second call for the same NIC ends the first. */
  blink(interfaceName: string, duration: number): Promise<{ message: string; interfaceName: string; duration: number }>
  /** Ends every LED that still blinks. */
  stop(): Promise<void>
}

export function createBlinker(host: Host): Blinker {
  const running = new Map<string, RunningCommand>()
  const end = async (name: string): Promise<void> => {
    const former = running.get(name)
    if (former === undefined) return
    running.delete(name)
    former.signal('SIGINT')
    await former.ended
  }
  return {
    async blink(interfaceName, duration) {
      await requirePhysical(host, interfaceName)
      await end(interfaceName)
      const args = ['-p', interfaceName, String(duration)]
      const command = host.spawn('ethtool', args, { timeout_ms: (duration + 5) * 1000 })
      running.set(interfaceName, command)
      void command.ended.then(() => {
        if (running.get(interfaceName) === command) running.delete(interfaceName)
      })
      await refuseEarlyFailure(command, interfaceName)
      return {
        message: `The LED of ${interfaceName} blinks for ${duration} seconds.`,
        interfaceName,
        duration,
      }
    },
    async stop() {
      await Promise.all([...running.keys()].map(end))
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
  const unsupported = /not supported/i.test(result.stderr)
  const why = unsupported ? `the driver of ${name} cannot do it` : `ethtool failed with exit code ${result.exit_code}`
  throw new ApiError('AGENT_ERROR', `The LED cannot blink: ${why}.`)
}
