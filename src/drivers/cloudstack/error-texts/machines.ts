// Texts of the platform about virtual machines: making, starting, moving, scaling, changing them.
import type { TextRow } from './text-row.ts'

const NO_ROOM =
  'No host has the free CPU, memory and storage that this needs; choose a smaller service offering or add capacity.'
const ADDRESS = 'The address[ {sent.ipaddress}] is in use, or outside network {network}; choose another one.'

export const MACHINE_TEXTS: readonly TextRow[] = [
  [
    /Unable to use system template (?:Template )?(?<name>.+) to deploy a user vm/,
    'COMPUTE_REJECTED',
    'Template {name} is a system template; choose one that is made for virtual machines.',
  ],
  [
    /unable to use template|template .*(not ready|is not available)/i,
    'COMPUTE_REJECTED',
    'Template[ {sent.templateid}] is not ready in this zone; wait until its download has ended, or choose another one.',
  ],
  [
    /bootmode must be specified.*|BaseDeployVMCmd\.getBootMode\(\)" is null/,
    'COMPUTE_REJECTED',
    '`boot_mode` is missing; it must be LEGACY or SECURE.',
  ],
  [/Invalid bootType (?<value>\w+?) ?Specified/, 'COMPUTE_REJECTED', '`boot_type` must be UEFI or BIOS, not {value}.'],
  [
    /specify custom parameter values cpu/,
    'COMPUTE_REJECTED',
    'The service offering[ {sent.serviceofferingid}] has no fixed size; give `cpu_cores`, `memory_mb` and, unless it fixes the speed, `cpu_speed_mhz`.',
  ],
  [
    /Invalid cpu cores value, specify a value between (?<least>\d+) and (?<most>\d+)/,
    'COMPUTE_REJECTED',
    '`cpu_cores` must be between {least} and {most}.',
  ],
  [
    /Invalid memory value, specify a value between (?<least>\d+) and (?<most>\d+)/,
    'COMPUTE_REJECTED',
    '`memory_mb` must be between {least} and {most}.',
  ],
  [
    /Invalid cpu speed value, specify a value between (?<least>\d+) and (?<most>\d+)/i,
    'COMPUTE_REJECTED',
    '`cpu_speed_mhz` must be between {least} and {most}.',
  ],
  [
    /should not be specified for static service offering/,
    'COMPUTE_REJECTED',
    'The service offering[ {sent.serviceofferingid}] has a fixed size; leave out `cpu_cores`, `memory_mb` and `cpu_speed_mhz`.',
  ],
  [
    /Invalid specified IPv4 address (?<value>\S+)|Invalid ip address (?<other>\S+)/i,
    'COMPUTE_REJECTED',
    '[{value}][{other}] is not an IP address.',
  ],
  [
    /Hypervisor passed .* different/,
    'COMPUTE_REJECTED',
    '`hypervisor`[ {sent.hypervisor}] is not that of the template; leave it out.',
  ],
  [
    /Not all specified keypairs exist/,
    'COMPUTE_REJECTED',
    '`key_pairs`[ {sent.keypairs}]: not all exist for the owner of the virtual machine; register them or leave them out.',
  ],
  [
    /rootdisksize override \((?<size>[^)]+)\) is smaller than template size \((?<least>[^)]+)\)/,
    'COMPUTE_REJECTED',
    '`root_disk_size_gb` is {size}, but the template needs {least}.',
  ],
  [/Root disk size should be a positive number/, 'COMPUTE_REJECTED', '`root_disk_size_gb` must be at least 1.'],
  [
    /vm with hostName (?<name>\S+) already exists in the network domain: .*; network=(?<network>.+)$/,
    'COMPUTE_CONFLICT',
    'A virtual machine named {name} already exists in network {network}.',
  ],
  [
    /only one of the following parameters - template ID, volume ID or snapshot ID/,
    'COMPUTE_REJECTED',
    'Give exactly one of `template_id`, `volume_id` and `snapshot_id`.',
  ],
  [
    /Unable to acquire Guest IP address for network (?:Network )?(?<network>[^\s:]+?)(?:Scope=.*)?$/,
    'COMPUTE_REJECTED',
    ADDRESS,
  ],
  [
    /has delete protection enabled/,
    'COMPUTE_REJECTED',
    'Delete protection[ of {sent.vm}] is on; switch it off with `delete_protection` false first.',
  ],
  [
    /The owner of VM instance .* is disabled: Account (?<account>\S+)/,
    'COMPUTE_REJECTED',
    'Account {account}, which owns the virtual machine[ {sent.vm}], is disabled; activate its tenant first.',
  ],
  [
    /Can't add resources to the account Account (?<account>\S+) in state=(?<state>\w+)/,
    'COMPUTE_REJECTED',
    'Account {account} is {state}, so nothing can be made for it; activate its tenant first.',
  ],
  [
    /no usable volumes found for the VM/,
    'VM_STATE',
    'The virtual machine[ {sent.vm}] has no root disk; attach one to slot 0 before you start it.',
  ],
  [
    /Unable to orchestrate the start of VM/,
    'VM_STATE',
    'The virtual machine[ {sent.vm}] cannot be started as it is; only a Stopped one can. Recover a Destroyed one first.',
  ],
  [
    /No destination found|Unable to create a deployment|Insufficient (host|server) capacity|InsufficientServerCapacity/i,
    'CAPACITY_EXCEEDED',
    NO_ROOM,
  ],
  [
    /already has the requested service offering \((?<name>[^)]*)\)/,
    'SCALE_REFUSED',
    'The virtual machine[ {sent.vm}] has service offering {name} already.',
  ],
  [
    /only scalling up it is supported/,
    'SCALE_REFUSED',
    'The virtual machine[ {sent.vm}] runs and can only grow; stop it to make it smaller.',
  ],
  [
    /does not have tools to support dynamic scaling|live scale/i,
    'SCALE_REFUSED',
    'The virtual machine[ {sent.vm}] cannot be scaled while it runs; stop it first.',
  ],
  [
    /already present on (this )?host/,
    'COMPUTE_CONFLICT',
    'The virtual machine[ {sent.vm}] runs on this host[ ({sent.hostid})] already; choose another one.',
  ],
  [
    /not in same cluster and all volumes are not on zone wide/,
    'COMPUTE_REJECTED',
    'The host[ {sent.hostid}] is in another cluster, which cannot reach the volumes; choose a host of the same cluster or migrate the volumes as well.',
  ],
  [
    /uses host passthrough, cannot migrate/,
    'VM_HAS_GPU',
    'The virtual machine[ {sent.vm}] uses a GPU of its host and cannot be migrated.',
  ],
  [
    /template is not password enabled/,
    'COMPUTE_REJECTED',
    'The password cannot be reset: the template of the virtual machine[ {sent.vm}] does not support it.',
  ],
  [
    /'?extraconfig'? should not be included in details/,
    'COMPUTE_REJECTED',
    '`details` must not contain extraconfig; use `extra_config`.',
  ],
  [
    /enable\.additional\.vm\.configuration is disabled/,
    'COMPUTE_REJECTED',
    '`extra_config` is switched off on the compute platform; leave it out or have its operators switch it on.',
  ],
  [
    /not on the list of allowed keys|is not allowed in the configuration/i,
    'COMPUTE_REJECTED',
    '`extra_config` contains an element that the compute platform does not allow.',
  ],
  [/Can't enable ha for the vm/, 'COMPUTE_REJECTED', '`ha_enabled` needs a service offering with high availability.'],
  [
    /Dynamic Scaling cannot be enabled .* template/,
    'COMPUTE_REJECTED',
    '`dynamically_scalable` needs a template that allows it.',
  ],
  [
    /affinitygroupids parameter is mutually exclusive/,
    'COMPUTE_REJECTED',
    'Give the affinity groups by id or by name, not both.',
  ],
  [/affinitygroupids parameter or affinitygroupnames/, 'COMPUTE_REJECTED', '`affinity_group_ids` is missing.'],
  [
    /NIC cannot be added to VM with VM Snapshots|remove VM snapshots|does not have VM snapshots|have vm snapshots|vm snapshots? (first|before)/i,
    'VM_HAS_SNAPSHOTS',
    'The virtual machine[ {sent.vm}] has snapshots; delete them first.',
  ],
  [
    /VM Snapshot revert not allowed/,
    'VM_STATE',
    'A Running virtual machine can be reverted to a snapshot with memory only, a Stopped one to a snapshot without.',
  ],
  [
    /has not backup offering|no backup offering/i,
    'COMPUTE_REJECTED',
    'The virtual machine[ {sent.vm}] has no backup offering.',
  ],
  [
    /Unmanage VM is currently not allowed for hypervisor|VM Import is currently not supported for hypervisor/i,
    'COMPUTE_REJECTED',
    'The hypervisor[ {sent.hypervisor}] does not support importing or unmanaging virtual machines; choose another cluster.',
  ],
  [
    /No hosts available to list VMs on remote host/,
    'COMPUTE_REJECTED',
    'No host of the zone can ask the remote host[ {sent.host}] for its machines.',
  ],
]

