// The one table of error codes: what each means, the status it asks for, and the sentence a person reads.
// A route that does not list the status asked for answers 400 with the same code (api-conventions.md, Errors).

/**
 * `upstream` is 502 in the camera module and 500 elsewhere; the area says which. Every other status is asked for as
 * written; 404 and 409 become 400 on a route that does not list them.
 */
export type ErrorStatus = number | 'upstream'

export interface ErrorEntry {
  status: ErrorStatus
  title: string
}

const entry = (status: ErrorStatus, title: string): ErrorEntry => ({ status, title })

export const SUBSYSTEMS = [
  'COMPUTE',
  'NVR',
  'DHCP',
  'DNS',
  'IPAM',
  'BMC',
  'KVM',
  'AGENT',
  'STORE',
  'CLUSTERSTORE',
  'IDENTITY',
] as const
export type Subsystem = (typeof SUBSYSTEMS)[number]

const general = {
  INVALID_REQUEST: entry(400, 'The request is not valid'),
  NOT_FOUND: entry(404, 'There is no such thing'),
  ROUTE_NOT_FOUND: entry(404, 'There is no such route'),
  METHOD_NOT_ALLOWED: entry(405, 'There is no such route with this method'),
  BODY_TOO_LARGE: entry(400, 'The request body is too large'),
  FILE_TOO_LARGE: entry(413, 'The file is too large'),
  RANGE_NOT_SATISFIABLE: entry(416, 'The range lies outside of the resource'),
  UPGRADE_REQUIRED: entry(426, 'The route is a WebSocket'),
  UNSUPPORTED_MEDIA_TYPE: entry(400, 'The request body has an unsupported media type'),
  UNAUTHENTICATED: entry(401, 'Valid credentials are required'),
  LOGIN_FAILED: entry(401, 'User name or password is wrong'),
  FORBIDDEN: entry(403, 'The caller lacks the right'),
  TENANT_SCOPE: entry(403, 'The token is tenant-scoped and this route belongs to no tenant'),
  CSRF_REJECTED: entry(403, 'The console session needs its CSRF header'),
  RATE_LIMITED: entry(429, 'Too many requests'),
  INTERNAL_ERROR: entry(500, 'Something went wrong inside the service'),
  NOT_READY: entry(503, 'The service is not ready'),
  SHUTTING_DOWN: entry(500, 'The service is shutting down'),
  IDEMPOTENCY_KEY_REUSED: entry(409, 'The idempotency key was used with another request'),
  IDEMPOTENCY_KEY_IN_USE: entry(409, 'The first request with this idempotency key has not ended'),
  WAIT_TIMEOUT: entry(500, 'The operation did not end in time'),
}

const areas = {
  EVENT_NOT_FOUND: entry(404, 'There is no such event'),
  JOB_NOT_FOUND: entry(404, 'There is no such job'),
  JOB_NOT_CANCELLABLE: entry(409, 'The job cannot be cancelled any more'),
  JOB_SUPERSEDED: entry(409, 'Another process runs this job now'),
  JOB_CANCELLED: entry(500, 'The job was cancelled'),
  JOB_INTERRUPTED: entry(500, 'The operation was interrupted and its outcome is not known'),
  TOKEN_NOT_FOUND: entry(404, 'There is no such token'),
  SESSION_NOT_FOUND: entry(404, 'The session does not exist or has ended'),
  USER_NOT_FOUND: entry(404, 'There is no such user'),
  USER_EXISTS: entry(409, 'A user of this name exists'),
  LAST_ADMIN: entry(409, 'The last admin cannot be removed'),
  OIDC_REJECTED: entry(400, 'The identity provider did not confirm the sign-in'),
  VM_NOT_FOUND: entry(404, 'There is no such virtual machine'),
  VM_NAME_AMBIGUOUS: entry(400, 'Several virtual machines carry this name'),
  VM_STATE: entry(400, 'The state of the virtual machine does not allow this'),
  CAPACITY_EXCEEDED: entry(409, 'The capacity threshold is exceeded'),
  QUOTA_EXCEEDED: entry(409, 'A resource limit is exceeded'),
  COMPUTE_REJECTED: entry(400, 'The compute platform refused the request'),
  COMPUTE_CONFLICT: entry(409, 'The compute platform reports a conflict'),
  RESOURCE_NOT_FOUND: entry(404, 'A thing that the request names does not exist'),
  CHANGE_NOT_SEEN: entry('upstream', 'The compute platform reports success but does not show the change'),
  HOOK_SIGNATURE: entry(401, 'The signature of the callback is not valid'),
}

