// The product's own MTU file, for devices that no network manager of the node has a place for.
import type { DeviceMtu } from './change.ts'

export const OWN_FOLDER = '/etc/groundplane/mtu'

export function ownFilePath(bridge: string): string {
  return `${OWN_FOLDER}/${bridge}.conf`
}

export function ownFileText(devices: readonly DeviceMtu[]): string {
  const lines = devices.map(({ name, mtu }) => `${name} ${mtu}`)
  return `${['# MTU of devices that the network configuration does not name; set when the agent starts.', ...lines].join('\n')}\n`
}

export function parseOwnFile(text: string): DeviceMtu[] {
  return text.split('\n').flatMap((line) => {
    const match = /^([A-Za-z0-9_][A-Za-z0-9_.-]{0,14}) (\d{2,5})$/.exec(line)
    return match?.[1] === undefined ? [] : [{ name: match[1], mtu: Number(match[2]) }]
  })
}
