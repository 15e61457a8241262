// The hardware behind a NIC: driver, firmware, PCI ids and their names, single-root virtualisation.
import { resolve } from 'node:path'
import type { NicHardware } from '#src/contract/network/eligible-nics.ts'
import type { Host } from '#src/kernel/host.ts'
import { type Cache, cacheKey } from '../cache.ts'
import type { Ethtool } from '../net/ethtool.ts'
import type { Link } from '../net/links.ts'
import type { DeviceFacts } from '../net/snapshot.ts'
import type { UnavailableFields } from '../unavailable.ts'
import { readUdevNames, type UdevNames } from './udev-names.ts'

const CACHE_TTL_MS = 60_000

export interface HardwareText {
  modalias: string | null
  vendor: string | null
  device: string | null
  subsystem_vendor: string | null
  subsystem_device: string | null
  sriov_totalvfs: string | null
  physfn: string | null
  device_link: string | null
  udev: UdevNames
}

export function readHardware(host: Host, cache: Cache, link: Link): Promise<HardwareText> {
  const key = cacheKey<HardwareText>('nic-hardware', link.ifname, link.ifindex, link.address ?? '')
  return cache.get(key, CACHE_TTL_MS, async () => {
    const device = `/sys/class/net/${link.ifname}/device`
    const device_link = await host.link(device)
    const pci = await pciFolder(host, link, device_link)
    const text = async (path: string): Promise<string | null> => (await host.read(path))?.trim() || null
    const [modalias, vendor, id, subsystem_vendor, subsystem_device, sriov_totalvfs, physfn, udev] = await Promise.all([
      text(`${device}/modalias`),
      text(`${pci}/vendor`),
      text(`${pci}/device`),
      text(`${pci}/subsystem_vendor`),
      text(`${pci}/subsystem_device`),
      text(`${device}/sriov_totalvfs`),
      host.link(`${device}/physfn`),
      readUdevNames(host, link.ifname),
    ])
    return {
      modalias,
      vendor,
      device: id,
      subsystem_vendor,
      subsystem_device,
      sriov_totalvfs,
      physfn,
      device_link,
      udev,
    }
  })
}

/** The device of a virtio NIC is the virtio device; its PCI ids are one directory up. */
async function pciFolder(host: Host, link: Link, device_link: string | null): Promise<string> {
  const own = `/sys/class/net/${link.ifname}`
  const virtio = link.parentbus === 'virtio' || /virtio\d+$/.test(device_link ?? '')
  const target = virtio ? await host.link(own) : null
  return target === null ? `${own}/device` : resolve('/sys/class/net', target, '../../..')
}

export async function nicHardware(
  parts: { host: Host; cache: Cache; ethtool: Ethtool },
  link: Link,
  facts: DeviceFacts | undefined,
  unavailable: UnavailableFields,
): Promise<NicHardware> {
  const [text, info] = await Promise.all([readHardware(parts.host, parts.cache, link), parts.ethtool.info(link)])
  const shown = info.ok ? info.value : null
  const unknown = info.ok ? 'the driver does not tell' : info.reason
  const noPci = 'the device is not on a PCI bus'
  const subsystem = text.subsystem_vendor === null ? null : `${text.subsystem_vendor}:${text.subsystem_device ?? ''}`
  const field = <T>(name: keyof NicHardware, value: T | null | undefined, reason: string): T | null =>
    unavailable.orNull(`hardware.${name}`, value, reason)
  const bus = link.parentdev ?? text.device_link?.split('/').at(-1) ?? shown?.bus_info
  return {
    bus_info: field('bus_info', bus, 'the device is on no bus'),
    device_type: deviceType(link, facts),
    driver: field('driver', facts?.driver ?? shown?.driver ?? link.kind, 'the device names no driver'),
    driver_version: field('driver_version', shown?.version, unknown),
    firmware_version: field('firmware_version', shown?.firmware, unknown),
    mac_vendor: field('mac_vendor', isLocalMac(link) ? null : text.udev.mac_vendor, macReason(link)),
    modalias: field('modalias', text.modalias, 'no hardware stands behind the device'),
    pci_vendor: field('pci_vendor', text.udev.pci_vendor ?? text.vendor, noPci),
    pci_device: field('pci_device', text.udev.pci_device ?? text.device, noPci),
    pci_subsystem: field('pci_subsystem', subsystem, noPci),
    is_sriov_pf: Number(text.sriov_totalvfs ?? '0') > 0,
    is_sriov_vf: text.physfn !== null,
  }
}

export function deviceType(link: Link, facts: DeviceFacts | undefined): string {
  if (facts?.hardware === true) return 'physical'
  const kind = link.kind ?? ''
  return ['bridge', 'vlan', 'bond', 'vxlan', 'tun'].includes(kind) ? kind : 'virtual'
}

/** Bit 2 of the first byte: given by software, so no maker stands behind it. */
function isLocalMac(link: Link): boolean {
  const first = Number.parseInt((link.permaddr ?? link.address ?? '').slice(0, 2), 16)
  return Number.isNaN(first) || (first & 0x02) !== 0
}

function macReason(link: Link): string {
  return isLocalMac(link) ? 'the address was given by software' : 'no database of makers is installed'
}
