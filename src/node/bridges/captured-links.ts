// Bridges on a captured host: devices that were added live in memory and appear in every later answer about links.
import type { Host, RunResult } from '#src/kernel/host.ts'
import { listOf, parseJson, recordOf } from '../foreign-json.ts'

type Row = Record<string, unknown>

/** The same captured host, on which `ip link add`, `set` and `del` of bridges, VLANs and VXLANs hold. */
export function rememberLinks(host: Host): Host {
  const added = new Map<string, Row>()
  let next_index = 10_000
  const add = (args: readonly string[]): RunResult => {
    // `ip link add link bond0 …`: the first `link` is the command.
    const words = args.slice(2)
    const after = (word: string): string | undefined =>
      words.includes(word) ? words[words.indexOf(word) + 1] : undefined
    const kind = after('type') ?? ''
    const name = after('name') ?? args[2] ?? ''
    if (added.has(name)) return ended(2, 'RTNETLINK answers: File exists\n')
    const id = after('id')
    next_index += 1
    added.set(name, {
      ifindex: next_index,
      ifname: name,
      flags: ['BROADCAST', 'MULTICAST'],
      mtu: kind === 'vxlan' ? 1450 : 1500,
      operstate: 'DOWN',
      link_type: 'ether',
      address: `02:00:00:00:${hex(next_index >> 8)}:${hex(next_index & 255)}`,
      ...(kind === 'vlan' ? { link: after('link') } : {}),
      linkinfo: { info_kind: kind, ...(id === undefined ? {} : { info_data: { id: Number(id) } }) },
      addr_info: [],
    })
    return ended(0, '')
  }
  const set = (name: string, args: readonly string[]): RunResult => {
    const row = added.get(name)
    if (row === undefined) return ended(1, `Cannot find device "${name}"\n`)
    const [word, value] = args
    if (word === 'mtu') added.set(name, { ...row, mtu: Number(value) })
    if (word === 'master') added.set(name, { ...row, master: value })
    if (word === 'up') added.set(name, { ...row, operstate: 'UP', flags: [...listOf(row['flags']), 'UP', 'LOWER_UP'] })
    return ended(0, '')
  }
  return {
    ...host,
    async run(tool, args, options) {
      const [noun, verb, ...rest] = args
      if (tool !== 'ip') return host.run(tool, args, options)
      if (noun === 'link' && verb === 'add') return add(args)
      const device = rest[0] === 'dev' ? rest[1] : undefined
      if (noun === 'link' && verb === 'del' && device !== undefined) {
        return added.delete(device) ? ended(0, '') : ended(1, `Cannot find device "${device}"\n`)
      }
      if (noun === 'link' && verb === 'set' && device !== undefined && added.has(device))
        return set(device, rest.slice(2))
      const result = await host.run(tool, args, options)
      const lists_links = args[0] === '-j' && (args.includes('link') || args.includes('addr'))
      return lists_links && added.size > 0
        ? { ...result, stdout: withRows(result.stdout, [...added.values()]) }
        : result
    },
  }
}

function withRows(text: string, more: readonly Row[]): string {
  const rows = parseJson(text)
  return Array.isArray(rows) ? JSON.stringify([...rows.map(recordOf), ...more]) : text
}

function hex(byte: number): string {
  return (byte & 255).toString(16).padStart(2, '0')
}

function ended(exit_code: number, stderr: string): RunResult {
  return { outcome: 'exited', exit_code, stdout: '', stderr }
}