const address_errors = {
  DHCP_SCOPE_NOT_FOUND: entry(404, 'There is no such DHCP scope'),
  DHCP_SCOPE_EXISTS: entry(409, 'A DHCP scope of this name exists'),
  DHCP_SCOPE_OVERLAP: entry(409, 'The subnet overlaps that of another DHCP scope'),
  DHCP_SCOPE_IN_USE: entry(409, 'The DHCP scope has reservations or active leases'),
  DHCP_SCOPE_FULL: entry(409, 'The DHCP scope has no free address'),
  DHCP_LEASE_NOT_FOUND: entry(404, 'There is no such lease'),
  DHCP_RESERVATION_NOT_FOUND: entry(404, 'There is no such reservation'),
  DHCP_RESERVATION_EXISTS: entry(409, 'The MAC address has a reservation in this scope'),
  DHCP_ADDRESS_TAKEN: entry(409, 'The address is reserved for or leased to another client'),
  DHCP_REJECTED: entry(400, 'The DHCP server refused the request'),
  DNS_ZONE_NOT_FOUND: entry(404, 'There is no such DNS zone'),
  DNS_ZONE_EXISTS: entry(409, 'A DNS zone of this name exists'),
  DNS_ZONE_READ_ONLY: entry(400, 'The records of this DNS zone come from its masters'),
  DNS_RECORD_NOT_FOUND: entry(404, 'There is no such DNS record'),
  DNS_RECORD_EXISTS: entry(409, 'The DNS record exists'),
  DNS_RECORD_CONFLICT: entry(409, 'Other records of this name forbid the DNS record'),
  DNS_REJECTED: entry(400, 'The DNS server refused the request'),
  DDI_UNSUPPORTED: entry(400, 'The server in use cannot do this'),
  DRIFT_NOT_FOUND: entry(404, 'There is no such difference'),
  IPAM_NOT_FOUND: entry(404, 'There is no such site, role, VLAN, prefix or address'),
  IPAM_EXISTS: entry(409, 'A site, role, VLAN or prefix like this exists'),
  IPAM_IN_USE: entry(409, 'Something else still needs it'),
  IPAM_PREFIX_FULL: entry(409, 'The prefix has no free address'),
  IPAM_ADDRESS_TAKEN: entry(409, 'The address is allocated'),
  IPAM_REJECTED: entry(400, 'The address store refused the request'),
}

const node_errors = {
  MTU_DEVICE_NOT_FOUND: entry(404, 'There is no such network device on the node'),
  MTU_ABOVE_LIMIT: entry(400, 'The MTU is above what the devices allow'),
  MTU_BELOW_LIMIT: entry(400, 'The MTU is below what the devices allow'),
  MTU_DEVICE_REFUSED: entry(400, 'The device has no role on this node'),
  MTU_TARGET_INVALID: entry(400, 'The probe target is not an IP address'),
  MTU_PEER_UNKNOWN: entry(400, 'The link-layer address of the peer could not be found'),
  MTU_CHANGE_RUNNING: entry(409, 'An MTU change of this bridge is under way'),
  MTU_NOTHING_PENDING: entry(409, 'There is no pending MTU change of this bridge'),
  MTU_APPLY_FAILED: entry(500, 'The MTU change failed and was undone'),
  MTU_PROBE_RUNNING: entry(409, 'A probe runs on this device'),
  RAW_SOCKETS_UNAVAILABLE: entry(500, 'Raw sockets are unavailable on this node'),
  BENCHMARK_TOOL_MISSING: entry(503, 'The benchmark tool is not installed'),
  BENCHMARK_TARGET_REFUSED: entry(400, 'The target cannot be benchmarked'),
  BENCHMARK_RUNNING: entry(409, 'A benchmark of this kind is running'),
  BENCHMARK_NOT_FOUND: entry(404, 'There is no such benchmark result'),
  BENCHMARK_FAILED: entry(500, 'The benchmark could not be started'),
  DESIRED_HASH_MISMATCH: entry(400, 'The document does not have this hash'),
  DESIRED_CONFLICT: entry(409, 'What others made on the node is in the way'),
  DESIRED_AREA_BUSY: entry(409, 'Another change of this area is under way'),
  DESIRED_NOTHING_PENDING: entry(409, 'No such change waits for confirmation'),
  DESIRED_FAILED: entry(500, 'The node did not take the change'),
  TASK_NOT_FOUND: entry(404, 'There is no such task'),
}

