// What a caller scoped to acme meets on every route with `tenant: 'own'`: one row an operation. A new route gets a row
// here; without one the test fails and names it.
//
// - `lists`: a read that would show things of globex to an unbound caller; the scoped one must not see any.
// - `refuses`: a call that names a thing of globex; it must be "not found", and change nothing.
// - `common`: shows nothing that belongs to a tenant, or only what is the caller's own; the row says why.
import type { OtherTenant } from './other-tenant-things.ts'

export type Input = (of_others: OtherTenant) => { params?: Record<string, string>; query?: string; body?: unknown }
export type ScopeRow =
  | {
      kind: 'lists'
      input: Input /** The unbound caller sees the same with this. */
      marks: (of_others: OtherTenant) => string[]
    }
  | {
      kind: 'refuses'
      input: Input
      code?: RegExp
    }
  | { kind: 'common'; why: string }

const NOT_FOUND = /_NOT_FOUND$/
const body =
  (make: (of_others: OtherTenant) => unknown): Input =>
  (of_others) => ({ body: make(of_others) })
const refuses = (make: (of_others: OtherTenant) => unknown, code = NOT_FOUND): ScopeRow => ({
  kind: 'refuses',
  input: body(make),
  code,
})
const vm = (more: object = {}): ScopeRow => refuses(({ vm_id }) => ({ virtual_machine_id: vm_id, ...more }))
const at = (params: (of_others: OtherTenant) => Record<string, string>, sent?: unknown): ScopeRow => ({
  kind: 'refuses',
  input: (of_others) => ({ params: params(of_others), ...(sent === undefined ? {} : { body: sent }) }),
  code: NOT_FOUND,
})
const lists = (marks: (of_others: OtherTenant) => string[], input: Input = () => ({})): ScopeRow => ({
  kind: 'lists',
  input,
  marks,
})
const common = (why: string): ScopeRow => ({ kind: 'common', why })

const OFFERINGS = 'Offerings are the site’s; the platform lists those that a tenant may use.'
const SELF = 'Is about the caller’s own credential.'
const tenant = ({ tenant_id }: OtherTenant) => ({ id: tenant_id })
const address = ({ ip_id }: OtherTenant) => ({ ip_id })

