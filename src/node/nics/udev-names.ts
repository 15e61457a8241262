// Names for PCI and hardware-address ids out of the udev database, where the machine has one.
import type { Host } from '#src/kernel/host.ts'
import { runFailure } from '../net/reading.ts'

export interface UdevNames {
  pci_vendor: string | null
  pci_device: string | null
  mac_vendor: string | null
}

export async function readUdevNames(host: Host, ifname: string): Promise<UdevNames> {
  const path = `/sys/class/net/${ifname}`
  const result = await host.run('udevadm', ['info', '-q', 'property', '-p', path], { timeout_ms: 3_000 })
  return parseUdevNames(runFailure('udevadm', result) === null ? result.stdout : '')
}

export function parseUdevNames(properties: string): UdevNames {
  const value = (name: string): string | null => new RegExp(`^${name}=(.+)$`, 'm').exec(properties)?.[1]?.trim() || null
  return {
    pci_vendor: value('ID_VENDOR_FROM_DATABASE'),
    pci_device: value('ID_MODEL_FROM_DATABASE'),
    mac_vendor: value('ID_OUI_FROM_DATABASE'),
  }
}
