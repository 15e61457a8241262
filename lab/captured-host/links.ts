/** The network devices of a captured host that were added or changed: they appear in every later answer about links. */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { CapturedHost, CommandResult } from './host.ts'

type Row = Record<string, unknown>

/** MTU values that were set, by device; kept in a folder of files, because the stub command `ip` writes them as well. */
interface MtuValues {
  all(): Promise<ReadonlyMap<string, number>>
  set(device: string, mtu: number): Promise<void>
}

/** The same captured host, on which `ip link add`, `set` and `del` hold, with the kernel's own rejections. */
export function rememberLinks(host: CapturedHost, mtu_dir: string | undefined): CapturedHost {
  const added = new Map<string, Row>()
  const values = mtu_dir === undefined ? inMemory() : inFolder(mtu_dir)
  const answer = (tool: string, args: readonly string[]): Promise<CommandResult> => {
    const [noun, verb, ...rest] = args
    if (tool === 'ping') return ping(host, values, args)
    if (tool !== 'ip') return host.run(tool, args)
    if (args.join(' ').endsWith('route flush cache')) return Promise.resolve(ended(0, ''))
    if (noun !== 'link') return listed(host, added, values, args)
    if (verb === 'add') return Promise.resolve(add(added, args))
    const device = rest[0] === 'dev' ? rest[1] : undefined
    if (device === undefined || (verb !== 'set' && verb !== 'del')) return host.run(tool, args)
    if (verb === 'del') return Promise.resolve(added.delete(device) ? ended(0, '') : noDevice(device))
    if (rest[2] === 'mtu') return setMtu(host, added, values, device, Number(rest[3]))
    return Promise.resolve(set(added, device, rest.slice(2)))
  }
  return {
    ...host,
    async read(path) {
      const device = /^\/sys\/class\/net\/([^/]+)\/mtu$/.exec(path)?.[1]
      const known = device === undefined ? undefined : (await values.all()).get(device)
      return known === undefined ? host.read(path) : `${known}\n`
    },
    run: answer,
  }
}

function add(added: Map<string, Row>, args: readonly string[]): CommandResult {
  // `ip link add link bond0 …`: the first `link` is the command.
  const words = args.slice(2)
  const after = (word: string): string | undefined =>
    words.includes(word) ? words[words.indexOf(word) + 1] : undefined
  const kind = after('type') ?? ''
  const name = after('name') ?? args[2] ?? ''
  if (added.has(name)) return ended(2, 'RTNETLINK answers: File exists\n')
  const id = after('id')
  const index = 10_001 + added.size
  added.set(name, {
    ifindex: index,
    ifname: name,
    flags: ['BROADCAST', 'MULTICAST'],
    mtu: kind === 'vxlan' ? 1450 : 1500,
    operstate: 'DOWN',
    link_type: 'ether',
    address: `02:00:00:00:${hex(index >> 8)}:${hex(index & 255)}`,
    ...(kind === 'vlan' ? { link: after('link') } : {}),
    linkinfo: { info_kind: kind, ...(id === undefined ? {} : { info_data: { id: Number(id) } }) },
    addr_info: [],
  })
  return ended(0, '')
}

function set(added: Map<string, Row>, name: string, [word, value]: readonly string[]): CommandResult {
  const row = added.get(name)
  if (row === undefined) return noDevice(name)
  if (word === 'master') added.set(name, { ...row, master: value })
  if (word === 'up') {
    const flags: unknown[] = Array.isArray(row['flags']) ? row['flags'] : []
    added.set(name, { ...row, operstate: 'UP', flags: [...flags, 'UP', 'LOWER_UP'] })
  }
  return ended(0, '')
}

async function setMtu(
  host: CapturedHost,
  added: Map<string, Row>,
  values: MtuValues,
  device: string,
  mtu: number,
): Promise<CommandResult> {
  const own = added.get(device)
  if (own !== undefined) {
    added.set(device, { ...own, mtu })
    return ended(0, '')
  }
  const link = rowsOf((await host.run('ip', ['-j', '-d', 'link'])).stdout)?.find((row) => row['ifname'] === device)
  if (link === undefined) return noDevice(device)
  const most = Number(link['max_mtu'] ?? 0)
  if (most !== 0 && mtu > most) return ended(2, 'Error: mtu greater than device maximum.\n')
  await values.set(device, mtu)
  return ended(0, '')
}

/** Every later answer about links shows what was added and set. */
async function listed(
  host: CapturedHost,
  added: ReadonlyMap<string, Row>,
  values: MtuValues,
  args: readonly string[],
): Promise<CommandResult> {
  const result = await host.run('ip', args)
  if (args[0] !== '-j' || !(args.includes('link') || args.includes('addr'))) return result
  const mtus = await values.all()
  const rows = rowsOf(result.stdout)
  if (rows === null || (added.size === 0 && mtus.size === 0)) return result
  const shown = rows.map((row) => ({ ...row, mtu: mtus.get(String(row['ifname'])) ?? row['mtu'] }))
  return { ...result, stdout: JSON.stringify([...shown, ...added.values()]) }
}

/** Peers answer pings that fit through the device. */
async function ping(host: CapturedHost, values: MtuValues, args: readonly string[]): Promise<CommandResult> {
  const device = args[args.indexOf('-I') + 1]
  const rows = rowsOf((await host.run('ip', ['-j', '-d', 'link'])).stdout) ?? []
  const recorded = rows.find((row) => row['ifname'] === device)?.['mtu']
  const room = (await values.all()).get(device ?? '') ?? Number(recorded ?? 0)
  const size = Number(args[args.indexOf('-s') + 1]) + (args.includes('-6') ? 48 : 28)
  return size <= room ? ended(0, '') : ended(1, `ping: local error: message too long, mtu=${room}\n`)
}

function inMemory(): MtuValues {
  const values = new Map<string, number>()
  return {
    all: () => Promise.resolve(values),
    set: (device, mtu) => Promise.resolve(void values.set(device, mtu)),
  }
}

function inFolder(folder: string): MtuValues {
  return {
    async all() {
      const names = await readdir(folder).catch(() => [])
      const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8').catch(() => '')))
      return new Map(names.map((name, at) => [name, Number(texts[at])] as const).filter(([, mtu]) => mtu > 0))
    },
    async set(device, mtu) {
      await mkdir(folder, { recursive: true })
      await writeFile(join(folder, device), `${mtu}\n`)
    },
  }
}

function rowsOf(text: string): Row[] | null {
  try {
    const rows: unknown = JSON.parse(text)
    return Array.isArray(rows) ? rows.map((row): Row => ({ ...(row as object) })) : null
  } catch {
    return null
  }
}

function noDevice(name: string): CommandResult {
  return ended(1, `Cannot find device "${name}"\n`)
}

function hex(byte: number): string {
  return (byte & 255).toString(16).padStart(2, '0')
}

function ended(exit_code: number, stderr: string): CommandResult {
  return { outcome: 'exited', exit_code, stdout: '', stderr }
}
