// What the id fields of the contract name, a thing of acme and one of globex for each, and how the rest of a request is made.
import assert from 'node:assert/strict'
import { wellKnown } from '../../lab/site.ts'
import type { RouteSpec } from '#src/contract/route.ts'
import type { Lab } from '../support/start-lab.ts'
import { otherTenantThings } from './other-tenant-things.ts'

/** Id fields that name nothing a tenant could own, of all operations or of one. */
export const BELONGS_TO_NOBODY: Readonly<Record<string, string>> = {
  zone_id: 'Zones are the site’s.',
  os_type_id: 'Kinds of guest systems are the platform’s.',
  device_id: 'Number of a slot in the machine.',
  network_offering_id: 'Offerings of networks are the site’s.',
  'networkOfferingList id': 'Offerings of networks are the site’s.',
  physical_network_id: 'Physical networks are the site’s.',
  last_event_id: 'Position in the caller’s own stream.',
  user_id: 'Number of a user, a filter of events that are the tenant’s in any case.',
  identity_provider_id: 'Entity id of a SAML provider.',
  key_pairs: 'Names, looked up by the platform among those of the machine’s owner.',
  correlation_id: 'An operation; what it did in another tenant is not shown (test/api/timeline.test.ts).',
  record_id: 'Record of the DNS under an address that is checked itself.',
}

/** Kind of thing by the field's name; the operation decides where names are shared. */
const KIND_OF_FIELD: Readonly<Record<string, string>> = {
  virtual_machine_id: 'vm', vm_id: 'vm', volume_id: 'volume', volume_ids: 'volume', network_id: 'network', network_ids: 'network',
  template_id: 'template', iso_id: 'iso', service_offering_id: 'service_offering', disk_offering_id: 'disk_offering',
  affinity_group_id: 'affinity_group', affinity_group_ids: 'affinity_group', ssh_key_id: 'ssh_key', user_data_id: 'user_data', project_id: 'project',
  vpc_id: 'vpc', host_id: 'host', cluster_id: 'cluster', pod_id: 'pod', public_ip_id: 'address', ip_id: 'address', nic_id: 'nic',
  secondary_ip_id: 'secondary_ip', domain_id: 'tenant', security_group_ids: 'security_group', snapshot_id: 'snapshot',
  backup_id: 'backup', resource_id: 'vm', resource_uuid: 'vm',
} // biome-ignore format: one table

const KIND_OF_ID: readonly [operation: RegExp, kind: string][] = [
  [/^vmSnapshot/, 'vm_snapshot'],
  [/^vm/, 'vm'],
  [/^volumeSnapshot/, 'snapshot'],
  [/^affinityGroup/, 'affinity_group'],
  [/^sshKey/, 'ssh_key'],
  [/^userData/, 'user_data'],
  [/^project/, 'project'],
  [/^backup/, 'backup'],
  [/^volume/, 'volume'],
  [/^guestNetwork/, 'network'],
  [/^portForwarding/, 'rule'],
  [/^firewallRule/, 'firewall_rule'],
  [/^loadBalancer/, 'load_balancer'],
  [/^tenant/, 'tenant'],
  [/^diskOffering/, 'disk_offering'],
  [/^job/, 'job'],
  [/^appEvent/, 'event'],
]

export interface Values {
  own: Readonly<Record<string, string>>
  of_others: Readonly<Record<string, string>>
}

/** Things of the site: an answer may show them, and a caller of a tenant may not choose among them. */
export const SITE_KINDS: readonly string[] = ['host', 'cluster', 'pod']

export function isIdField(path: string): boolean {
  return /(^|_)(ids?|uuid)$|^key_pairs$/.test(fieldName(path))
}

export function fieldName(path: string): string {
  return path.split('.').findLast((part) => part !== '0') ?? ''
}

/** How the request is refused. Any other code would say that something else is wrong with it. */
export function codeFor(operation: string, path: string): RegExp {
  return BESIDE[`${operation} ${path}`]?.code ?? /_NOT_FOUND$|^TENANT_SCOPE$/
}

/** Undefined where the field names nothing that has an owner. */
export function kindOf(operation: string, path: string): string | undefined {
  const name = fieldName(path)
  if (/^ids?$/.test(name) || (name === 'snapshot_id' && operation.startsWith('vmSnapshot')))
    return KIND_OF_ID.find(([pattern]) => pattern.test(operation))?.[1]
  return KIND_OF_FIELD[name]
}

