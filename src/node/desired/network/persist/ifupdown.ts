// The whole network of a document in /etc/network/interfaces: one block of ours at its end, and no other stanza of its devices.
import { isIPv6 } from 'node:net'
import type { NetworkDevice, NetworkDocument } from '#src/contract/nodes/desired-documents.ts'
import type { ConfigFile } from '../../../mtu/persist/change.ts'
import { ifupdown } from '../../../mtu/persist/ifupdown.ts'
import { bottomUp } from '../live.ts'
import type { NetworkWriter, WrittenFile } from './writer.ts'

const MAIN = '/etc/network/interfaces'
const BEGIN = '# Begin of what groundplane writes'
const END = '# End of what groundplane writes'

export const ifupdownWriter: NetworkWriter = { adapter: ifupdown, write }

function write(files: readonly ConfigFile[], document: NetworkDocument): WrittenFile[] {
  const names = new Set(document.devices.flatMap(({ name, members = [] }) => [name, ...members]))
  const all = files.some(({ path }) => path === MAIN) ? files : [...files, { path: MAIN, text: '' }]
  return all.flatMap(({ path, text }) => {
    const rest = withoutStanzas(withoutBlock(text), names)
    const block = [BEGIN, ...bottomUp(document).flatMap(stanzasOf), END].join('\n')
    const next = path === MAIN ? `${rest.trimEnd()}${rest.trim() === '' ? '' : '\n\n'}${block}\n` : rest
    return next === text ? [] : [{ path, text: next }]
  })
}

function stanzasOf(device: NetworkDevice): string[] {
  const { name, addresses = [], gateway } = device
  const of = (is_6: boolean) => addresses.filter((address) => isIPv6(address.split('/')[0] ?? '') === is_6)
  const lines = ['', `auto ${name}`]
  const families = [false, true].filter((is_6) => of(is_6).length > 0)
  const methods = families.length === 0 ? [null] : families
  for (const [at, is_6] of methods.entries()) {
    lines.push(`iface ${name} ${is_6 === true ? 'inet6' : 'inet'} ${is_6 === null ? 'manual' : 'static'}`)
    if (at === 0) lines.push(...optionsOf(device).map((option) => `    ${option}`))
    for (const address of is_6 === null ? [] : of(is_6)) lines.push(`    address ${address}`)
    if (gateway !== undefined && isIPv6(gateway) === is_6) lines.push(`    gateway ${gateway}`)
  }
  return lines
}

function optionsOf({ kind, mtu, members = [], mode = '802.3ad', link, ...more }: NetworkDevice): string[] {
  const options = mtu === undefined ? [] : [`mtu ${mtu}`]
  if (kind === 'vlan') options.push(`vlan-raw-device ${link ?? ''}`, `vlan-id ${more.vlan_id ?? 0}`)
  if (kind === 'bridge') {
    options.push(`bridge_ports ${members.length === 0 ? 'none' : members.join(' ')}`, 'bridge_stp off', 'bridge_fd 0')
  }
  if (kind === 'bond') {
    options.push(`bond-slaves ${members.join(' ')}`, `bond-mode ${mode}`, 'bond-miimon 100')
    if (more.lacp_rate !== undefined) options.push(`bond-lacp-rate ${more.lacp_rate}`)
    if (more.xmit_hash_policy !== undefined) options.push(`bond-xmit-hash-policy ${more.xmit_hash_policy}`)
  }
  return options
}

function withoutBlock(text: string): string {
  const lines = text.split('\n')
  const [begin, end] = [lines.indexOf(BEGIN), lines.indexOf(END)]
  return begin < 0 || end < begin ? text : [...lines.slice(0, begin), ...lines.slice(end + 1)].join('\n')
}

const HEADS = /^\s*(iface|auto|allow-\S+|mapping|source|source-directory|no-auto-down|no-scripts|rename|template)\b/

/** Options belong to the stanza before them; comments and empty lines stay. */
function withoutStanzas(text: string, names: ReadonlySet<string>): string {
  let in_ours = false
  return text
    .split('\n')
    .flatMap((line) => {
      const [word = '', ...rest] = line.trim().split(/\s+/)
      if (HEADS.test(line)) {
        in_ours = word === 'iface' && names.has(rest[0] ?? '')
        if (in_ours) return []
        if (word !== 'auto' && !word.startsWith('allow-')) return [line]
        const left = rest.filter((name) => !names.has(name))
        if (left.length === rest.length) return [line]
        return left.length === 0 ? [] : [`${word} ${left.join(' ')}`]
      }
      return in_ours && word !== '' && !word.startsWith('#') ? [] : [line]
    })
    .join('\n')
}
