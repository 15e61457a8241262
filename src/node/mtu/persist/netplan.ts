// MTU in netplan files: `mtu:` of the device, with comments and layout of the file kept.
import { isMap, parseDocument } from 'yaml'
import { type ConfigFile, type DeviceMtu, editEach, type PersistAdapter } from './change.ts'

const SECTIONS = ['bridges', 'bonds', 'vlans', 'ethernets'] as const

export const netplan: PersistAdapter = {
  name: 'netplan',
  sources: [{ path: '/etc/netplan', ending: '.yaml' }],
  owns: (files, bridge) => files.some(({ text }) => sectionOf(text, bridge) !== null),
  plan: (files, _bridge, devices) => editEach(files, devices, edit),
}

function edit(files: readonly ConfigFile[], { name, mtu }: DeviceMtu): ConfigFile[] | null {
  // netplan merges its files in the order of names and the last word counts.
  const file = [...files].sort((a, b) => (a.path < b.path ? 1 : -1)).find(({ text }) => sectionOf(text, name) !== null)
  const section = file === undefined ? null : sectionOf(file.text, name)
  if (file === undefined || section === null) return null
  const document = parseDocument(file.text)
  const node = document.getIn(['network', section, name])
  if (isMap(node)) document.setIn(['network', section, name, 'mtu'], mtu)
  else document.setIn(['network', section, name], document.createNode({ mtu }))
  return [{ path: file.path, text: document.toString({ lineWidth: 0 }) }]
}

function sectionOf(text: string, device: string): (typeof SECTIONS)[number] | null {
  const document = parseDocument(text)
  if (document.errors.length > 0) return null
  return SECTIONS.find((section) => document.hasIn(['network', section, device])) ?? null
}
