// Root queue disciplines by device, classed by what they do (`tc -j qdisc show`).
import type { QueueDiscipline } from '#src/contract/network/node-net.ts'
import { at, listOf, numberOf, textOf } from '../untrusted-json.ts'
import type { Link } from './links.ts'

const PROFILES: Readonly<Record<string, QueueDiscipline['profile']>> = {
  fq_codel: 'aqm',
  fq: 'aqm',
  codel: 'aqm',
  cake: 'aqm',
  fq_pie: 'aqm',
  pie: 'aqm',
  mq: 'multiqueue',
  mqprio: 'multiqueue',
  multiq: 'multiqueue',
  pfifo_fast: 'control-priority',
  prio: 'control-priority',
  htb: 'shaped',
  hfsc: 'shaped',
  tbf: 'shaped',
  cbq: 'shaped',
  netem: 'shaped',
  noqueue: 'none',
  none: 'none',
  noop: 'none',
}

/** Children carry `parent` instead of `root`, as ingress and clsact do: neither is the root of a device. */
export function queueDisciplines(
  value: unknown,
  links: readonly Link[],
  physical: ReadonlySet<string>,
): QueueDiscipline[] {
  const byName = new Map(links.map((link) => [link.ifname, link]))
  return listOf(value).flatMap((row) => {
    const device = textOf(at(row, 'dev'))
    const kind = textOf(at(row, 'kind'))
    const link = device === null ? undefined : byName.get(device)
    if (device === null || kind === null || link === undefined || at(row, 'root') !== true) return []
    const device_class = link.kind === 'bridge' ? 'bridge' : physical.has(device) ? 'nic' : 'virtual'
    return [{ device, device_class, profile: profileOf(kind, row), root_qdisc: kind } satisfies QueueDiscipline]
  })
}

/** CAKE shapes only when it is given a bandwidth; "unlimited" is text. */
function profileOf(kind: string, row: unknown): QueueDiscipline['profile'] {
  if (kind === 'cake' && numberOf(at(row, 'options', 'bandwidth')) !== null) return 'shaped'
  return PROFILES[kind] ?? 'unmanaged'
}
