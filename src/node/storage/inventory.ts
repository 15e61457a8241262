// The disks of this node: lsblk, and sysfs for what the device database does not know (it is empty in containers).
import type { Disk } from '#src/contract/storage/host.ts'
import type { Host } from '#src/kernel/host.ts'
import { at, booleanOf, integerOf, listOf, parseJson, recordOf, textOf, textsOf } from '../untrusted-json.ts'
import type { PollResult } from '../poller.ts'

export interface InventoryDisk {
  /** Kernel name: sda, nvme0n1. */
  name: string
  device: string
  type: Disk['type']
  size_bytes: number
  model: string | null
  serial: string | null
  mount_point: string | null
  /** A disk that a hypervisor or a RAID controller made up. */
  virtual: boolean
  raid_volume: boolean
  /** Its own path and those of everything on it: partitions, volumes. */
  paths: string[]
  /** File systems and members found on it or on a part of it. */
  holds: string[]
  /** Storage daemon whose data is on it, as the volume's tags or its folder say. */
  osd: { id: number; path: string } | null
}

export interface Inventory {
  disks: InventoryDisk[]
  /** Every block device path there is: a pool member that is not among them is gone. */
  paths: Set<string>
}

const COLUMNS =
  'NAME,KNAME,PATH,TYPE,SIZE,ROTA,TRAN,MODEL,SERIAL,WWN,VENDOR,REV,PKNAME,FSTYPE,LABEL,PARTLABEL,MOUNTPOINTS,HCTL,RM,RO'
const NOT_A_DISK = /^(loop|zram|zd|rbd|nbd|ram|sr|fd)\d/
const OSD_FOLDER = '/var/lib/ceph/osd'

export async function readInventory(host: Host): Promise<PollResult<Inventory>> {
  const ran = await host.run('lsblk', ['-J', '-b', '-o', COLUMNS], { timeout_ms: 10_000 })
  if (ran.outcome === 'missing') return { failure: 'lsblk is not installed' }
  const parsed = parseJson(ran.stdout)
  if (ran.outcome !== 'exited' || parsed === undefined) return { failure: 'lsblk gave no list of block devices' }
  const inventory = parseInventory(parsed)
  const osds = await readLocalOsds(host, inventory)
  const disks = await Promise.all(
    inventory.disks.map(async (disk) => ({ ...(await withSysfs(host, disk)), osd: osdOn(disk, osds) })),
  )
  return { value: { ...inventory, disks } }
}

export function parseInventory(value: unknown): Inventory {
  const rows = listOf(at(value, 'blockdevices'))
  const paths = new Set<string>()
  const disks = rows.flatMap((row) => {
    const below = tree(row)
    for (const one of below) for (const path of pathsOf(one)) paths.add(path)
    const disk = diskOf(row, below)
    return disk === null ? [] : [disk]
  })
  return { disks: disks.sort((a, b) => (a.device < b.device ? -1 : 1)), paths }
}

function diskOf(row: unknown, below: readonly unknown[]): InventoryDisk | null {
  const name = textOf(at(row, 'kname')) ?? textOf(at(row, 'name'))
  const size_bytes = integerOf(at(row, 'size')) ?? 0
  if (name === null || textOf(at(row, 'type')) !== 'disk' || NOT_A_DISK.test(name) || size_bytes === 0) return null
  const words = `${textOf(at(row, 'vendor')) ?? ''} ${textOf(at(row, 'model')) ?? ''}`
  return {
    name,
    device: textOf(at(row, 'path')) ?? `/dev/${name}`,
    type: name.startsWith('nvme') ? 'nvme' : booleanOf(at(row, 'rota')) === true ? 'hdd' : 'ssd',
    size_bytes,
    model: textOf(at(row, 'model')),
    serial: textOf(at(row, 'serial')),
    mount_point: mountPoint(below.flatMap(mountsOf)),
    virtual: isVirtual(name, words),
    raid_volume: /\braid\b|logical volume|\bvirtual disk\b|perc\b/i.test(words),
    paths: below.flatMap(pathsOf),
    holds: below.flatMap((one) =>
      [textOf(at(one, 'fstype')), textOf(at(one, 'partlabel'))].flatMap((word) => word ?? []),
    ),
    osd: null,
  }
}

/** The root first: bind mounts of the same file system may be listed before it. */
function mountPoint(mounts: readonly string[]): string | null {
  return mounts.includes('/') ? '/' : (mounts[0] ?? null)
}

