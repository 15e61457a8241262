// MTU in the keyfiles of NetworkManager: `[ethernet] mtu=` of the profile bound to the device.
import { editEach, type PersistAdapter } from './change.ts'
import { iniSet, iniValues } from './ini-text.ts'

export const networkManager: PersistAdapter = {
  name: 'NetworkManager',
  sources: [{ path: '/etc/NetworkManager/system-connections', ending: '.nmconnection' }],
  owns: (files, bridge) => files.some(({ text }) => boundTo(text, bridge)),
  plan: (files, _bridge, devices) =>
    editEach(files, devices, (now, { name, mtu }) => {
      const own = now.filter(({ text }) => boundTo(text, name))
      if (own.length === 0) return null
      return own.map(({ path, text }) => ({ path, text: iniSet(text, 'ethernet', 'mtu', `${mtu}`) }))
    }),
}

function boundTo(text: string, device: string): boolean {
  return iniValues(text, 'connection', 'interface-name').includes(device)
}
