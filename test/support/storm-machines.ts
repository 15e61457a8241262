// The lines of a storm that are about machines, their disks, NICs and snapshots: each has a machine of its own, from its
// creation to its end.
import assert from 'node:assert/strict'
import type { CloudStackLab } from '../../lab/cloudstack/server.ts'
import { wellKnown } from '../../lab/site.ts'
import type { Line, LineParts } from './storm-books.ts'

const { service_offerings, disk_offerings, networks, templates, isos, zone } = wellKnown

const MACHINE = {
  zone_id: zone,
  template_id: templates['Debian 12'],
  service_offering_id: service_offerings.small,
  network_ids: [networks['office-shared']],
}

export function machineLines(parts: LineParts): Line[] {
  return [() => life(parts), () => sizes(parts), () => disks(parts), () => nics(parts), () => snapshots(parts)]
}

async function provision({ send, tag }: LineParts, what: string, start = true): Promise<string> {
  return send('vmProvision', { body: { ...MACHINE, name: `storm-${what}-${tag}`, start }, makes: 'vms' })
}

async function end({ send }: LineParts, virtual_machine_id: string): Promise<void> {
  await send('vmDestroy', { body: { virtual_machine_id, expunge: true }, removes: ['vms', virtual_machine_id] })
}

async function life(parts: LineParts): Promise<void> {
  const { platform, send } = parts
  const virtual_machine_id = await provision(parts, 'life')
  const body = { virtual_machine_id }
  const vm = () => machine(platform, virtual_machine_id)
  const is = (state: string) => ({ body, shows: () => vm().state === state })
  await send('vmReboot', { body, runs: 'rebootVirtualMachine' })
  const { hostid } = vm()
  await send('vmMigrate', { body: { ...body, auto_select: true }, shows: () => vm().hostid !== hostid })
  await send('vmStop', is('Stopped'))
  await send('vmStart', is('Running'))
  const root = rootOf(platform, virtual_machine_id)
  await send('vmRestore', {
    body: { ...body, source: 'template', expunge: true },
    shows: () => rootOf(platform, virtual_machine_id) !== root,
  })
  await send('vmDestroy', is('Destroyed'))
  await send('vmRecover', is('Stopped'))
  await send('vmDestroy', is('Destroyed'))
  await send('vmExpunge', { body, removes: ['vms', virtual_machine_id] })
}

async function sizes(parts: LineParts): Promise<void> {
  const { platform, send, tag } = parts
  const virtual_machine_id = await provision(parts, 'sizes', false)
  const body = { virtual_machine_id }
  const vm = () => machine(platform, virtual_machine_id)
  await send('vmUpdate', {
    body: { ...body, display_name: `Storm ${tag}` },
    shows: () => vm().displayname === `Storm ${tag}`,
  })
  await send('vmScale', {
    body: { ...body, service_offering_id: service_offerings.medium },
    shows: () => vm().serviceofferingid === service_offerings.medium,
  })
  await send('vmSettingsCompute', {
    body: { ...body, service_offering_id: service_offerings.large },
    shows: () => vm().serviceofferingid === service_offerings.large,
  })
  await send('vmSettingsUpdate', {
    body: { ...body, settings: { keyboard: 'us' } },
    shows: () => vm().details['keyboard'] === 'us',
  })
  await send('vmTpmConfigure', {
    body: { ...body, boot_type: 'UEFI', secure_boot: true, tpm_model: 'tpm-crb' },
    shows: () => vm().details['UEFI'] === 'SECURE',
  })
  const group = await send('affinityGroupCreate', {
    body: { name: `group-${tag}`, type: 'host anti-affinity' },
    makes: 'affinitygroups',
  })
  await send('vmAffinityUpdate', {
    body: { ...body, affinity_group_ids: [group] },
    shows: () => vm().affinitygroupids.includes(group),
  })
  await send('vmAffinityUpdate', {
    body: { ...body, affinity_group_ids: [] },
    shows: () => !vm().affinitygroupids.includes(group),
  })
  await send('affinityGroupDelete', { body: { affinity_group_id: group }, removes: ['affinitygroups', group] })
  const user_data = Buffer.from(`#cloud-config\n# ${tag}\n`).toString('base64')
  await send('vmUserDataReset', { body: { ...body, user_data }, shows: () => vm().userdata === user_data })
  await send('vmIsoAttach', { body: { ...body, iso_id: isos['virtio-win'] }, shows: () => vm().isoid !== null })
  await send('vmIsoDetach', { body, shows: () => vm().isoid === null })
  await end(parts, virtual_machine_id)
}

