// Sets the live MTU of a chain of devices and reads it back (linux-node.md 4.2).
import { setTimeout as wait } from 'node:timers/promises'
import type { Host } from '#src/kernel/host.ts'
import { type MtuLink, readLinks } from './links.ts'

export interface LiveDevice {
  name: string
  new_mtu: number
}

const CARRIER_MS = 10_000
const CARRIER_POLL_MS = 100

/** Null when every device took its value; else the sentence about the first that did not. */
export async function setLive(
  host: Host,
  devices: readonly LiveDevice[],
  after_device: (name: string) => void | Promise<void>,
): Promise<string | null> {
  const before = await readLinks(host)
  for (const { name, new_mtu } of devices) {
    const run = await host.run('ip', ['link', 'set', 'dev', name, 'mtu', `${new_mtu}`], { timeout_ms: 10_000 })
    if (run.exit_code !== 0) return `the kernel refuses ${new_mtu} on ${name}: ${kernelWord(run.stderr)}`
    await after_device(name)
  }
  const links = await readLinks(host)
  if (links === null) return 'the devices could not be read back'
  for (const { name, new_mtu } of devices) {
    const now = links.find((link) => link.name === name)?.mtu
    if (now !== new_mtu) return `${name} runs at ${now ?? 'nothing'} after being set to ${new_mtu}`
  }
  const carried = (before ?? []).filter((link) => link.carrier && devices.some(({ name }) => name === link.name))
  return awaitCarrier(host, carried)
}

/** Many cards drop the link for a moment when their rings are recreated. */
async function awaitCarrier(host: Host, carried: readonly MtuLink[]): Promise<string | null> {
  const until = host.monotonic() + CARRIER_MS
  for (;;) {
    const links = (await readLinks(host)) ?? []
    const down = carried.filter(({ name }) => !links.some((link) => link.name === name && link.carrier))
    if (down.length === 0) return null
    if (host.monotonic() >= until) return `${down[0]?.name} lost its link and did not get it back`
    await wait(CARRIER_POLL_MS)
  }
}

function kernelWord(stderr: string): string {
  return (
    stderr
      .trim()
      .split('\n')[0]
      ?.replace(/^(RTNETLINK answers|Error): /, '') ?? 'no reason given'
  )
}