type Json = { [name: string]: unknown }

const TEMPLATE = { add: { source: 'template', virtual_machine_id: 'own' }, drop: ['snapshot_id', 'backup_id'] }
/** The ids must be one: said from the request alone. */
const REPEATED = { code: /^INVALID_REQUEST$/ }

/** What a field needs beside the contract's example, and what of the example it excludes. */
const BESIDE: Readonly<Record<string, { add?: Json; drop?: string[]; code?: RegExp }>> = {
  'eventList body.resource_id': { add: { resource_type: 'VirtualMachine' } },
  'vmDiskDetach body.virtual_machine_id': { code: /^VOLUME_NOT_ATTACHED$/ },
  'vmRestore body.template_id': TEMPLATE,
  'vmRestore body.disk_offering_id': TEMPLATE,
  'vmProvision body.volume_id': { drop: ['template_id'] },
  'vmProvision body.snapshot_id': { drop: ['template_id'] },
  'vmDiskCreate body.snapshot_id': { drop: ['disk_offering_id', 'size_gb'] },
  'vmRestore body.backup_id': { add: { source: 'backup' }, drop: ['snapshot_id', 'virtual_machine_id'] },
  'vmRestore body.snapshot_id': { add: { source: 'volume_snapshot' }, drop: ['template_id', 'virtual_machine_id'] },
  'vmUpdate body.user_data_id': { drop: ['user_data'] },
  'vmUserDataReset body.user_data_id': { drop: ['user_data'] },
  'publicIpAcquire body.vm_id': { add: { associate_to_vm: true } },
  'publicIpAcquire body.project_id': { drop: ['account', 'domain_id', 'network_id', 'vpc_id'] },
  'vmDiskResize body.disk_offering_id': { drop: ['size_gb'] },
  'guestNetworkRestart body.id': REPEATED,
  'publicIpAssociate body.network_id': REPEATED,
  'publicIpDnsSet body.public_ip_id': REPEATED,
  'portForwardingCreate body.network_id': REPEATED,
  'firewallRuleList body.network_id': { drop: ['public_ip_id'] },
  'firewallRuleCreate body.network_id': { drop: ['public_ip_id'] },
  'loadBalancerCreate body.network_id': REPEATED,
  'publicIpDnsSet params.ip_id': { code: /^DNS_NOT_CONFIGURED$/ },
}

/** Changes of machines that must not run. */
const STOPPED: readonly string[] = ['vmAffinityUpdate', 'vmUserDataReset']

interface Request {
  params?: Json
  query?: Record<string, string>
  body?: Json
}

/** The contract's example with things of acme, and the one of globex at `path`. */
export function requestFor(operation: string, route: RouteSpec, path: string, { own, of_others }: Values): Request {
  const { params, body } = structuredClone(route.example) as { params?: Json; body?: Json }
  const request: Json = { params: params ?? {}, ...(route.body === undefined ? {} : { body: body ?? {} }) }
  const { add = {}, drop = [] } = BESIDE[`${operation} ${path}`] ?? {}
  const sent = request['body'] as Json | undefined
  if (sent !== undefined) {
    Object.assign(sent, add)
    for (const name of drop) delete sent[name]
  }
  const things: Readonly<Record<string, string | undefined>> = STOPPED.includes(operation)
    ? { ...own, vm: own['stopped_vm'] }
    : own
  replaceIds(request, '', (at) => (fieldName(at) === 'zone_id' ? wellKnown.zone : things[kindOf(operation, at) ?? '']))
  const value = of_others[kindOf(operation, path) ?? '']
  assert.ok(value !== undefined, `a ${kindOf(operation, path)} of globex`)
  put(request, path.split('.'), value)
  return request
}

function replaceIds(value: unknown, path: string, ownAt: (path: string) => string | undefined): void {
  if (typeof value !== 'object' || value === null) return
  for (const [name, inner] of Object.entries(value)) {
    const at = `${path}.${name === '0' || Number(name) > 0 ? '0' : name}`
    if (typeof inner !== 'string') replaceIds(inner, at, ownAt)
    else if (isIdField(at)) Reflect.set(value, name, ownAt(at) ?? inner)
  }
}