export const SCOPE_ROWS: Readonly<Record<string, ScopeRow>> = {
  versionGet: common('The version of the service.'),
  authLogout: common(SELF),
  callerGet: common(SELF),
  passwordChange: common(SELF),
  ticketCreate: common(SELF),
  appEventList: lists(
    ({ event_id }) => [event_id],
    body(() => ({ page_size: 200 })),
  ),
  appEventGet: at(({ event_id }) => ({ id: event_id })),
  eventList: lists(
    ({ platform_event_id }) => [platform_event_id],
    body(() => ({ page_size: 500 })),
  ),
  eventStream: common('Filtered message by message; test/api/events.test.ts holds it to that.'),
  eventTypes: common('Words of the platform and of this service.'),
  jobList: lists(
    ({ job_id }) => [job_id],
    () => ({ query: 'page_size=500' }),
  ),
  timelineList: lists(
    ({ job_id }) => [job_id],
    ({ job_id }) => ({ query: `correlation_id=${job_id}` }),
  ),
  searchRun: lists(
    ({ tenant_id }) => [tenant_id],
    ({ tenant_id }) => ({ query: `q=${tenant_id}` }),
  ),
  vmHistory: at(({ vm_id }) => ({ virtual_machine_id: vm_id })),
  jobGet: at(({ job_id }) => ({ id: job_id })),
  jobCancel: at(({ job_id }) => ({ id: job_id })),
  vmProvision: refuses(
    ({ tenant_id, zone_id, template_id, service_offering_id }) => ({
      domain_id: tenant_id, zone_id, template_id, service_offering_id,
    }), // biome-ignore format: one record
    /^TENANT_SCOPE$/,
  ),
  vmList: lists(
    ({ vm_id }) => [vm_id],
    body(() => ({ page_size: 500 })),
  ),
  vmGet: vm(),
  vmGetByName: refuses(({ vm_name }) => ({ name: vm_name })),
  vmIdGet: refuses(({ vm_name }) => ({ name: vm_name })),
  vmStart: vm(),
  vmStop: vm(),
  vmReboot: vm(),
  vmUpdate: vm({ display_name: 'mine now' }),
  vmDestroy: vm(),
  vmExpunge: vm(),
  isoList: lists(
    ({ private_iso_id }) => [private_iso_id],
    () => ({ query: 'page_size=500' }),
  ),
  vmDiskAttach: refuses(({ volume_id, own_vm_id }) => ({ volume_id, virtual_machine_id: own_vm_id })),
  vmDiskDetach: refuses(({ volume_id }) => ({ volume_id })),
  vmDiskCreate: refuses(({ vm_id, disk_offering_id }) => ({ virtual_machine_id: vm_id, name: 'x', disk_offering_id })),
  vmDiskResize: refuses(({ volume_id }) => ({ volume_id, size_gb: 900 })),
  vmIsoAttach: refuses(({ vm_id, iso_id }) => ({ virtual_machine_id: vm_id, iso_id })),
  vmIsoDetach: vm(),
  volumeList: lists(
    ({ volume_id }) => [volume_id],
    body(() => ({ page_size: 500 })),
  ),
  volumeDelete: refuses(({ volume_id }) => ({ volume_id })),
  volumeSnapshotList: lists(
    ({ snapshot_id }) => [snapshot_id],
    body(({ volume_id }) => ({ volume_id })),
  ),
  volumeSnapshotCreate: refuses(({ volume_id }) => ({ volume_id })),
  volumeSnapshotRevert: refuses(({ snapshot_id }) => ({ snapshot_id })),
  volumeSnapshotDelete: refuses(({ snapshot_id }) => ({ snapshot_id })),
  affinityGroupList: lists(({ affinity_group_id }) => [affinity_group_id]),
  affinityGroupCreate: refuses(
    ({ tenant_id }) => ({ name: 'mine', type: 'host affinity', domain_id: tenant_id }),
    /^TENANT_SCOPE$/,
  ),
  affinityGroupDelete: refuses(({ affinity_group_id }) => ({ affinity_group_id })),
  templateRegister: refuses(
    ({ tenant_id, zone_id }) => ({
      name: 'mine',
      url: 'http://10.0.0.60/a.qcow2',
      zone_id,
      os_type_id: 'x',
      domain_id: tenant_id,
    }),
    /^TENANT_SCOPE$/,
  ),
  templateUpdate: refuses(({ private_template_id }) => ({ template_id: private_template_id, name: 'mine' })),
  templateDelete: refuses(({ private_template_id }) => ({ template_id: private_template_id })),
  isoRegister: refuses(
    ({ tenant_id, zone_id }) => ({
      name: 'mine',
      url: 'http://10.0.0.60/a.iso',
      zone_id,
      os_type_id: 'x',
      domain_id: tenant_id,
    }),
    /^TENANT_SCOPE$/,
  ),
  isoUpdate: refuses(({ private_iso_id }) => ({ iso_id: private_iso_id, name: 'mine' })),
  isoDelete: refuses(({ private_iso_id }) => ({ iso_id: private_iso_id })),
  osTypeList: common('Kinds of guest systems are the platform’s.'),
  projectList: lists(({ project_id }) => [project_id]),
  backupList: lists(({ backup_id }) => [backup_id]),
  userDataList: lists(({ user_data_id }) => [user_data_id]),
  userDataCreate: refuses(
    ({ tenant_id }) => ({ name: 'mine', user_data: 'I2Nsb3VkLWNvbmZpZwo=', domain_id: tenant_id }),
    /^TENANT_SCOPE$/,
  ),
  userDataDelete: refuses(({ user_data_id }) => ({ user_data_id })),
  sshKeyList: lists(({ ssh_key_id }) => [ssh_key_id]),
  sshKeyCreate: refuses(({ tenant_id }) => ({ name: 'mine', domain_id: tenant_id }), /^TENANT_SCOPE$/),
  sshKeyDelete: refuses(({ ssh_key_id }) => ({ ssh_key_id })),
  vmNicAdd: refuses(({ own_vm_id, network_id }) => ({ virtual_machine_id: own_vm_id, network_id })),
  vmNicList: vm(),
  vmNicSetDefault: refuses(({ vm_id, nic_id }) => ({ virtual_machine_id: vm_id, nic_id })),
  vmNicIpAdd: refuses(({ nic_id }) => ({ nic_id })),
  vmNicIpRemove: refuses(({ secondary_ip_id }) => ({ secondary_ip_id })),
  vmNicIpUpdate: refuses(({ nic_id }) => ({ nic_id, ip_address: '10.1.1.42' })),
  vmScale: refuses(({ vm_id, service_offering_id }) => ({ virtual_machine_id: vm_id, service_offering_id })),
  vmRecover: vm(),
  vmRestore: refuses(({ vm_id, template_id }) => ({ source: 'template', virtual_machine_id: vm_id, template_id })),
  vmSnapshotList: lists(
    ({ vm_snapshot_id }) => [vm_snapshot_id],
    body(({ vm_id }) => ({ virtual_machine_id: vm_id })),
  ),
  vmSnapshotCreate: vm({ name: 'mine' }),
  vmSnapshotRevert: refuses(({ vm_snapshot_id }) => ({ snapshot_id: vm_snapshot_id })),
  vmSnapshotDelete: refuses(({ vm_snapshot_id }) => ({ snapshot_id: vm_snapshot_id })),
  vmAffinityUpdate: vm({ affinity_group_ids: [] }),
  vmUserDataReset: vm({ user_data: 'I2Nsb3VkLWNvbmZpZwo=' }),
  vmConsoleCreate: vm(),
  vmScreenOpen: common('A WebSocket; test/api/compute-guests.test.ts asks for the screen of another tenant’s machine.'),
  vmTpmConfigure: vm({ boot_type: 'UEFI', secure_boot: true, tpm_model: 'tpm-crb' }),
  vmMetricsAggregate: common('Sums over the caller’s own machines; test/api/compute-reading.test.ts compares them.'),
  vmUsageList: lists(
    ({ vm_id }) => [vm_id],
    () => ({ query: 'page_size=500' }),
  ),
  vmUsageGet: vm(),
  zoneList: common('Zones are the site’s.'),
  templateList: common('Templates are the site’s; the platform lists those that a tenant may use.'),
  serviceOfferingList: common(OFFERINGS),
  tenantList: lists(
    ({ tenant_id }) => [tenant_id],
    () => ({ query: 'page_size=500' }),
  ),
  tenantGet: at(tenant),
  tenantLimitsGet: at(tenant),
  tenantNetworkGet: at(tenant),
  tenantAccountModeSet: at(tenant, { account_mode: 'departmental' }),
  tenantAuthSourceSet: at(tenant, { auth_source: 'local' }),
  publicIpList: lists(
    ({ ip_id }) => [ip_id],
    () => ({ query: 'page_size=500' }),
  ),
  publicIpAcquire: refuses(({ zone_id, network_id }) => ({ zone_id, network_id })),
  publicIpGet: at(address),
  publicIpAssociate: {
    kind: 'refuses',
    input: ({ ip_id, own_vm_id }) => ({ params: { ip_id }, body: { vm_id: own_vm_id } }),
  },
  publicIpDisassociate: at(address),
  publicIpRelease: at(address),
  publicIpDnsSet: {
    kind: 'refuses',
    input: ({ ip_id }) => ({ params: { ip_id }, body: { action: 'create', hostname: 'www' } }),
    // Says so before it looks anything up while there is no DNS.
    code: /_NOT_FOUND$|^DNS_NOT_CONFIGURED$/,
  },
  guestNetworkList: lists(
    ({ network_id }) => [network_id],
    body(() => ({ page_size: 500 })),
  ),
  guestNetworkUpdate: refuses(({ network_id }) => ({ id: network_id, display_text: 'mine now' })),
  guestNetworkRestart: at(({ network_id }) => ({ id: network_id }), { cleanup: false }),
  portForwardingCreate: refuses(({ ip_id, own_vm_id }) => ({
    protocol: 'tcp', public_ip_id: ip_id, virtual_machine_id: own_vm_id, public_port: 8443, private_port: 443,
  })), // biome-ignore format: one record
  portForwardingUpdate: refuses(({ rule_id }) => ({ id: rule_id, private_port: 8080 })),
  portForwardingList: refuses(({ ip_id }) => ({ public_ip_id: ip_id })),
  portForwardingDelete: at(({ rule_id }) => ({ id: rule_id })),
  networkOfferingList: common(OFFERINGS),
  firewallRuleList: refuses(({ ip_id }) => ({ public_ip_id: ip_id })),
  firewallRuleCreate: refuses(({ network_id }) => ({ network_id, protocol: 'all' })),
  firewallRuleDelete: at(({ firewall_rule_id }) => ({ id: firewall_rule_id })),
  loadBalancerList: lists(({ load_balancer_id }) => [load_balancer_id]),
  loadBalancerGet: at(({ load_balancer_id }) => ({ id: load_balancer_id })),
  loadBalancerCreate: refuses(({ ip_id }) => ({
    name: 'mine', public_ip_id: ip_id, public_port: 8443, private_port: 443, algorithm: 'source',
  })), // biome-ignore format: one record
  loadBalancerUpdate: refuses(({ load_balancer_id }) => ({ id: load_balancer_id, name: 'mine now' })),
  loadBalancerDelete: at(({ load_balancer_id }) => ({ id: load_balancer_id })),
  loadBalancerMachineAssign: {
    kind: 'refuses',
    input: ({ load_balancer_id, own_vm_id }) => ({
      params: { id: load_balancer_id },
      body: { virtual_machine_id: own_vm_id },
    }),
  },
  loadBalancerMachineRemove: at(({ load_balancer_id, own_vm_id }) => ({
    id: load_balancer_id,
    virtual_machine_id: own_vm_id,
  })),
  diskOfferingList: common(OFFERINGS),
  diskOfferingGet: common(OFFERINGS),
  diskOfferingGetByName: common(OFFERINGS),
  diskOfferingIdGet: common(OFFERINGS),
}
