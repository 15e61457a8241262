// MTU in /etc/network/interfaces: an `mtu` line where the method takes one, else a `post-up` command.
import { type ConfigFile, type DeviceMtu, editEach, type PersistAdapter } from './change.ts'

export const ifupdown: PersistAdapter = {
  name: 'ifupdown',
  sources: [
    { path: '/etc/network/interfaces', ending: '' },
    { path: '/etc/network/interfaces.d', ending: '' },
  ],
  owns: (files, bridge) => files.some(({ text }) => stanzas(text, bridge).length > 0),
  plan: (files, bridge, devices) => editEach(files, devices, (now, device) => edit(now, bridge, device)),
}

interface Stanza {
  first: number
  /** Line after the last one of the stanza. */
  end: number
  method: string
}

/** Words that end a stanza when they begin a line. */
const HEADS = /^\s*(iface|auto|allow-\S+|mapping|source|source-directory|no-auto-down|no-scripts|rename|template)\b/
/** Methods whose option list has `mtu` (interfaces(5)). */
const TAKES_MTU = ['static', 'manual', 'auto', 'loopback']

function edit(files: readonly ConfigFile[], bridge: string, device: DeviceMtu): ConfigFile[] | null {
  for (const owner of device.name === bridge ? [bridge] : [device.name, bridge]) {
    const file = files.find(({ text }) => stanzas(text, owner).length > 0)
    if (file === undefined) continue
    return [{ path: file.path, text: setMtu(file.text, owner, device) }]
  }
  return null
}

function setMtu(text: string, owner: string, { name, mtu }: DeviceMtu): string {
  const lines = text.split('\n')
  const found = stanzas(text, owner)
  const command = new RegExp(
    `^\\s*(?:post-)?up\\s+(?:/\\S+/)?ip link set dev ${name.replaceAll('.', '\\.')} mtu \\d+\\s*$`,
  )
  let replaced = false
  for (const { first, end } of found) {
    for (let at = first + 1; at < end; at += 1) {
      const line = lines[at] ?? ''
      if (owner === name && /^\s*mtu\s+\d+/.test(line)) lines[at] = line.replace(/mtu\s+\d+/, `mtu ${mtu}`)
      else if (command.test(line)) lines[at] = line.replace(/mtu \d+/, `mtu ${mtu}`)
      else continue
      replaced = true
    }
  }
  const stanza = found[0]
  if (replaced || stanza === undefined) return lines.join('\n')
  const own_line = owner === name && TAKES_MTU.includes(stanza.method)
  lines.splice(stanza.first + 1, 0, own_line ? `    mtu ${mtu}` : `    post-up ip link set dev ${name} mtu ${mtu}`)
  return lines.join('\n')
}

function stanzas(text: string, device: string): Stanza[] {
  const lines = text.split('\n')
  const found: Stanza[] = []
  let open: Stanza | undefined
  for (const [at, line] of lines.entries()) {
    if (!HEADS.test(line)) continue
    if (open !== undefined) open.end = at
    open = undefined
    const [word, name, , method] = line.trim().split(/\s+/)
    if (word !== 'iface' || name !== device) continue
    open = { first: at, end: lines.length, method: method ?? '' }
    found.push(open)
  }
  return found
}
