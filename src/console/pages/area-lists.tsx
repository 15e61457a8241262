// Areas whose pages are lists beside each other: what can be done stands on each list and on each row.
import { type Part, PartLists } from './part-lists.tsx'

interface AreaProps {
  part?: string | undefined
}

const NETWORKS: readonly Part[] = [
  { path: '', title: 'Guest networks', operation: 'guestNetworkList' },
  { path: 'public', title: 'Public addresses', operation: 'publicIpList' },
  { path: 'routers', title: 'Routers', operation: 'routerList' },
  { path: 'providers', title: 'Providers', operation: 'serviceProviderList' },
]

export function NetworksPage({ part }: AreaProps) {
  return <PartLists title="Networks" base="/networks" parts={NETWORKS} part={part} />
}

const CATALOGUE: readonly Part[] = [
  { path: '', title: 'Templates', operation: 'templateList' },
  { path: 'isos', title: 'ISO images', operation: 'isoList' },
  { path: 'offerings', title: 'Offerings', operation: 'serviceOfferingList' },
  { path: 'disks', title: 'Disk offerings', operation: 'diskOfferingList' },
  { path: 'keys', title: 'SSH keys', operation: 'sshKeyList' },
  { path: 'affinity', title: 'Affinity groups', operation: 'affinityGroupList' },
]

export function CataloguePage({ part }: AreaProps) {
  return <PartLists title="Catalogue" base="/catalog" parts={CATALOGUE} part={part} />
}

const GPUS: readonly Part[] = [
  { path: '', title: 'Devices', operation: 'gpuDeviceList' },
  { path: 'cards', title: 'Cards', operation: 'gpuCardList' },
  { path: 'profiles', title: 'Profiles', operation: 'vgpuProfileList' },
]

export function GpusPage({ part }: AreaProps) {
  return <PartLists title="GPUs" base="/gpus" parts={GPUS} part={part} />
}

const ACCESS: readonly Part[] = [
  { path: '', title: 'Users', operation: 'userList' },
  { path: 'tokens', title: 'Tokens', operation: 'tokenList' },
  { path: 'sessions', title: 'Sessions', operation: 'sessionList' },
]

export function AccessPage({ part }: AreaProps) {
  return <PartLists title="Access" base="/access" parts={ACCESS} part={part} />
}

const PLATFORM: readonly Part[] = [
  { path: '', title: 'Events', operation: 'eventList' },
  { path: 'jobs', title: 'Jobs', operation: 'discoveryAsyncJobList' },
  { path: 'capacity', title: 'Capacity', operation: 'discoveryCapacityList' },
  { path: 'apis', title: 'Calls', operation: 'discoveryApiList' },
  { path: 'machines', title: 'System machines', operation: 'systemVmList' },
]

export function PlatformPage({ part }: AreaProps) {
  return <PartLists title="Platform" base="/platform" parts={PLATFORM} part={part} />
}
