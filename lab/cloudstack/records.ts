/** The platform's records as the simulator keeps them: what changes is typed here, what only lies about is a bare row. */

import type {
  Address,
  Element,
  FirewallRule,
  LoadBalancer,
  ForwardingRule,
  Network,
  Provider,
  PublicRange,
} from './network-records.ts'
import type { Json, Owned, Row } from './row.ts'

export type VmState =
  | 'Starting'
  | 'Running'
  | 'Stopping'
  | 'Stopped'
  | 'Destroyed'
  | 'Expunging'
  | 'Migrating'
  | 'Error'
  | 'Unknown'
  | 'Shutdown'
  | 'Restoring'

interface SecondaryIp {
  id: string
  ipaddress: string
}

export interface Nic {
  id: string
  networkid: string
  ipaddress: string | null
  macaddress: string
  isdefault: boolean
  deviceid: number
  secondaryips: SecondaryIp[]
}

export interface Vm extends Owned {
  id: string
  number: number
  name: string
  displayname: string
  state: VmState
  zoneid: string
  hostid: string | null
  lasthostid: string | null
  templateid: string
  isoid: string | null
  serviceofferingid: string
  diskofferingid: string | null
  cpunumber: number
  cpuspeed: number
  memory: number
  created: number
  lastupdated: number
  haenable: boolean
  details: Record<string, string>
  extraconfig: Record<string, string>
  nics: Nic[]
  affinitygroupids: string[]
  isdynamicallyscalable: boolean
  deleteprotection: boolean
  group: string | null
  ostypeid: string
  userdata: string | null
  userdataid: string | null
  keypairs: string[]
  backupofferingid: string | null
  leaseduration: number | null
  leaseexpiryaction: string | null
  leaseexpirydate: number | null
  boottype: string | null
  bootmode: string | null
  tags: Record<string, string>
}

export interface Volume extends Owned {
  id: string
  name: string
  type: 'ROOT' | 'DATADISK'
  state:
    | 'Allocated'
    | 'Creating'
    | 'Ready'
    | 'Uploaded'
    | 'Attaching'
    | 'Detaching'
    | 'Resizing'
    | 'Snapshotting'
    | 'Destroy'
    | 'Expunged'
  size_bytes: number
  zoneid: string
  storageid: string | null
  virtualmachineid: string | null
  deviceid: number | null
  diskofferingid: string | null
  serviceofferingid: string | null
  templateid: string | null
  snapshotid: string | null
  miniops: number | null
  maxiops: number | null
  created: number
  attached: number | null
  deleteprotection: boolean
}

export interface Host {
  id: string
  name: string
  ipaddress: string
  zoneid: string
  podid: string
  clusterid: string
  state: 'Up' | 'Down' | 'Disconnected' | 'Alert' | 'Connecting'
  resourcestate:
    | 'Enabled'
    | 'Disabled'
    | 'PrepareForMaintenance'
    | 'Maintenance'
    | 'ErrorInMaintenance'
    | 'ErrorInPrepareForMaintenance'
  cpunumber: number
  cpusockets: number
  cpuspeed: number
  memory_bytes: number
  ueficapability: boolean
  hosttags: string
  created: number
  annotation: string | null
}

export interface Domain {
  id: string
  name: string
  parentid: string | null
  path: string
  level: number
  state: 'Active' | 'Inactive'
  networkdomain: string | null
  created: number
}

export interface Account {
  id: string
  name: string
  accounttype: number
  roleid: string
  domainid: string
  state: 'enabled' | 'disabled' | 'locked'
  networkdomain: string | null
  created: number
  system: boolean
}

export interface User {
  id: string
  username: string
  firstname: string
  lastname: string
  email: string
  accountid: string
  state: 'enabled' | 'disabled' | 'locked'
  created: number
  apikey: string | null
  secretkey: string | null
  password: string
  usersource: string
  apikeyaccess: 'ENABLED' | 'DISABLED' | 'INHERIT'
}

export interface Limit {
  id: string
  owner: 'domain' | 'account' | 'project'
  ownerid: string
  resourcetype: number
  max: number
}

export interface Template extends Owned {
  id: string
  name: string
  displaytext: string
  iso: boolean
  format: string
  hypervisor: string
  ostypeid: string
  zoneid: string
  size_bytes: number
  isready: boolean
  ispublic: boolean
  isfeatured: boolean
  bootable: boolean
  requireshvm: boolean
  passwordenabled: boolean
  isdynamicallyscalable: boolean
  checksum: string | null
  url: string
  created: number
  status: string
  percent: number
  downloadstate: string
  templatetype: string
  details: Record<string, string>
}

interface GpuCard {
  id: string
  name: string
  deviceid: string
  devicename: string
  vendorid: string
  vendorname: string
}

export interface VgpuProfile {
  id: string
  name: string
  description: string
  gpucardid: string
  maxvgpuperphysicalgpu: number | null
  videoram: number | null
  maxheads: number | null
  maxresolutionx: number | null
  maxresolutiony: number | null
}

export interface GpuDevice {
  id: string
  busaddress: string
  gpudevicetype: 'PCI' | 'MDEV' | 'VGPUOnly'
  hostid: string
  gpucardid: string
  vgpuprofileid: string
  virtualmachineid: string | null
  state: 'Allocated' | 'Free' | 'Error' | 'PartiallyAllocated'
  managedstate: 'Managed' | 'Unmanaged'
  parentgpudeviceid: string | null
  numanode: string
}