const registry_errors = {
  NODE_NOT_FOUND: entry(404, 'There is no such node'),
  NODE_EXISTS: entry(409, 'A node with this BMC address is registered'),
  NODE_REPORT_CONFLICT: entry(409, 'What the node reports cannot be accepted'),
  NODE_JOB_RUNNING: entry(409, 'A job of this node is running'),
  PREFLIGHT_FAILED: entry(409, 'A check before the decommission failed'),
  PREFLIGHT_CHANGED: entry(409, 'The preflight that is acknowledged is not what is found'),
  VM_NOT_ACKNOWLEDGED: entry(409, 'A machine that nobody named would be destroyed'),
  NODE_IN_SERVICE: entry(409, 'Machines run on the node'),
  NODE_STATE: entry(409, 'The state of the node does not allow this'),
  NODE_IDENTITY: entry(409, 'It is another machine than the one on record'),
  ENROLMENT_REJECTED: entry(401, 'The enrolment was refused'),
  NODE_CREDENTIAL_REJECTED: entry(401, 'The node did not prove who it is'),
}

const bmc_errors = {
  BMC_NOT_FOUND: entry(404, 'There is no record of this BMC'),
  BMC_ADDRESS_NOT_ALLOWED: entry(400, 'The address is not one of the allowed networks of BMCs'),
  BMC_CREDENTIALS_NOT_FOUND: entry(401, 'No credentials of this BMC are stored or given'),
  BMC_CREDENTIALS_REJECTED: entry(401, 'The BMC refuses the credentials'),
  BMC_TLS_PIN_MISMATCH: entry('upstream', 'The BMC shows another certificate than the pinned one'),
  BMC_UNSUPPORTED: entry(422, 'This BMC does not have this feature'),
  BMC_REJECTED: entry(400, 'The BMC refused the request'),
  BMC_JOB_CONFLICT: entry(409, 'Another change of this BMC is under way'),
  BMC_PIN_CONFLICT: entry(409, 'The BMC shows another certificate than the one to accept'),
  BMC_CHANGE_FAILED: entry('upstream', 'The BMC accepted the change and then failed'),
  BOOT_IMAGE_REJECTED: entry(401, 'There is no such boot image, or no more'),
}

const kvm_errors = {
  KVM_CREDENTIALS_NOT_FOUND: entry(401, 'No credentials of this remote KVM are stored'),
  KVM_CREDENTIALS_REJECTED: entry(401, 'The remote KVM refuses the credentials'),
  KVM_TLS_PIN_MISMATCH: entry('upstream', 'The remote KVM shows another certificate than the pinned one'),
  KVM_BUSY: entry(409, 'The remote KVM is busy, or in use by a person'),
  KVM_REJECTED: entry(400, 'The remote KVM refused the request'),
  KVM_CHANGE_FAILED: entry('upstream', 'The remote KVM accepted the change, which did not come about'),
  INSTALLER_NOT_CONFIGURED: entry('upstream', 'No installer is configured'),
  INSTALL_FAILED: entry('upstream', 'The installation of the operating system failed'),
  PHONE_HOME_REJECTED: entry(401, 'There is no such installation, or no more'),
}

