/** The global settings that the product reads or that change what the simulator does: name, category, default, scope, meaning. */
import type { SimulatorState } from './state.ts'

export const CONFIGURATIONS: readonly (readonly [string, string, string, string, string])[] = [
  [
    'cluster.cpu.allocated.capacity.disablethreshold',
    'Alert',
    '0.85',
    'Cluster',
    'Share of allocated CPU above which a cluster takes no new VMs',
  ],
  [
    'cluster.memory.allocated.capacity.disablethreshold',
    'Alert',
    '0.85',
    'Cluster',
    'Share of allocated memory above which a cluster takes no new VMs',
  ],
  ['cluster.threshold.enabled', 'Advanced', 'true', 'Zone', 'Whether the allocation thresholds hold'],
  ['cpu.overprovisioning.factor', 'Advanced', '2.0', 'Cluster', 'CPU overcommit'],
  ['mem.overprovisioning.factor', 'Advanced', '1.0', 'Cluster', 'Memory overcommit'],
  [
    'pool.storage.capacity.disablethreshold',
    'Alert',
    '0.85',
    'StoragePool',
    'Share of used storage above which a pool takes no volumes',
  ],
  [
    'pool.storage.allocated.capacity.disablethreshold',
    'Alert',
    '0.85',
    'StoragePool',
    'Share of allocated storage above which a pool takes no volumes',
  ],
  ['storage.overprovisioning.factor', 'Advanced', '2.0', 'StoragePool', 'Storage overcommit'],
  [
    'default.page.size',
    'Advanced',
    '500',
    'Global',
    'Rows of a page when none are asked for, and the most that are allowed',
  ],
  ['vm.ha.enabled', 'Advanced', 'true', 'Zone', 'Whether VMs are started elsewhere when their host fails'],
  ['expunge.delay', 'Advanced', '86400', 'Global', 'Seconds a destroyed VM is kept'],
  ['job.expire.minutes', 'Advanced', '1440', 'Global', 'How long finished jobs are kept'],
  ['job.cancel.threshold.minutes', 'Advanced', '60', 'Global', 'When a running job is cancelled'],
  ['vm.stats.interval', 'Advanced', '60000', 'Global', 'Milliseconds between samples'],
  ['vm.stats.max.retention.time', 'Advanced', '720', 'Global', 'Minutes samples are kept'],
  ['vm.stats.increment.metrics', 'Advanced', 'false', 'Global', 'Whether I/O numbers are sums'],
  [
    'list.vm.default.details.stats',
    'Advanced',
    'true',
    'Global',
    'Whether VM lists carry metrics when no details are asked for',
  ],
  ['vm.userdata.max.length', 'Advanced', '32768', 'Global', 'Longest encoded user data'],
  ['enable.dynamic.scale.vm', 'Advanced', 'true', 'Zone', 'Whether running VMs may be scaled'],
  [
    'enable.additional.vm.configuration',
    'Advanced',
    'true',
    'Account',
    'Whether extra hypervisor configuration is taken',
  ],
  [
    'allow.additional.vm.configuration.list.kvm',
    'Advanced',
    'devices,cputune,memoryBacking,features,cpu',
    'Account',
    'Elements the extra configuration may hold',
  ],
  ['allow.user.expunge.recover.vm', 'Advanced', 'false', 'Account', 'Whether users may recover VMs'],
  ['gpu.detach.on.stop', 'Advanced', 'false', 'Domain', 'Whether a stopped VM gives its GPU back'],
  ['webhook.delivery.tries', 'Advanced', '3', 'Domain', 'Tries of a delivery'],
  ['webhook.delivery.timeout', 'Advanced', '10', 'Domain', 'Seconds a delivery may take'],
  ['network.disable.rpfilter', 'Network', 'true', 'Global', 'Reverse path filter of routers'],
  ['max.account.user.vms', 'Account Defaults', '20', 'Global', 'VMs of an account'],
  ['max.domain.user.vms', 'Domain Defaults', '40', 'Global', 'VMs of a domain'],
  ['enforce.post.requests.and.timestamps', 'Advanced', 'false', 'Global', 'Whether changes need POST and a time stamp'],
  ['api.throttling.enabled', 'Advanced', 'false', 'Global', 'Rate limit of the API'],
  ['ldap.basedn', 'Advanced', '', 'Domain', 'Base of the directory'],
  ['ldap.bind.principal', 'Advanced', '', 'Domain', 'Who reads the directory'],
  ['ldap.bind.password', 'Secure', '', 'Domain', 'Password of the reader'],
  ['ldap.search.group.principle', 'Advanced', '', 'Domain', 'Group whose members may sign in'],
  ['ldap.provider', 'Advanced', 'openldap', 'Domain', 'openldap or microsoftad'],
  ['saml2.enabled', 'Advanced', 'false', 'Global', 'SAML sign-in'],
  ['oauth2.enabled', 'Advanced', 'false', 'Global', 'OAuth sign-in'],
]

/** A setting's value for one thing (cluster, zone, account, …), or the global one. */
export function setting(state: SimulatorState, name: string, forId: string | null = null): string {
  const configuration = state.tables.configurations.by('name', name)[0]
  if (configuration === undefined) return ''
  return (forId === null ? undefined : configuration.overrides[forId]) ?? configuration.value
}
