/** The simulated data centre's facts that every simulator shares: its size, its names and the ids that tests may rely on. */
import { createHash } from 'node:crypto'

export interface SiteSize {
  vms: number
  hosts: number
  clusters: number
  networks: number
  tenants: number
}

export const DEFAULT_SIZE: SiteSize = { vms: 40, hosts: 6, clusters: 2, networks: 3, tenants: 2 }

/** The same thing has the same id in every run, so that a test can name it without asking first. */
export function seededId(kind: string, name: string): string {
  const hex = createHash('sha1').update(`${kind}/${name}`).digest('hex')
  const variant = ((Number.parseInt(hex.slice(16, 18), 16) & 0x3f) | 0x80).toString(16).padStart(2, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(18, 20)}-${hex.slice(20, 32)}`
}

function known<N extends string>(kind: string, names: readonly N[]): Record<N, string> {
  const ids: Partial<Record<N, string>> = {}
  for (const name of names) ids[name] = seededId(kind, name)
  return complete(names, ids)
}

function complete<N extends string>(names: readonly N[], ids: Partial<Record<N, string>>): Record<N, string> {
  if (names.every((name) => ids[name] !== undefined)) return ids as Record<N, string> // every name was set just above
  throw new Error('an id is missing')
}

export const ZONE_NAME = 'Frankfurt-1'
export const POD_NAME = 'Frankfurt-1-pod-1'

const VM_NAMES = [
  'web-01',
  'web-02',
  'web-03',
  'db-01',
  'db-02',
  'gitlab',
  'runner-01',
  'runner-02',
  'mail',
  'vpn',
  'grafana',
  'prometheus',
  'loki',
  'nextcloud',
  'wiki',
  'jenkins',
  'registry',
  'redis-01',
  'redis-02',
  'rabbitmq',
  'kafka-01',
  'kafka-02',
  'kafka-03',
  'elastic-01',
  'elastic-02',
  'bastion',
  'proxy-01',
  'proxy-02',
  'build-win',
  'ad-dc-01',
  'print',
  'backup-proxy',
  'erp-app',
  'erp-db',
  'shop-frontend',
  'shop-api',
  'crm',
  'render-gpu',
  'legacy-crm',
  'old-test',
] as const

const TENANT_NAMES = ['acme', 'globex'] as const

/** Ids of seeded things by name: `wellKnown.vms['web-01']`. */
export const wellKnown = {
  zone: seededId('zone', ZONE_NAME),
  pod: seededId('pod', POD_NAME),
  clusters: known('cluster', ['cluster-a', 'cluster-b']),
  hosts: known('host', ['kvm-01', 'kvm-02', 'kvm-03', 'kvm-04', 'kvm-05', 'kvm-06']),
  storage_pools: known('storagepool', ['ceph-rbd', 'nfs-primary']),
  physical_network: seededId('physicalnetwork', 'guest-physical'),
  domains: { ROOT: seededId('domain', 'ROOT'), ...known('domain', TENANT_NAMES) },
  accounts: { admin: seededId('account', 'admin'), ...known('account', TENANT_NAMES) },
  project: seededId('project', 'acme-staging'),
  templates: known('template', [
    'Debian 12',
    'Ubuntu 24.04',
    'Rocky Linux 9',
    'Windows Server 2022',
    'Alpine 3.20 (downloading)',
  ]),
  isos: known('iso', ['debian-12-netinst', 'windows-server-2022', 'virtio-win']),
  service_offerings: known('serviceoffering', ['small', 'medium', 'large', 'xlarge', 'custom', 'gpu-a2']),
  disk_offerings: known('diskoffering', ['ssd-20', 'ssd-100', 'custom-ssd', 'archive-500']),
  network_offerings: known('networkoffering', ['isolated-nat', 'shared', 'l2', 'vpc-tier']),
  networks: known('network', ['acme-net', 'office-shared', 'storage-l2']),
  gpu_cards: known('gpucard', ['NVIDIA A2', 'NVIDIA A16']),
  vgpu_profiles: known('vgpuprofile', ['A2 passthrough', 'A16 passthrough', 'NVIDIA A16-4Q']),
  public_range: seededId('vlan', 'public'),
  vms: known('vm', VM_NAMES),
} as const

/** Management and BMC addresses follow the host's number, so that other simulators show the same machines. */
export function hostFacts(index: number): { name: string; ip: string; bmc_ip: string } {
  const number = index + 1
  const third = Math.floor(number / 250)
  const last = (number % 250) + 10
  return {
    name: `kvm-${String(number).padStart(2, '0')}`,
    ip: `10.0.${third}.${last}`,
    bmc_ip: `10.1.${third}.${last}`,
  }
}

/** Names beyond the hand-written ones are made by role, as a grown site has them. */
export function vmName(index: number): string {
  const given = VM_NAMES[index]
  if (given !== undefined) return given
  const roles = ['web', 'app', 'db', 'cache', 'queue', 'worker', 'build', 'test', 'batch', 'edge']
  return `${roles[index % roles.length] ?? 'vm'}-${String(index).padStart(5, '0')}`
}

export function tenantName(index: number): string {
  return TENANT_NAMES[index] ?? `tenant-${String(index + 1).padStart(3, '0')}`
}

export function clusterName(index: number): string {
  return `cluster-${index < 26 ? String.fromCodePoint(97 + index) : String(index + 1)}`
}

/** A repeatable pseudo-random number in [0, 1) from two integers: metrics and seeds need no stored state. */
export function noise(a: number, b: number): number {
  let x = Math.imul(a ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(b + 0x7f4a7c15, 0xc2b2ae35)
  x = Math.imul(x ^ (x >>> 15), 0x2c1b3c6d)
  x = Math.imul(x ^ (x >>> 12), 0x297a2d39)
  return ((x ^ (x >>> 15)) >>> 0) / 4294967296
}
