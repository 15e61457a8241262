// Records the real machine it runs on into a folder that a captured host answers from (format: lab/hosts/README.md).
// Usage: node tools/capture-node.ts FOLDER   (as root; only reads, changes nothing)
import { mkdir, readdir, readFile, readlink, writeFile } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { linuxHost } from '../src/kernel/host.ts'

const FILES = [
  '/proc/sys/kernel/hostname',
  '/proc/sys/kernel/random/boot_id',
  '/proc/net/snmp',
  '/proc/net/netstat',
  '/proc/net/softnet_stat',
  '/proc/net/sockstat',
  '/proc/net/sockstat6',
  '/proc/net/dev',
  '/proc/diskstats',
  '/proc/sys/net/ipv4/tcp_congestion_control',
  '/proc/sys/net/ipv4/tcp_available_congestion_control',
  '/proc/sys/net/core/somaxconn',
  '/proc/sys/net/core/netdev_max_backlog',
  '/proc/sys/net/core/rmem_max',
  '/proc/sys/net/core/wmem_max',
  '/proc/sys/net/core/default_qdisc',
  '/proc/sys/net/netfilter/nf_conntrack_count',
  '/proc/sys/net/netfilter/nf_conntrack_max',
  '/etc/hosts',
]

const LINKS = ['-j', '-d', '-s', '-s', 'addr', 'show']
const COMMANDS: readonly (readonly [string, readonly string[], readonly (readonly string[])[]])[] = [
  [
    'ip',
    LINKS,
    [
      ['-j', '-s', '-s', 'link', 'show'],
      ['-j', '-d', 'link'],
    ],
  ],
  ['ip', ['-j', 'route', 'show', 'default'], []],
  ['ip', ['-j', '-6', 'route', 'show', 'default'], []],
  ['tc', ['-j', 'qdisc', 'show'], []],
  ['bridge', ['-j', 'vlan', 'show'], []],
  ['bridge', ['-j', 'vni', 'show'], []],
  ['bridge', ['-j', 'fdb', 'show'], []],
  ['chronyc', ['-c', '-n', 'tracking'], []],
  ['chronyc', ['-c', '-n', 'sources'], []],
  ['timedatectl', ['show', '-p', 'NTPSynchronized', '--value'], []],
  ['timedatectl', ['show-timesync', '--all'], []],
]

const NIC_COMMANDS = (nic: string): [string, string[]][] => [
  ['ethtool', ['--json', '-k', nic]],
  ['ethtool', ['-g', nic]],
  ['ethtool', ['-i', nic]],
  ['ethtool', [nic]],
  ['udevadm', ['info', '-q', 'property', '-p', `/sys/class/net/${nic}`]],
]

const NIC_FILES = ['speed', 'duplex', 'carrier', 'flags', 'operstate', 'mtu', 'address']
const DEVICE_FILES = ['modalias', 'vendor', 'device', 'subsystem_vendor', 'subsystem_device', 'sriov_totalvfs']

const [folder] = process.argv.slice(2)
if (folder === undefined) {
  process.stderr.write('usage: node tools/capture-node.ts FOLDER\n')
  process.exitCode = 2
} else {
  await capture(folder)
}

async function capture(dir: string): Promise<void> {
  const links: Record<string, string> = {}
  for (const path of FILES) await keepFile(dir, path)
  const nics = await readdir('/sys/class/net')
  for (const nic of nics) await captureNic(dir, nic, links)
  const recorded = new Map<string, unknown[]>()
  for (const [tool, args, also] of COMMANDS) await record(recorded, tool, args, also)
  for (const nic of nics) for (const [tool, args] of NIC_COMMANDS(nic)) await record(recorded, tool, args, [])
  const gateway = /default via (\S+)/.exec((await linuxHost().run('ip', ['route', 'show', 'default'])).stdout)?.[1]
  if (gateway !== undefined) await record(recorded, 'ip', ['-j', 'route', 'get', gateway], [])
  for (const [tool, list] of recorded)
    await keep(join(dir, 'commands', `${tool}.json`), `${JSON.stringify(list, null, 1)}\n`)
  await keep(join(dir, 'links.json'), `${JSON.stringify(links, null, 2)}\n`)
  const hostname = (await readFile('/proc/sys/kernel/hostname', 'utf8')).trim()
  const about = {
    hostname,
    description: '',
    captured_at: new Date().toISOString(),
    node_net: { uplinks: [], roles: {} },
  }
  await keep(join(dir, 'host.json'), `${JSON.stringify(about, null, 2)}\n`)
}

async function captureNic(dir: string, nic: string, links: Record<string, string>): Promise<void> {
  const base = `/sys/class/net/${nic}`
  for (const name of NIC_FILES) await keepFile(dir, `${base}/${name}`)
  for (const name of ['device', 'device/driver', 'device/physfn']) {
    const target = await readlink(`${base}/${name}`).catch(() => null)
    if (target !== null) links[`${base}/${name}`] = target
  }
  for (const name of DEVICE_FILES) await keepFile(dir, `${base}/device/${name}`)
  const own = await readlink(base).catch(() => null)
  if (own === null || !(links[`${base}/device`] ?? '').includes('virtio')) return
  // The PCI ids of a virtio NIC are one directory above its device.
  links[base] = own
  for (const name of DEVICE_FILES) await keepFile(dir, join(resolve('/sys/class/net', own, '../../..'), name))
}

/** A tool that is not installed is left out, which is how a captured host knows that it is missing. */
async function record(
  recorded: Map<string, unknown[]>,
  tool: string,
  args: readonly string[],
  also: readonly (readonly string[])[],
): Promise<void> {
  const { outcome, exit_code, stdout, stderr } = await linuxHost().run(tool, args)
  if (outcome !== 'exited') return
  const list = recorded.get(tool) ?? []
  recorded.set(tool, list)
  const json = jsonOf(stdout)
  const answer = json === undefined ? { stdout } : { stdout_json: json }
  list.push({
    tool,
    args,
    ...(also.length === 0 ? {} : { also }),
    exit_code,
    ...answer,
    ...(stderr === '' ? {} : { stderr }),
  })
}

function jsonOf(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

async function keepFile(dir: string, path: string): Promise<void> {
  const text = await readFile(path, 'utf8').catch(() => null)
  if (text !== null) await keep(join(dir, 'files', path), text)
}

async function keep(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text)
}
