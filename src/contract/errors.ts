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

export const SUBSYSTEMS = ['COMPUTE', 'NVR', 'DHCP', 'DNS', 'IPAM', 'BMC', 'KVM', 'AGENT', 'STORE', 'IDENTITY'] as const
export type Subsystem = (typeof SUBSYSTEMS)[number]

const general = {
  INVALID_REQUEST: entry(400, 'The request is not valid'),
  NOT_FOUND: entry(404, 'There is no such thing'),
  ROUTE_NOT_FOUND: entry(404, 'There is no such route'),
  METHOD_NOT_ALLOWED: entry(404, 'There is no such route with this method'),
  BODY_TOO_LARGE: entry(400, 'The request body is too large'),
  UNSUPPORTED_MEDIA_TYPE: entry(400, 'The request body has an unsupported media type'),
  UNAUTHENTICATED: entry(401, 'Valid credentials are required'),
  LOGIN_FAILED: entry(401, 'User name or password is wrong'),
  FORBIDDEN: entry(403, 'The caller lacks the right'),
  TENANT_SCOPE: entry(403, 'The token is narrowed to a tenant and this route belongs to none'),
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
  JOB_CANCELLED: entry(500, 'The job was cancelled'),
  JOB_INTERRUPTED: entry(500, 'The operation was interrupted and its outcome is not known'),
  TOKEN_NOT_FOUND: entry(404, 'There is no such token'),
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
  HOOK_SIGNATURE: entry(401, 'The signature of the callback is not valid'),
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
}

const registry_errors = {
  NODE_NOT_FOUND: entry(404, 'There is no such node'),
  NODE_EXISTS: entry(409, 'A node with this BMC address is registered'),
  NODE_JOB_RUNNING: entry(409, 'A job of this node is running'),
  ENROLMENT_REJECTED: entry(401, 'The enrolment was refused'),
  NODE_CREDENTIAL_REJECTED: entry(401, 'The node did not prove who it is'),
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
  PUBLIC_IP_NOT_FOUND: entry(404, 'There is no such public address'),
  PUBLIC_IP_STATE: entry(400, 'The state of the public address does not allow this'),
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

export const ERRORS = { ...general, ...areas, ...node_errors, ...registry_errors, ...platform_errors, ...subsystemErrors() }
export type ErrorCode = keyof typeof ERRORS