function put(into: object, [name = '', ...rest]: string[], value: string): void {
  if (rest.length === 0) return void Reflect.set(into, name, value)
  const inner: unknown = Reflect.get(into, name)
  if (typeof inner !== 'object' || inner === null) Reflect.set(into, name, rest[0] === '0' ? [] : {})
  put(Reflect.get(into, name) as object, rest, value)
}

const made = (number: number): string => `7e57ab1e-0000-4000-8001-${String(number).padStart(12, '0')}`

export async function valuesOf(lab: Lab): Promise<Values> {
  const things = await otherTenantThings(lab)
  const { tables } = lab.platform.state
  const { accounts, domains } = wellKnown
  const owner = { accountid: accounts.globex, projectid: null }
  const first = <T>(rows: readonly T[]): T => {
    const [row] = rows
    assert.ok(row !== undefined)
    return row
  }
  const size = tables.serviceofferings.get(wellKnown.service_offerings.small)
  const disk = tables.diskofferings.get(wellKnown.disk_offerings['ssd-20'])
  const snapshot = first([...tables.snapshots.values()])
  const backup = first([...tables.backups.values()])
  assert.ok(size !== null && disk !== null)
  tables.serviceofferings.put({ ...size, id: made(3), name: 'globex-size', domainids: [domains.globex] })
  tables.diskofferings.put({ ...disk, id: made(4), name: 'globex-disk', domainids: [domains.globex] })
  tables.vpcs.put({
    id: made(10), name: 'globex-vpc', displaytext: 'globex-vpc', zoneid: wellKnown.zone,
    vpcofferingid: first([...tables.vpcofferings.values()]).id, cidr: '10.70.0.0/16', state: 'Enabled',
    networkdomain: 'globex.internal', restartrequired: false, created: '2026-11-20T00:00:00+0000', ...owner,
  }) // biome-ignore format: one record
  const acme_net = wellKnown.networks['acme-net']
  const mine = tables.vms.by('account', accounts.acme).filter((one) => one.projectid === null)
  const vm = first(mine.filter((one) => one.state === 'Running' && one.nics.some((nic) => nic.networkid === acme_net)))
  const stopped = first(mine.filter((one) => one.state === 'Stopped'))
  const free = first(tables.addresses.filter((one) => one.state === 'Free'))
  const address = tables.addresses.put({
    ...free, state: 'Allocated', allocated: Date.now(), associatednetworkid: acme_net, accountid: accounts.acme, projectid: null,
  }) // biome-ignore format: one record
  const own_balancer = tables.loadbalancers.put({
    ...first([...tables.loadbalancers.values()]), id: made(12), networkid: acme_net, ipaddressid: address.id, accountid: accounts.acme,
  }) // biome-ignore format: one record
  const rule = first([...tables.rules.values()].filter((one) => one.accountid === accounts.acme))
  return {
    own: {
      vm: vm.id, stopped_vm: stopped.id, volume: first(tables.volumes.by('vm', vm.id)).id, network: acme_net,
      template: things.template_id, iso: things.iso_id, service_offering: wellKnown.service_offerings.medium,
      disk_offering: things.disk_offering_id, affinity_group: first([...tables.affinitygroups.values()]).id, project: wellKnown.project, address: address.id,
      nic: first(vm.nics).id, tenant: domains.acme, snapshot: snapshot.id, backup: backup.id, rule: rule.id,
      load_balancer: own_balancer.id,
    }, // biome-ignore format: one table
    of_others: {
      vm: things.vm_id, volume: things.volume_id, network: things.network_id, template: things.private_template_id, iso: things.private_iso_id,
      service_offering: made(3), disk_offering: made(4), snapshot: things.snapshot_id, backup: things.backup_id, project: things.project_id,
      affinity_group: things.affinity_group_id, ssh_key: things.ssh_key_id, user_data: things.user_data_id, vpc: made(10), host: wellKnown.hosts['kvm-01'],
      cluster: wellKnown.clusters['cluster-a'], pod: wellKnown.pod, address: things.ip_id, nic: things.nic_id,
      secondary_ip: things.secondary_ip_id, tenant: domains.globex, security_group: made(11), vm_snapshot: things.vm_snapshot_id,
      rule: things.rule_id, firewall_rule: things.firewall_rule_id, load_balancer: things.load_balancer_id, job: things.job_id, event: things.event_id,
    }, // biome-ignore format: one table
  }
}