async function disks(parts: LineParts): Promise<void> {
  const { platform, send, tag } = parts
  const { volumes } = platform.state.tables
  const virtual_machine_id = await provision(parts, 'disks', false)
  const volume_id = await send('vmDiskCreate', {
    body: { virtual_machine_id, name: `disk-${tag}`, disk_offering_id: disk_offerings['ssd-20'] },
    makes: 'volumes',
  })
  const disk = () => volumes.get(volume_id)
  const larger = 100 * 1024 ** 3
  await send('vmDiskResize', {
    body: { volume_id, disk_offering_id: disk_offerings['ssd-100'] },
    shows: () => disk()?.size_bytes === larger,
  })
  const snapshot_id = await send('volumeSnapshotCreate', {
    body: { volume_id, name: `copy-${tag}` },
    makes: 'snapshots',
  })
  await send('volumeSnapshotRevert', { body: { snapshot_id }, runs: 'revertSnapshot' })
  await send('volumeSnapshotDelete', { body: { snapshot_id }, removes: ['snapshots', snapshot_id] })
  await send('vmDiskDetach', { body: { volume_id }, shows: () => disk()?.virtualmachineid === null })
  await send('vmDiskAttach', {
    body: { volume_id, virtual_machine_id },
    shows: () => disk()?.virtualmachineid === virtual_machine_id,
  })
  await send('vmDiskDetach', { body: { volume_id }, shows: () => disk()?.virtualmachineid === null })
  await send('volumeDelete', { body: { volume_id }, removes: ['volumes', volume_id] })
  await end(parts, virtual_machine_id)
}

async function nics(parts: LineParts): Promise<void> {
  const { platform, send } = parts
  const virtual_machine_id = await provision(parts, 'nics')
  const vm = () => machine(platform, virtual_machine_id)
  const body = { virtual_machine_id }
  const [first] = vm().nics
  assert.ok(first !== undefined)
  await send('vmNicAdd', {
    body: { ...body, network_id: networks['storage-l2'] },
    shows: () => vm().nics.length === 2,
  })
  const second = vm().nics.find((nic) => nic.id !== first.id)
  assert.ok(second !== undefined)
  await send('vmNicSetDefault', {
    body: { ...body, nic_id: second.id },
    shows: () => vm().nics.some((nic) => nic.id === second.id && nic.isdefault),
  })
  const addresses = () => vm().nics.find((nic) => nic.id === first.id)?.secondaryips ?? []
  await send('vmNicIpAdd', { body: { ...body, nic_id: first.id }, shows: () => addresses().length === 1 })
  const secondary_ip_id = addresses()[0]?.id
  await send('vmNicIpRemove', { body: { secondary_ip_id }, shows: () => addresses().length === 0 })
  await send('vmStop', { body, shows: () => vm().state === 'Stopped' })
  const primary = () => vm().nics.find((nic) => nic.id === first.id)?.ipaddress
  const before = primary()
  await send('vmNicIpUpdate', { body: { ...body, nic_id: first.id }, shows: () => primary() !== before })
  await end(parts, virtual_machine_id)
}

async function snapshots(parts: LineParts): Promise<void> {
  const { send, tag } = parts
  const virtual_machine_id = await provision(parts, 'snapshots')
  const body = { virtual_machine_id, name: `snap-${tag}`, memory: true }
  const snapshot_id = await send('vmSnapshotCreate', { body, makes: 'vmsnapshots' })
  await send('vmSnapshotRevert', { body: { snapshot_id }, runs: 'revertToVMSnapshot' })
  await send('vmSnapshotDelete', { body: { snapshot_id }, removes: ['vmsnapshots', snapshot_id] })
  await end(parts, virtual_machine_id)
}

function machine({ state }: CloudStackLab, id: string) {
  const vm = state.tables.vms.get(id)
  assert.ok(vm !== null, `machine ${id} is there`)
  return vm
}

function rootOf({ state }: CloudStackLab, vm_id: string): string | undefined {
  return state.tables.volumes.by('vm', vm_id).find((one) => one.type === 'ROOT' && one.state === 'Ready')?.id
}
