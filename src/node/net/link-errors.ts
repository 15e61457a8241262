// Error counters of a device: one total, and a sentence for each counter that is not zero.
import type { InterfaceErrors } from '#src/contract/network/node-net.ts'
import type { Link, LinkCounters } from './links.ts'

const REASONS: Readonly<Record<string, string>> = {
  rx_over: 'Frames were lost because the receiver overflowed; the machine could not keep up.',
  rx_length: 'Frames had an impossible length; often an MTU or VLAN setting that differs on the other side.',
  rx_crc: 'Frames arrived damaged; check cable, transceiver and connector.',
  rx_frame: 'Frames were not aligned; check cable and duplex setting.',
  rx_fifo: 'The receive buffer of the NIC overflowed; a larger receive ring may help.',
  rx_missed: 'The NIC had no free receive buffer; a larger receive ring or more queues may help.',
  tx_carrier: 'The link was lost while sending; check cable and the port on the other side.',
  tx_aborted: 'Sending was given up after too many collisions or by the driver.',
  tx_fifo: 'The transmit buffer of the NIC ran empty in mid-frame; the machine could not keep up.',
  tx_window: 'A collision came too late; check duplex setting and cable length.',
  tx_heartbeat: 'The transceiver did not confirm a frame; old hardware or a failing transceiver.',
  collisions: 'Another station sent at the same time; a full-duplex link must not have any.',
  rx_dropped: 'Received packets were thrown away: no memory, an unknown protocol or a full backlog.',
  tx_dropped: 'Packets to send were thrown away, usually because the queue was full.',
}

/** Receive errors + transmit errors + collisions. The errors already include crc, frame and the others. */
export function errorTotal(counters: LinkCounters): number {
  return counters.rx_errors + counters.tx_errors + counters.collisions
}

export function dropTotal(counters: LinkCounters): number {
  return counters.rx_dropped + counters.tx_dropped + counters.rx_missed
}

/** Counters that are not zero, by name. */
export function errorBreakdown(counters: LinkCounters): Record<string, number> {
  return Object.fromEntries(Object.entries(counters.errors).filter(([, count]) => count > 0))
}

export function linkErrors(link: Link): InterfaceErrors {
  const details = Object.entries(errorBreakdown(link.counters)).map(([counter, count]) => ({
    counter,
    count,
    reason: errorReason(counter),
  }))
  return { total: errorTotal(link.counters), details }
}

export function errorReason(counter: string): string {
  return REASONS[counter] ?? 'The kernel counted an error of this kind.'
}

/** The device with the largest value above zero; equal values go by name. */
export function largest(links: readonly Link[], value: (link: Link) => number): { link: Link; value: number } | null {
  let best: { link: Link; value: number } | null = null
  for (const link of [...links].sort((a, b) => a.ifname.localeCompare(b.ifname))) {
    const own = value(link)
    if (own > (best?.value ?? 0)) best = { link, value: own }
  }
  return best
}