const platform_errors = {
  PROVIDER_NOT_FOUND: entry(404, 'There is no such network service provider'),
  PROVIDER_EXISTS: entry(409, 'The physical network has this network service provider already'),
  PROVIDER_STATE: entry(400, 'The state of the network service provider does not allow this'),
  PROVIDER_ELEMENT_NOT_FOUND: entry(404, 'There is no such element of a network service provider'),
  PROVIDER_ELEMENT_EXISTS: entry(409, 'The network service provider has its element already'),
  HOST_NOT_FOUND: entry(404, 'There is no such host'),
  HOST_STATE: entry(400, 'The state of the host does not allow this'),
  GPU_CARD_NOT_FOUND: entry(404, 'There is no such GPU card'),
  GPU_DEVICE_NOT_FOUND: entry(404, 'There is no such GPU device'),
  GPU_DEVICE_IN_USE: entry(409, 'A virtual machine uses the GPU device'),
  GPU_MODE_UNSUPPORTED: entry(400, 'The GPU or its node cannot do this'),
  GPU_JOB_RUNNING: entry(409, 'The GPUs of this host are being changed'),
  GPU_CHANGE_FAILED: entry(500, 'The GPU did not take the change'),
  VGPU_PROFILE_NOT_FOUND: entry(404, 'There is no such vGPU profile'),
  VGPU_PROFILE_EXISTS: entry(409, 'A vGPU profile of this name exists'),
  DISK_OFFERING_NOT_FOUND: entry(404, 'There is no such disk offering'),
  DISK_OFFERING_NAME_AMBIGUOUS: entry(400, 'Several disk offerings carry this name'),
  ALERT_NOT_FOUND: entry(404, 'There is no such alert'),
  NETWORK_NOT_FOUND: entry(404, 'There is no such guest network'),
  NETWORK_STATE: entry(400, 'The state of the guest network does not allow this'),
  PORT_FORWARDING_NOT_FOUND: entry(404, 'There is no such port-forwarding rule'),
  PORT_FORWARDING_STATE: entry(400, 'The state of the port-forwarding rule does not allow this'),
  PORT_FORWARDING_CONFLICT: entry(409, 'Another rule has these ports of the address'),
  LOAD_BALANCER_CONFLICT: entry(409, 'The port of the address is balanced or forwarded already'),
  FIREWALL_RULE_CONFLICT: entry(409, 'Another firewall rule says the same already'),
  PUBLIC_IP_NOT_FOUND: entry(404, 'There is no such public address'),
  PUBLIC_IP_STATE: entry(400, 'The state of the public address does not allow this'),
}

const tenant_errors = {
  TENANT_NOT_FOUND: entry(404, 'There is no such tenant'),
  TENANT_EXISTS: entry(409, 'A tenant of this name or id exists'),
  TENANT_INACTIVE: entry(403, 'The tenant is deactivated: its callers only read'),
  TENANT_STATE: entry(409, 'The state of the tenant does not allow this'),
  TENANT_NETWORK_NOT_FOUND: entry(404, 'The tenant has no dedicated public range'),
  TENANT_NETWORK_EXISTS: entry(409, 'The tenant has a dedicated public range'),
  IP_RANGE_NOT_FOUND: entry(400, 'There is no such public range'),
  IP_RANGE_IN_USE: entry(409, 'The public range belongs to somebody else or is in use'),
}

const public_ip_errors = {
  PUBLIC_IP_NOT_FOUND: entry(404, 'There is no such public IP'),
  PUBLIC_IP_STATE: entry(400, 'The state of the public IP does not allow this'),
  PUBLIC_IP_NOT_ASSOCIATED: entry(400, 'The public IP is associated with no virtual machine'),
  PUBLIC_IP_UNAVAILABLE: entry(409, 'No such public IP is free'),
}

