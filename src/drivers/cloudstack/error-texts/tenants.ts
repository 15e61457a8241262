// Texts of the platform about tenants, accounts, public ranges, limits, directories, webhooks and GPUs.
import type { TextRow } from './text-row.ts'

export const TENANT_TEXTS: readonly TextRow[] = [
  [/Account must be specified with domainId/, 'COMPUTE_REJECTED', '`account` needs `domain_id`.'],
  [
    /(could not|Unable to) find account (by name )?(?<name>\S+)( in domain.*)?$/i,
    'RESOURCE_NOT_FOUND',
    'Account {name} not found in the tenant.',
  ],
  [/Domain id=\d+ doesn't exist/, 'RESOURCE_NOT_FOUND', 'Tenant[ {sent.id}] not found.'],
  [/Domain with name \[(?<name>[^\]]*)\] already exists/, 'TENANT_EXISTS', 'A tenant named {name} already exists.'],
  [
    /DomainVO\.getId\(\)" because "domain" is null/,
    'TENANT_EXISTS',
    'A tenant with the id[ {sent.domainid}] already exists.',
    /^createDomain$/,
  ],
  [/Domain name contains one or more invalid characters/, 'COMPUTE_REJECTED', '`name` must not contain a slash.'],
  [
    /The specified account: (?<name>\S+) already exists/,
    'COMPUTE_CONFLICT',
    'An account named {name} already exists in the tenant.',
  ],
  [
    /The user (?<name>\S+) already exists in domain/,
    'COMPUTE_CONFLICT',
    'A user named {name} already exists in the tenant.',
  ],
  [/Neither account type and role ID/, 'COMPUTE_REJECTED', 'The account needs a type or a role that exists.'],
  [
    /all users and sub domains have been removed/,
    'COMPUTE_CONFLICT',
    'The tenant[ {sent.tenant}] still has users, accounts or tenants below it; remove them first.',
  ],
  [
    /is a system account, lock is not allowed/,
    'COMPUTE_REJECTED',
    'The account[ {sent.id}] is one of the compute platform itself, which cannot be locked or disabled.',
  ],
  [/LockAccount does not lock accounts/, 'COMPUTE_REJECTED', 'Accounts are locked by disabling them with a lock.'],
  [/accountype should be either/, 'COMPUTE_REJECTED', '`account_type` must be user or domain_admin.'],
  [
    /Unable to bind to the given LDAP server/,
    'COMPUTE_REJECTED',
    'The LDAP server[ {sent.hostname}] cannot be reached or does not accept the credentials.',
  ],
  [
    /Cannot find configuration with hostname/,
    'RESOURCE_NOT_FOUND',
    'The LDAP server[ {sent.hostname}] is not configured.',
  ],
  [
    /A userdata with name (?<name>\S+) already exists|Userdata (?<other>\S+) with same content/,
    'COMPUTE_CONFLICT',
    'User data [named {name} ][with this content ({other}) ]already exists for this account.',
  ],
  [/A key pair with name '(?<name>.*)' already exists/, 'COMPUTE_CONFLICT', 'An SSH key named {name} already exists.'],
  [/group with name (?<name>\S+) already exists/, 'COMPUTE_CONFLICT', 'An affinity group named {name} already exists.'],
  [
    /invalid affinity group type: (?<value>.+)\. Valid values are (?<all>.+)$/,
    'COMPUTE_REJECTED',
    '`type` must be one of {all}, not {value}.',
  ],

  [
    /maximum allowed resource limit (?<most>-?\d+) for (?<kind>\w+)/,
    'COMPUTE_REJECTED',
    'The limit of {kind} must not be greater than that of the tenant above, {most}.',
  ],
  [/limit that is at least '0'/, 'COMPUTE_REJECTED', 'A limit must be -1 for none, 0 or more[; {sent.max} was sent].'],
  [
    /Only -1 limit is supported for Root Admin/,
    'COMPUTE_REJECTED',
    'An account of the compute platform’s own admins has no limits.',
  ],
  [/Cannot update resource limit for ROOT domain/, 'COMPUTE_REJECTED', 'The root of all tenants has no limits.'],

  [
    /Public IP range has already been dedicated|dedicated to (another|system)/i,
    'IP_RANGE_IN_USE',
    'The public range[ {sent.range}] is dedicated already; release it first.',
  ],
  [
    /allocated to another (domain|account)|range.* in use by another/i,
    'IP_RANGE_IN_USE',
    'Addresses of the public range[ {sent.range}] are used by somebody else; release them first.',
  ],
  [
    /as it not dedicated to any domain/,
    'COMPUTE_REJECTED',
    'The public range[ {sent.range}] is dedicated to no tenant.',
  ],
  [
    /IP range already has IPs that overlap|has overlapped with the subnet/,
    'IP_RANGE_IN_USE',
    'The public range[ {sent.range}] overlaps one that exists; choose other addresses.',
  ],
  [
    /specify a valid IP range or valid netmask|Please specify a valid IP range\.$|^Incorrect number/,
    'COMPUTE_REJECTED',
    '`start_ip`[ {sent.startip}], `end_ip`[ {sent.endip}], `gateway`[ {sent.gateway}] and `netmask`[ {sent.netmask}] must be of one network, in order.',
    /^create/,
  ],
  [/specify a valid IP range id/, 'IP_RANGE_NOT_FOUND', 'Public IP range[ {sent.id}] not found.'],
  [
    /gateway ip should not be the part of the ip range/,
    'COMPUTE_REJECTED',
    '`gateway`[ {sent.gateway}] must not be inside the range.',
  ],

  [
    /Illegal host specified in URL/,
    'COMPUTE_REJECTED',
    'The compute platform calls no loopback, link-local or wildcard address[: {sent.payloadurl}].',
  ],
  [
    /^Unable to resolve (?<host>\S+?)\.?$/,
    'COMPUTE_REJECTED',
    'The compute platform cannot resolve the host of the URL, {host}.',
  ],
  [/Payload URL: .* is already in use/, 'COMPUTE_CONFLICT', 'Another webhook has the URL[ {sent.payloadurl}] already.'],
  [/Unable to find the webhook/, 'RESOURCE_NOT_FOUND', 'Webhook[ {sent.id}] not found.'],

  [
    /(GPU card with vendor ID (?<vendor>\w+) and device ID (?<device>\w+)) already exists/,
    'COMPUTE_CONFLICT',
    'A GPU card with vendor {vendor} and device {device} already exists.',
  ],
  [
    /GPU device with bus address (?<address>\S+) already exists/,
    'COMPUTE_CONFLICT',
    'A GPU device with bus address {address} already exists on the host.',
  ],
  [
    /vGPU profile with name (?<name>.+) already exists/,
    'VGPU_PROFILE_EXISTS',
    'A vGPU profile named {name} already exists for the card.',
  ],
  [/Invalid GPU device type: (?<value>\w+)/, 'COMPUTE_REJECTED', '`type` must be PCI, MDEV or VGPUOnly, not {value}.'],
  [
    /GPU device .* as it is (currently allocated|in use)/,
    'GPU_DEVICE_IN_USE',
    'A virtual machine uses the GPU device[ {sent.gpu}]; stop that machine first.',
  ],
  [
    /it is in use by one or more GPU devices/,
    'COMPUTE_CONFLICT',
    'GPU devices use the vGPU profile[ {sent.id}]; change them first.',
  ],
  [
    /Failed to delete (vGPU profile|GPU card): .*foreign key constraint/,
    'COMPUTE_CONFLICT',
    'A service offering or a virtual machine, perhaps an expunged one, refers to it, so it cannot be deleted.',
  ],
]