/** MOUNTPOINTS is `[null]` when nothing is mounted; older versions have MOUNTPOINT. */
function mountsOf(row: unknown): string[] {
  const many = textsOf(at(row, 'mountpoints'))
  const one = textOf(at(row, 'mountpoint'))
  return many.length > 0 || one === null ? many : [one]
}

/** A pool names its members by the kernel's path, a volume also has one under /dev/mapper. */
function pathsOf(row: unknown): string[] {
  const kname = textOf(at(row, 'kname'))
  const path = textOf(at(row, 'path')) ?? (kname === null ? null : `/dev/${kname}`)
  return [...new Set([path, kname === null ? null : `/dev/${kname}`].flatMap((one) => one ?? []))]
}

function tree(row: unknown): unknown[] {
  return [row, ...listOf(recordOf(row)['children']).flatMap(tree)]
}

function isVirtual(name: string, words: string): boolean {
  return /^(vd|xvd)[a-z]/.test(name) || /\b(QEMU|VBOX|VMware|Msft)\b/i.test(words)
}

/** Texts in sysfs are padded with blanks. */
async function withSysfs(host: Host, disk: InventoryDisk): Promise<InventoryDisk> {
  if (disk.model !== null && disk.serial !== null) return disk
  const device = `/sys/block/${disk.name}/device`
  const [model, vendor, serial, wwid, own_wwid] = await Promise.all(
    [`${device}/model`, `${device}/vendor`, `${device}/serial`, `${device}/wwid`, `/sys/block/${disk.name}/wwid`].map(
      async (path) => textOf(await host.read(path)),
    ),
  )
  const words = `${vendor ?? ''} ${model ?? ''}`
  return {
    ...disk,
    model: disk.model ?? model ?? null,
    serial: disk.serial ?? serial ?? wwid ?? own_wwid ?? null,
    virtual: disk.virtual || isVirtual(disk.name, words),
  }
}

interface LocalOsd {
  id: number
  devices: string[]
}

/** What this machine alone knows of storage daemons, for when the cluster store does not answer. */
async function readLocalOsds(host: Host, inventory: Inventory): Promise<LocalOsd[]> {
  const folders = (await host.list(OSD_FOLDER)) ?? []
  const linked = await Promise.all(
    folders.flatMap((name) => {
      const id = /^[\w.]+-(\d{1,6})$/.exec(name)?.[1]
      return id === undefined ? [] : [linkedOsd(host, Number(id), `${OSD_FOLDER}/${name}/block`)]
    }),
  )
  const has_volumes = inventory.disks.some((disk) => disk.holds.includes('LVM2_member'))
  return [...linked.flatMap((one) => one ?? []), ...(has_volumes ? await taggedOsds(host) : [])]
}

async function linkedOsd(host: Host, id: number, path: string): Promise<LocalOsd | null> {
  const target = await host.link(path)
  return target === null ? null : { id, devices: [target] }
}

async function taggedOsds(host: Host): Promise<LocalOsd[]> {
  const ran = await host.run('lvs', ['--reportformat', 'json', '-o', 'lv_name,lv_tags,devices'], { timeout_ms: 10_000 })
  return ran.outcome === 'exited' ? parseTaggedVolumes(parseJson(ran.stdout)) : []
}

export function parseTaggedVolumes(value: unknown): LocalOsd[] {
  return listOf(at(value, 'report'))
    .flatMap((report) => listOf(at(report, 'lv')))
    .flatMap((volume) => {
      const tags = new Map((textOf(at(volume, 'lv_tags')) ?? '').split(',').map((tag) => pair(tag)))
      const id = integerOf(tags.get('ceph.osd_id'))
      if (id === null || tags.get('ceph.type') !== 'block') return []
      const devices = (textOf(at(volume, 'devices')) ?? '').split(',').map((device) => device.replace(/\(\d+\)$/, ''))
      return [{ id, devices }]
    })
}

function pair(tag: string): [string, string] {
  const [name = '', value = ''] = tag.split('=')
  return [name, value]
}

function osdOn(disk: InventoryDisk, osds: readonly LocalOsd[]): InventoryDisk['osd'] {
  const found = osds.find((osd) => osd.devices.some((device) => disk.paths.includes(device)))
  return found === undefined ? null : { id: found.id, path: `${OSD_FOLDER}/ceph-${found.id}` }
}
