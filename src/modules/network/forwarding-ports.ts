// The two ways to name ports, and what must be true of them before the platform is asked.
import type { PortForwarding, PortForwardingCreate } from '#src/contract/network/port-forwarding.ts'
import { invalidField } from '#src/kernel/errors.ts'

export interface PortRange {
  start: number
  end: number
}

type CreatePorts = Pick<
  PortForwardingCreate,
  'public_port' | 'private_port' | 'public_port_start' | 'public_port_end' | 'private_port_start' | 'private_port_end'
>

const SINGLE = ['public_port', 'private_port'] as const
const RANGE = ['public_port_start', 'public_port_end', 'private_port_start', 'private_port_end'] as const

/** Either both single ports or all four of the range, never a mixture. */
export function portsOf(body: CreatePorts): { public: PortRange; private: PortRange } {
  requireOneMode(body, SINGLE, RANGE)
  const { public_port: single, private_port } = body
  if (single !== undefined && private_port !== undefined) {
    return { public: { start: single, end: single }, private: { start: private_port, end: private_port } }
  }
  const outer = orderedRange(body.public_port_start, body.public_port_end, 'public')
  const inner = orderedRange(body.private_port_start, body.private_port_end, 'private')
  requireSameWidth(outer, inner)
  return { public: outer, private: inner }
}

type UpdatePorts = Pick<CreatePorts, 'private_port' | 'private_port_start' | 'private_port_end'>

/** The new private ports of a rule, as many as its public ones. */
export function newPrivatePorts(body: UpdatePorts, rule: PortForwarding): PortRange {
  requireOneMode(body, ['private_port'], ['private_port_start', 'private_port_end'])
  const { private_port } = body
  const inner =
    private_port === undefined
      ? orderedRange(body.private_port_start, body.private_port_end, 'private')
      : { start: private_port, end: private_port }
  const { public_port_start: start, public_port_end: end } = rule
  if (start !== null && end !== null) requireSameWidth({ start, end }, inner)
  return inner
}

function requireOneMode(
  body: CreatePorts,
  single: readonly (keyof CreatePorts)[],
  range: readonly (keyof CreatePorts)[],
): void {
  const given = (names: readonly (keyof CreatePorts)[]) => names.filter((name) => body[name] !== undefined)
  const [singles, ranges] = [given(single), given(range)]
  if (singles.length > 0 && ranges.length > 0)
    throw invalidField(`body.${ranges[0]}`, `cannot be given together with ${singles.join(' and ')}`)
  const wanted = ranges.length > 0 ? range : single
  const missing = wanted.find((name) => body[name] === undefined)
  if (singles.length + ranges.length === 0)
    throw invalidField('body', `give either ${single.join(' and ')}, or ${range.join(', ')}`)
  if (missing !== undefined) throw invalidField(`body.${missing}`, 'is required with the other ports')
}

function orderedRange(start: number | undefined, end: number | undefined, side: 'public' | 'private'): PortRange {
  if (start === undefined || end === undefined) throw invalidField(`body.${side}_port_start`, 'is required')
  if (start > end) throw invalidField(`body.${side}_port_start`, `is greater than ${side}_port_end`)
  return { start, end }
}

function requireSameWidth(outer: PortRange, inner: PortRange): void {
  const [public_ports, private_ports] = [outer.end - outer.start + 1, inner.end - inner.start + 1]
  if (public_ports === private_ports) return
  throw invalidField(
    'body.private_port_end',
    `makes ${private_ports} private ports for ${public_ports} public ones; they must be as many`,
  )
}

export function overlaps(rule: PortForwarding, ports: PortRange): boolean {
  const { public_port_start: start, public_port_end: end } = rule
  return start !== null && end !== null && ports.start <= end && start <= ports.end
}

export function wordsFor(protocol: string, { start, end }: PortRange): string {
  return start === end ? `${protocol} port ${start}` : `${protocol} ports ${start} to ${end}`
}
