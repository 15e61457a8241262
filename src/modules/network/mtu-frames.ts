// Verification by raw frames where nobody answers pings: one node listens while the other sends at the full size.
import { randomInt } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Client } from '#src/contract/client.ts'
import type { mtu } from '#src/contract/network/mtu.ts'
import type { MtuProbe } from './mtu-survey.ts'

export interface FrameCheck {
  from: Client<typeof mtu.routes>
  to: Client<typeof mtu.routes>
  probe: MtuProbe
  signal: AbortSignal
}

const FRAMES = 20
const WINDOW_MS = 4000
/** The listener gives no sign when it is ready, so a later round begins later. */
const HEAD_STARTS_MS = [300, 1000, 2500]

/** Null when frames arrived; else why that is not known. */
export async function verifyByFrames(
  { from, to, probe, signal }: FrameCheck,
  peer_mac: string | undefined,
): Promise<string | null> {
  let said = 'no frame was sent'
  for (const head_start_ms of HEAD_STARTS_MS) {
    const token = randomInt(2 ** 32)
    const shared = { mtu: probe.mtu, count: FRAMES, token }
    const heard = to.mtuL2Probe({
      body: { ...shared, device: probe.peer_bridge, mode: 'listen', window_ms: WINDOW_MS },
    })
    heard.catch(() => {})
    await pause(head_start_ms, undefined, { signal })
    const target = peer_mac === undefined ? { peer: probe.target } : { peer_mac }
    const sending = from.mtuL2Probe({ body: { ...shared, ...target, device: probe.bridge, mode: 'send' } })
    // The listener is through before anybody asks it again, also after a failure.
    await Promise.allSettled([sending, heard])
    const [{ sent }, { received }] = await Promise.all([sending, heard])
    if (received > 0) return null
    said = `nobody answers pings, and of ${sent} frames none arrived`
  }
  return said
}