const fleet_errors = {
  MTU_ROLLOUT_RUNNING: entry(409, 'An MTU rollout is under way'),
  MTU_ROLLOUT_FAILED: entry(500, 'The MTU rollout failed and was undone'),
  MTU_UNVERIFIABLE: entry(400, 'Nothing can verify the MTU of a role'),
  NODES_UNREACHABLE: entry(400, 'Nodes that the change needs cannot be reached'),
  NETWORK_EXISTS: entry(409, 'A guest network of this name, bridge or segment exists'),
  NETWORK_IN_USE: entry(409, 'The guest network is in use'),
  NETWORK_JOB_RUNNING: entry(409, 'A job of this guest network is running'),
  NETWORK_JOB_NOT_FOUND: entry(404, 'There is no job of this guest network'),
  NETWORK_NODES_FAILED: entry(500, 'The guest network could not be changed on every node'),
  BRIDGE_EXISTS: entry(409, 'The node has a device of this name that is not ours'),
  BRIDGE_IN_USE: entry(409, 'Guests are attached to the bridge'),
  BRIDGE_FAILED: entry(500, 'The node did not take the change of the bridge'),
}

const vm_errors = {
  VOLUME_NOT_FOUND: entry(404, 'There is no such volume'),
  VOLUME_STATE: entry(400, 'The state of the volume does not allow this'),
  VOLUME_ATTACHED: entry(409, 'The volume is attached to a virtual machine'),
  VOLUME_NOT_ATTACHED: entry(400, 'The volume is attached to no virtual machine'),
  VOLUME_ZONE: entry(400, 'The volume and the virtual machine are in different zones'),
  ISO_NOT_FOUND: entry(404, 'There is no such ISO image'),
  ISO_NOT_READY: entry(400, 'The ISO image cannot be used in this zone'),
  ISO_NOT_ATTACHED: entry(400, 'The virtual machine has no ISO image'),
  NIC_NOT_FOUND: entry(404, 'There is no such NIC'),
  NIC_EXISTS: entry(409, 'The virtual machine has a NIC in the network'),
  NIC_IS_DEFAULT: entry(409, 'The NIC is the default one already'),
  SECONDARY_IP_NOT_FOUND: entry(404, 'There is no such secondary address'),
  SECONDARY_IP_IN_USE: entry(409, 'The secondary address forwards or is translated'),
  VM_HAS_SNAPSHOTS: entry(400, 'The virtual machine has snapshots that must be removed first'),
  VM_HAS_GPU: entry(400, 'A virtual machine with GPUs cannot do this'),
  VM_SNAPSHOT_NOT_FOUND: entry(404, 'There is no such snapshot of a virtual machine'),
  SNAPSHOT_NOT_FOUND: entry(404, 'There is no such snapshot'),
  SNAPSHOT_STATE: entry(400, 'The state of the snapshot does not allow this'),
  AFFINITY_GROUP_IN_USE: entry(409, 'There are virtual machines in the affinity group'),
  IMAGE_IN_USE: entry(409, 'Virtual machines use the image'),
  USER_DATA_IN_USE: entry(409, 'Virtual machines use the user data'),
  BACKUP_NOT_FOUND: entry(404, 'There is no such backup'),
  BACKUPS_NOT_AVAILABLE: entry(409, 'The platform has no backup provider'),
  BACKUP_STATE: entry(400, 'The state of the backup does not allow this'),
  SERVICE_OFFERING_NOT_FOUND: entry(404, 'There is no such service offering'),
  SCALE_REFUSED: entry(400, 'The virtual machine cannot take this size'),
  SETTING_INVALID: entry(400, 'A setting has a value that is not allowed'),
  SETTING_FORBIDDEN: entry(400, 'A detail cannot be changed here'),
  SETTINGS_BUSY: entry(409, 'Another change of these settings is under way'),
  SETTINGS_NOT_KEPT: entry(500, 'The settings read back differ from what was written'),
  UEFI_UNSUPPORTED: entry(400, 'No host of the zone can start machines with UEFI'),
  CONSOLE_UNAVAILABLE: entry(500, 'The console cannot be opened now'),
}