export interface ServiceOffering {
  id: string
  name: string
  displaytext: string
  state: 'Active' | 'Inactive'
  cpunumber: number | null
  cpuspeed: number | null
  memory: number | null
  iscustomized: boolean
  mincpunumber: number | null
  maxcpunumber: number | null
  minmemory: number | null
  maxmemory: number | null
  offerha: boolean
  dynamicscalingenabled: boolean
  hosttags: string | null
  storagetags: string | null
  storagetype: string
  provisioningtype: string
  rootdisksize: number | null
  vgpuprofileid: string | null
  gpucount: number
  domainids: string[]
  zoneids: string[]
  created: number
}

export interface DiskOffering {
  id: string
  name: string
  displaytext: string
  state: 'Active' | 'Inactive'
  disksize: number
  iscustomized: boolean
  storagetype: string
  provisioningtype: string
  tags: string | null
  domainids: string[]
  zoneids: string[]
  displayoffering: boolean
  disksizestrictness: boolean
  encrypt: boolean
  cachemode: string | null
  sortkey: number
  iscustomizediops: boolean
  /** Rates and IOPS under the (mixed-case) names of the answer. */
  rates: Record<string, number>
  created: number
}

export interface LabEvent extends Owned {
  id: string
  number: number
  type: string
  level: 'INFO' | 'WARN' | 'ERROR'
  state: 'Created' | 'Scheduled' | 'Started' | 'Completed'
  description: string
  userid: string
  resourceid: string | null
  resourcetype: string | null
  resourcename: string | null
  created: number
  parentid: string | null
  archived: boolean
}

export interface Alert {
  id: string
  type: number
  name: string
  description: string
  sent: number
  archived: boolean
}

export interface Webhook {
  id: string
  name: string
  description: string | null
  state: 'Enabled' | 'Disabled'
  accountid: string
  payloadurl: string
  secretkey: string | null
  sslverification: boolean
  scope: 'Global' | 'Domain' | 'Local'
  created: number
}

export interface Job {
  id: string
  command: string
  cmd: string
  accountid: string
  userid: string
  jobstatus: 0 | 1 | 2 | 3
  jobresultcode: number
  jobresult: Json | null
  jobinstancetype: string | null
  jobinstanceid: string | null
  created: number
  completed: number | null
}

export interface VmSnapshot extends Owned {
  id: string
  name: string
  displayname: string
  description: string | null
  state: 'Allocated' | 'Creating' | 'Ready' | 'Reverting' | 'Expunging' | 'Removed' | 'Error'
  type: 'Disk' | 'DiskAndMemory'
  virtualmachineid: string
  parentid: string | null
  current: boolean
  created: number
}

export interface Snapshot extends Owned {
  id: string
  name: string
  volumeid: string
  state: 'Allocated' | 'Creating' | 'CreatedOnPrimary' | 'BackingUp' | 'BackedUp' | 'Destroying' | 'Destroyed' | 'Error'
  size_bytes: number
  zoneid: string
  created: number
}

export interface Backup extends Owned {
  id: string
  name: string
  description: string | null
  virtualmachineid: string
  backupofferingid: string
  status: 'Allocated' | 'Queued' | 'BackingUp' | 'BackedUp' | 'Error' | 'Failed' | 'Restoring' | 'Removed' | 'Expunged'
  size_bytes: number
  zoneid: string
  created: number
}

export interface AffinityGroup extends Owned {
  id: string
  name: string
  description: string | null
  type: string
}

export interface SshKeyPair extends Owned {
  id: string
  name: string
  publickey: string
  fingerprint: string
}

export interface UserData extends Owned {
  id: string
  name: string
  userdata: string
}

export interface Configuration {
  id: string
  name: string
  category: string
  value: string
  defaultvalue: string
  scope: string
  description: string
  /** Values set for one cluster, zone, pool, account or domain, by its id. */
  overrides: Record<string, string>
}

export interface Records {
  zones: Row
  pods: Row
  clusters: Row
  hosts: Host
  storagepools: Row
  imagestores: Row
  managementservers: Row
  physicalnetworks: Row
  providers: Provider
  elements: Element
  domains: Domain
  accounts: Account
  users: User
  roles: Row
  projects: Row
  limits: Limit
  templates: Template
  ostypes: Row
  serviceofferings: ServiceOffering
  diskofferings: DiskOffering
  networkofferings: Row
  vpcofferings: Row
  vpcs: Row
  networks: Network
  vlans: PublicRange
  addresses: Address
  rules: ForwardingRule
  firewallrules: FirewallRule
  loadbalancers: LoadBalancer
  routers: Row
  systemvms: Row
  unmanaged: Row
  gpucards: GpuCard
  vgpuprofiles: VgpuProfile
  gpudevices: GpuDevice
  vms: Vm
  volumes: Volume
  vmsnapshots: VmSnapshot
  snapshots: Snapshot
  backups: Backup
  backupofferings: Row
  affinitygroups: AffinityGroup
  sshkeypairs: SshKeyPair
  userdata: UserData
  ldap: Row
  ldaplinks: Row
  samlauthorizations: Row
  configurations: Configuration
  events: LabEvent
  alerts: Alert
  webhooks: Webhook
  jobs: Job
}

export type Kind = keyof Records
