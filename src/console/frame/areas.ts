// The pages that the rail and the palette lead to, in their groups.
import { whyNot } from '../api/why-not.ts'
import type { Me } from '../session/session.ts'

interface Entry {
  href: string
  title: string
  /** What the page reads first: who may not read it is not led there. */
  reads?: string
}

const GROUPS: readonly { title: string; entries: readonly Entry[] }[] = [
  {
    title: 'Now',
    entries: [
      { href: '/', title: 'Overview' },
      { href: '/timeline', title: 'Timeline', reads: 'appEventList' },
      { href: '/jobs', title: 'Jobs', reads: 'jobList' },
      { href: '/alerts', title: 'Alerts', reads: 'networkAlertsList' },
    ],
  },
  {
    title: 'Compute',
    entries: [
      { href: '/vms', title: 'Virtual machines', reads: 'vmList' },
      { href: '/gpus', title: 'GPUs', reads: 'gpuDeviceList' },
      { href: '/catalog', title: 'Catalogue', reads: 'templateList' },
    ],
  },
  {
    title: 'Network',
    entries: [
      { href: '/networks', title: 'Networks', reads: 'guestNetworkList' },
      { href: '/addresses', title: 'Addresses', reads: 'dhcpScopeList' },
      { href: '/mtu', title: 'MTU', reads: 'mtuReport' },
      { href: '/fabric', title: 'Fabric', reads: 'frrDashboardRead' },
    ],
  },
  {
    title: 'Site',
    entries: [
      { href: '/nodes', title: 'Nodes', reads: 'nodeList' },
      { href: '/hosts', title: 'Hosts', reads: 'hostList' },
      { href: '/storage', title: 'Storage', reads: 'volumeList' },
      { href: '/platform', title: 'Platform', reads: 'hostList' },
      { href: '/cameras', title: 'Cameras', reads: 'cameraList' },
      { href: '/ha', title: 'High availability', reads: 'haMemberList' },
    ],
  },
  {
    title: 'People',
    entries: [
      { href: '/tenants', title: 'Tenants', reads: 'tenantList' },
      { href: '/access', title: 'Access', reads: 'userList' },
      { href: '/lists/auditList', title: 'Audit', reads: 'auditList' },
    ],
  },
  {
    title: 'Everything',
    entries: [
      { href: '/lists', title: 'Lists' },
      { href: '/operations', title: 'Operations' },
      { href: '/help', title: 'Help' },
    ],
  },
]

export function readableGroups(me: Me) {
  const readable = ({ reads }: Entry): boolean => reads === undefined || whyNot(me, reads) === null
  return GROUPS.map(({ title, entries }) => ({ title, entries: entries.filter(readable) })).filter(
    ({ entries }) => entries.length > 0,
  )
}
