// Counters and settings of the network stack from /proc: sockets, backlog, retransmissions, congestion control.
import type { KernelNet, SocketCounts } from '#src/contract/network/node-net.ts'
import type { Host } from '#src/kernel/host.ts'
import { found, lost, type Reading } from './reading.ts'
import type { UnavailableFields } from '../unavailable.ts'

export interface KernelText {
  snmp: string | null
  netstat: string | null
  softnet: string | null
  sockstat: string | null
  sockstat6: string | null
  congestion: string | null
  available_congestion: string | null
  settings: Readonly<Record<string, string | null>>
}

const SETTINGS = {
  somaxconn: '/proc/sys/net/core/somaxconn',
  netdev_max_backlog: '/proc/sys/net/core/netdev_max_backlog',
  rmem_max: '/proc/sys/net/core/rmem_max',
  wmem_max: '/proc/sys/net/core/wmem_max',
  default_qdisc: '/proc/sys/net/core/default_qdisc',
  conntrack_count: '/proc/sys/net/netfilter/nf_conntrack_count',
  conntrack_max: '/proc/sys/net/netfilter/nf_conntrack_max',
} as const

export async function readKernelText(host: Host): Promise<KernelText> {
  const [snmp, netstat, softnet, sockstat, sockstat6, congestion, available_congestion, ...values] = await Promise.all(
    [
      '/proc/net/snmp',
      '/proc/net/netstat',
      '/proc/net/softnet_stat',
      '/proc/net/sockstat',
      '/proc/net/sockstat6',
      '/proc/sys/net/ipv4/tcp_congestion_control',
      '/proc/sys/net/ipv4/tcp_available_congestion_control',
      ...Object.values(SETTINGS),
    ].map((path) => host.read(path)),
  )
  const settings = Object.fromEntries(Object.keys(SETTINGS).map((name, at) => [name, values[at] ?? null]))
  return {
    snmp: snmp ?? null,
    netstat: netstat ?? null,
    softnet: softnet ?? null,
    sockstat: sockstat ?? null,
    sockstat6: sockstat6 ?? null,
    congestion: congestion ?? null,
    available_congestion: available_congestion ?? null,
    settings,
  }
}

/** snmp and netstat print two lines a protocol: names, then values. */
export function protocolCounter(text: string | null, protocol: string, counter: string): Reading<number> {
  if (text === null) return lost('the kernel does not show this table')
  const [names, values] = text
    .split('\n')
    .filter((line) => line.startsWith(`${protocol}:`))
    .map((line) => line.trim().split(/\s+/))
  const value = Number(values?.[names?.indexOf(counter) ?? -1])
  return Number.isFinite(value) ? found(Math.max(0, value)) : lost(`the kernel does not count ${counter}`)
}

/** One line a processor, hexadecimal: column 2 dropped, 3 ran out of budget. */
export function softnetSum(text: string | null, column: 1 | 2): Reading<number> {
  if (text === null) return lost('the kernel does not show this table')
  const rows = text.split('\n').filter((line) => line.trim() !== '')
  const sum = rows.reduce((total, line) => total + Number.parseInt(line.trim().split(/\s+/)[column] ?? '', 16), 0)
  return rows.length > 0 && Number.isFinite(sum) ? found(sum) : lost('the table is empty')
}

export function kernelNet(text: KernelText, unavailable: UnavailableFields): KernelNet {
  const take = <T>(field: keyof KernelNet, reading: Reading<T>): T | null =>
    unavailable.take(`kernel_net.${field}`, reading)
  const setting = (field: keyof typeof SETTINGS & keyof KernelNet): number | null => {
    const raw = text.settings[field] ?? null
    const value = raw === null || raw.trim() === '' ? Number.NaN : Number(raw)
    return take(field, Number.isFinite(value) ? found(value) : lost('the kernel does not show this setting here'))
  }
  const qdisc = text.settings['default_qdisc']?.trim() ?? ''
  return {
    softnet_dropped: take('softnet_dropped', softnetSum(text.softnet, 1)),
    softnet_time_squeeze: take('softnet_time_squeeze', softnetSum(text.softnet, 2)),
    listen_overflows: take('listen_overflows', protocolCounter(text.netstat, 'TcpExt', 'ListenOverflows')),
    listen_drops: take('listen_drops', protocolCounter(text.netstat, 'TcpExt', 'ListenDrops')),
    tcp_timeouts: take('tcp_timeouts', protocolCounter(text.netstat, 'TcpExt', 'TCPTimeouts')),
    somaxconn: setting('somaxconn'),
    netdev_max_backlog: setting('netdev_max_backlog'),
    rmem_max: setting('rmem_max'),
    wmem_max: setting('wmem_max'),
    default_qdisc: take(
      'default_qdisc',
      qdisc === '' ? lost('the kernel does not show this setting here') : found(qdisc),
    ),
    conntrack_count: setting('conntrack_count'),
    conntrack_max: setting('conntrack_max'),
  }
}

/** Field of the answer to protocol line and word of /proc/net/sockstat and sockstat6. */
const SOCKET_FIELDS: Readonly<Record<keyof SocketCounts, readonly [string, string]>> = {
  used: ['sockets', 'used'],
  tcp_inuse: ['TCP', 'inuse'],
  tcp_orphan: ['TCP', 'orphan'],
  tcp_tw: ['TCP', 'tw'],
  tcp_alloc: ['TCP', 'alloc'],
  tcp_mem_pages: ['TCP', 'mem'],
  udp_inuse: ['UDP', 'inuse'],
  udp_mem_pages: ['UDP', 'mem'],
  raw_inuse: ['RAW', 'inuse'],
  frag_inuse: ['FRAG', 'inuse'],
  frag_memory_bytes: ['FRAG', 'memory'],
  tcp6_inuse: ['TCP6', 'inuse'],
  udp6_inuse: ['UDP6', 'inuse'],
  raw6_inuse: ['RAW6', 'inuse'],
  frag6_inuse: ['FRAG6', 'inuse'],
  frag6_memory_bytes: ['FRAG6', 'memory'],
}

export function socketCounts(text: KernelText, unavailable: UnavailableFields): SocketCounts {
  const counts = new Map<string, number>()
  for (const line of `${text.sockstat ?? ''}\n${text.sockstat6 ?? ''}`.split('\n')) {
    const [protocol = '', ...words] = line.trim().split(/\s+/)
    for (let at = 0; at + 1 < words.length; at += 2) counts.set(`${protocol}${words[at]}`, Number(words[at + 1]))
  }
  const take = (field: keyof SocketCounts): number | null => {
    const [protocol, word] = SOCKET_FIELDS[field]
    return unavailable.orNull(
      `sockets.${field}`,
      counts.get(`${protocol}:${word}`),
      'the kernel does not count this here',
    )
  }
  return {
    used: take('used'),
    tcp_inuse: take('tcp_inuse'),
    tcp_orphan: take('tcp_orphan'),
    tcp_tw: take('tcp_tw'),
    tcp_alloc: take('tcp_alloc'),
    tcp_mem_pages: take('tcp_mem_pages'),
    udp_inuse: take('udp_inuse'),
    udp_mem_pages: take('udp_mem_pages'),
    raw_inuse: take('raw_inuse'),
    frag_inuse: take('frag_inuse'),
    frag_memory_bytes: take('frag_memory_bytes'),
    tcp6_inuse: take('tcp6_inuse'),
    udp6_inuse: take('udp6_inuse'),
    raw6_inuse: take('raw6_inuse'),
    frag6_inuse: take('frag6_inuse'),
    frag6_memory_bytes: take('frag6_memory_bytes'),
  }
}