/** Which state a thing must have. */
export const STATE_TEXTS: readonly TextRow[] = [
  [
    /concurrent operation/i,
    'COMPUTE_CONFLICT',
    'Another operation on {thing} is under way; repeat this when it has ended.',
  ],
  [/is already running/i, 'VM_STATE', 'The virtual machine[ {sent.vm}] is Running already.'],
  [
    /Root volume detach can happen only/,
    'VM_STATE',
    'The root disk can be detached only while the virtual machine[ {sent.vm}] is Stopped.',
  ],
  [
    /Please destroy vm .* before expunge/,
    'VM_STATE',
    'The virtual machine[ {sent.vm}] [is {is} and ]must be Destroyed before it can be expunged.',
  ],
  [
    /not in the right state/,
    'VM_STATE',
    'The virtual machine[ {sent.vm}] [is {is} and ]must be Destroyed to be recovered.',
    /^recover/,
  ],
  [
    /virtual router is not in the right state/,
    'NETWORK_STATE',
    'The virtual router of the network[ {sent.network}] does not run; start a virtual machine in the network or restart the network, then repeat this.',
  ],
  [
    /Network is not in the right state to be restarted/,
    'NETWORK_STATE',
    'The network[ {sent.network}] must be Implemented or Setup to be restarted; it is once a virtual machine runs in it.',
  ],
  [
    /(is )?(either )?running or stopped|stopped or running|stopped\/running|VM in Running or Stopped|Unable to add NIC to VM/i,
    'VM_STATE',
    'The virtual machine[ {sent.vm}] [is {is} and ]must be Running or Stopped.',
  ],
  [
    /is not Stopped|should be stopped|not in the shutdown state|is stopped and not in an error state|must be stopped/i,
    'VM_STATE',
    'The virtual machine[ {sent.vm}] [is {is} and ]must be Stopped.',
  ],
  [
    /is not running|must be running|should be running/i,
    'VM_STATE',
    'The virtual machine[ {sent.vm}] [is {is} and ]must be Running.',
  ],
  [
    /is not in Ready state but (?<state>\w+)/,
    'VOLUME_STATE',
    'The volume[ {sent.volume}] is {state} and must be Ready; attach it to a virtual machine first.',
  ],
  [
    /not in the right state|in the state of|in state \w+;/i,
    'VM_STATE',
    'The state of {thing} does not allow this; read it and wait, or bring it into another state.',
  ],
]
