// MTU in the files of systemd-networkd: `[Link] MTUBytes=` of the device's own .network, else `[NetDev] MTUBytes=`.
import { type ConfigFile, type DeviceMtu, editEach, type PersistAdapter } from './change.ts'
import { iniSet, iniValues } from './ini-text.ts'

export const networkd: PersistAdapter = {
  name: 'systemd-networkd',
  sources: [
    { path: '/etc/systemd/network', ending: '.network' },
    { path: '/etc/systemd/network', ending: '.netdev' },
  ],
  owns: (files, bridge) => files.some((file) => namesOnly(file, bridge)),
  plan: (files, _bridge, devices) => editEach(files, devices, edit),
}

function edit(files: readonly ConfigFile[], { name, mtu }: DeviceMtu): ConfigFile[] | null {
  const own = files.filter((file) => namesOnly(file, name))
  const networks = own.filter(({ path }) => path.endsWith('.network'))
  const netdevs = own.filter(({ path }) => path.endsWith('.netdev'))
  const first = networks[0]
  const edited: ConfigFile[] = []
  // networkd takes the first matching file in the order of names; later ones are dead text.
  if (first !== undefined) edited.push({ path: first.path, text: iniSet(first.text, 'Link', 'MTUBytes', `${mtu}`) })
  for (const { path, text } of netdevs) {
    if (first !== undefined && iniValues(text, 'NetDev', 'MTUBytes').length === 0) continue
    edited.push({ path, text: iniSet(text, 'NetDev', 'MTUBytes', `${mtu}`) })
  }
  return edited.length === 0 ? null : edited
}

/** A file that matches several devices must not be touched for one of them. */
function namesOnly({ path, text }: ConfigFile, device: string): boolean {
  const names = path.endsWith('.netdev') ? iniValues(text, 'NetDev', 'Name') : iniValues(text, 'Match', 'Name')
  return names.length === 1 && names[0] === device
}
