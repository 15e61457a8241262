/** Operating systems, templates and ISOs. */
import { seededId, wellKnown } from '../../site.ts'
import type { Template } from '../records.ts'
import type { SimulatorState } from '../state.ts'

const GIB = 1024 ** 3

const OS_NAMES = [
  'Debian GNU/Linux 12 (64-bit)',
  'Ubuntu 24.04 LTS',
  'Rocky Linux 9',
  'Windows Server 2022 (64-bit)',
  'Other Linux (64-bit)',
] as const

export const OS_TYPES = {
  debian: seededId('ostype', OS_NAMES[0]),
  ubuntu: seededId('ostype', OS_NAMES[1]),
  rocky: seededId('ostype', OS_NAMES[2]),
  windows: seededId('ostype', OS_NAMES[3]),
  other: seededId('ostype', OS_NAMES[4]),
}

export function seedImages(state: SimulatorState): void {
  for (const description of OS_NAMES)
    state.tables.ostypes.put({ id: seededId('ostype', description), name: description, description })
  const { templates, isos } = wellKnown
  image(state, templates['Debian 12'], { name: 'Debian 12', ostypeid: OS_TYPES.debian, size_bytes: 8 * GIB })
  image(state, templates['Ubuntu 24.04'], { name: 'Ubuntu 24.04', ostypeid: OS_TYPES.ubuntu, size_bytes: 10 * GIB })
  image(state, templates['Rocky Linux 9'], { name: 'Rocky Linux 9', ostypeid: OS_TYPES.rocky, size_bytes: 10 * GIB })
  image(state, templates['Windows Server 2022'], {
    name: 'Windows Server 2022',
    ostypeid: OS_TYPES.windows,
    size_bytes: 40 * GIB,
    passwordenabled: true,
  })
  image(state, templates['Alpine 3.20 (downloading)'], {
    name: 'Alpine 3.20 (downloading)',
    ostypeid: OS_TYPES.other,
    size_bytes: GIB,
    isready: false,
    status: '42% Downloaded',
    percent: 42,
    downloadstate: 'DOWNLOAD_IN_PROGRESS',
  })
  image(state, isos['debian-12-netinst'], {
    name: 'debian-12-netinst',
    ostypeid: OS_TYPES.debian,
    size_bytes: 660 * 1024 ** 2,
    iso: true,
  })
  image(state, isos['windows-server-2022'], {
    name: 'windows-server-2022',
    ostypeid: OS_TYPES.windows,
    size_bytes: 5 * GIB,
    iso: true,
  })
  image(state, isos['virtio-win'], {
    name: 'virtio-win',
    ostypeid: OS_TYPES.windows,
    size_bytes: 700 * 1024 ** 2,
    iso: true,
    bootable: false,
  })
}

function image(state: SimulatorState, id: string, set: Partial<Template> & { name: string; ostypeid: string }): void {
  const iso = set.iso === true
  state.tables.templates.put({
    id,
    displaytext: set.name,
    iso,
    format: iso ? 'ISO' : 'QCOW2',
    hypervisor: iso ? 'None' : 'KVM',
    zoneid: wellKnown.zone,
    size_bytes: GIB,
    isready: true,
    ispublic: true,
    isfeatured: true,
    bootable: true,
    requireshvm: true,
    passwordenabled: false,
    isdynamicallyscalable: !iso,
    checksum: null,
    url: `http://10.0.0.60/images/${encodeURIComponent(set.name)}`,
    created: state.seeded_at - 60 * 86_400_000,
    status: 'Download Complete',
    percent: 100,
    downloadstate: 'DOWNLOADED',
    templatetype: 'USER',
    details: {},
    accountid: wellKnown.accounts.admin,
    projectid: null,
    ...set,
  })
}