const camera_errors = {
  CAM_INVALID_REQUEST_PAYLOAD: entry(400, 'The request is not valid'),
  CAM_NOT_INITIALIZED: entry(404, 'There is no NVR'),
  CAM_ALREADY_INITIALIZED: entry(409, 'There is an NVR already'),
  CAM_STATE: entry(409, 'The state of the NVR does not allow this'),
  CAM_ADDRESS_UNKNOWN: entry(503, 'The virtual machine of the NVR has no address yet'),
  CAM_TEMPLATE_NOT_READY: entry(409, 'The template of the NVR cannot be used yet'),
  CAM_JOB_RUNNING: entry(409, 'The NVR is being changed'),
  CAM_ONVIF_CREDS_REJECTED: entry(401, 'The camera rejected the credentials'),
  CAM_ONVIF_UNSUPPORTED: entry(422, 'The camera does not support ONVIF Profile S'),
  CAM_ONVIF_UNREACHABLE: entry('upstream', 'The camera cannot be reached'),
  CAM_ADDRESS_REFUSED: entry(400, 'Cameras may not have this address'),
  CAM_PASSWORD_REJECTED: entry(401, 'The NVR rejected the password'),
  CAM_PASSWORD_INVALID: entry(400, 'The NVR does not accept this password'),
  CAM_AUTH_FAILED: entry(401, 'The NVR does not accept the stored credentials'),
  CAM_CAMERA_NOT_FOUND: entry(404, 'There is no such camera'),
  CAM_CAMERA_EXISTS: entry(409, 'A camera of this id exists'),
  CAM_TOGGLE_REFUSED: entry(400, 'The NVR refuses this switch'),
  CAM_CONFIG_REJECTED: entry(400, 'The NVR does not accept the configuration'),
  CAM_EVENT_NOT_FOUND: entry(404, 'There is no such event, or not this part of it'),
  CAM_RECORDING_NOT_FOUND: entry(404, 'Nothing is recorded in this window'),
  CAM_CLIP_NOT_FOUND: entry(404, 'There is no such file'),
  CAM_CLIP_TOO_LONG: entry(400, 'The window is longer than a download may be'),
  CAM_FACE_REJECTED: entry(400, 'The NVR does not accept the face'),
}

type SubsystemCodes = `${Subsystem}_${'UNAVAILABLE' | 'TIMEOUT' | 'ERROR' | 'NOT_CONFIGURED'}`

function subsystemErrors(): Record<SubsystemCodes, ErrorEntry> {
  const table: Partial<Record<SubsystemCodes, ErrorEntry>> = {}
  for (const name of SUBSYSTEMS) {
    const word = name.toLowerCase()
    table[`${name}_UNAVAILABLE`] = entry('upstream', `The ${word} subsystem cannot be reached`)
    table[`${name}_TIMEOUT`] = entry('upstream', `The ${word} subsystem did not answer in time`)
    table[`${name}_ERROR`] = entry('upstream', `The ${word} subsystem failed`)
    table[`${name}_NOT_CONFIGURED`] = entry('upstream', `The ${word} subsystem is not configured`)
  }
  return table as Record<SubsystemCodes, ErrorEntry>
}

const ha_errors = {
  HA_MEMBER_NOT_FOUND: entry(404, 'The node is no member of the management cluster'),
  HA_MEMBER_EXISTS: entry(409, 'Another member has this address'),
  HA_SCRIPT_NOT_FOUND: entry(404, 'There is no such managed script'),
  HA_NOT_CONFIGURED: entry(500, 'Failover is not configured here'),
  HA_SCRIPTS_FAILED: entry(500, 'A managed script could not be restored'),
  HA_KEYS_FAILED: entry(500, 'The keys of the peers could not be synchronised'),
}

export const ERRORS = {
  ...general,
  ...areas,
  ...address_errors,
  ...node_errors,
  ...registry_errors,
  ...tenant_errors,
  ...public_ip_errors,
  ...bmc_errors,
  ...kvm_errors,
  ...platform_errors,
  ...fleet_errors,
  ...vm_errors,
  ...camera_errors,
  ...ha_errors,
  ...subsystemErrors(),
}
export type ErrorCode = keyof typeof ERRORS
