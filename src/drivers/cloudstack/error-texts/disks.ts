// Texts of the platform about volumes, snapshots, images and disk offerings.
import type { TextRow } from './text-row.ts'

export const DISK_TEXTS: readonly TextRow[] = [
  [
    /requires a custom size|Disksize is required/,
    'COMPUTE_REJECTED',
    'The disk offering[ {sent.diskofferingid}] has no fixed size; give `disk_size_gb`.',
    /^(deploy|create)(VirtualMachine|DiskOffering)/,
  ],
  [
    /requires a custom size/,
    'COMPUTE_REJECTED',
    'The disk offering[ {sent.diskofferingid}] has no fixed size; give `size_gb`.',
  ],
  [
    /does not allow custom size/,
    'COMPUTE_REJECTED',
    'The disk offering[ {sent.diskofferingid}] has a fixed size; leave out `size_gb`.',
  ],
  [
    /Disksize is not allowed for a customized/,
    'COMPUTE_REJECTED',
    '`disk_size_gb` does not go with `customized`; leave one out.',
  ],
  [/disk size of at least 1 GB/, 'COMPUTE_REJECTED', '`disk_size_gb` must be at least 1.'],
  [
    /The maximum size for a disk is (?<most>\d+) GB/,
    'COMPUTE_REJECTED',
    '`disk_size_gb`[ {sent.disksize}] must not be greater than {most}.',
  ],
  [/Disk size must be larger than 0/, 'COMPUTE_REJECTED', '`size_gb` must be at least 1.'],
  [
    /Volume size: (?<size>\d+) ?GB is out of allowed range\. Min: (?<least>\d+)\.? Max: (?<most>\d+)/,
    'COMPUTE_REJECTED',
    '`disk_size_gb`, or `size_gb` of `data_disks`, must be between {least} and {most}, not {size}.',
    /^deployVirtualMachine$/,
  ],
  [
    /Volume size: (?<size>\d+) ?GB is out of allowed range\. Min: (?<least>\d+)\.? Max: (?<most>\d+)/,
    'COMPUTE_REJECTED',
    '`size_gb` must be between {least} and {most}, not {size}.',
  ],
  [/disk Offering ID or snapshot ID must be passed/, 'COMPUTE_REJECTED', 'Give `disk_offering_id` or `snapshot_id`.'],
  [
    /shrink the volume|shrink/i,
    'COMPUTE_REJECTED',
    'The new size[, {sent.size} GB,] is below the present one; making a volume smaller needs `shrink_ok` and loses what lies beyond the end.',
  ],
  [
    /Failed to resize volume operation/,
    'COMPUTE_ERROR',
    'The storage of the volume[ {sent.volume}] did not take the new size; it may not support making a volume smaller.',
  ],
  [
    /automigrate is set to false but volume needs to/,
    'COMPUTE_REJECTED',
    'The new offering needs the volume[ {sent.volume}] on other storage; give `auto_migrate` true.',
  ],
  [
    /specify a volume that is not attached to any VM/,
    'VOLUME_ATTACHED',
    'The volume[ {sent.volume}] is attached to a virtual machine; detach it first.',
  ],
  [/volume is not attached/, 'VOLUME_NOT_ATTACHED', 'The volume[ {sent.volume}] is attached to no virtual machine.'],
  [
    /either a volume id, or a tuple\(device id, instance id\)/,
    'COMPUTE_REJECTED',
    'Give `volume_id`, or `virtual_machine_id` and `device_id`.',
  ],
  [/has no ISO attached/, 'ISO_NOT_ATTACHED', 'The virtual machine[ {sent.vm}] has no ISO image.'],
  [
    /Cannot attach \w+ PV drivers to incompatible hypervisor/,
    'COMPUTE_REJECTED',
    'The ISO image[ {sent.id}] is made for another hypervisor than that of the virtual machine.',
  ],
  [
    /Revert snapshot command failed .* supported only for/,
    'COMPUTE_REJECTED',
    'The hypervisor of the volume cannot revert it to the snapshot[ {sent.id}]; make a new volume from the snapshot instead.',
  ],
  [
    /same zone/i,
    'VOLUME_ZONE',
    'The volume[ {sent.volume}] and the virtual machine[ {sent.virtualmachineid}] are in different zones.',
  ],
  [
    /Invalid storage type (?<value>\S+) specified/,
    'COMPUTE_REJECTED',
    '`storage_type` must be shared or local, not {value}.',
  ],
  [
    /Invalid cache mode \((?<value>[^)]*)\)/,
    'COMPUTE_REJECTED',
    '`cache_mode` must be one of none, writeback, writethrough and hypervisor_default, not {value}.',
  ],
  [
    /Code is not implemented/,
    'COMPUTE_REJECTED',
    '`provisioning_type` must be thin, sparse or fat[, not {sent.provisioningtype}].',
    /DiskOffering/,
  ],
  [
    /because invalid domain has been specified/,
    'RESOURCE_NOT_FOUND',
    'A tenant of `domain_ids` does not exist[: {sent.domainid}].',
  ],
  [
    /min\/max cpu and min\/max memory/,
    'COMPUTE_REJECTED',
    'A service offering with ranges needs smallest and greatest cores and memory, all of them.',
  ],
  [
    /custom compute offering cpu and memory all should be null/,
    'COMPUTE_REJECTED',
    'A custom service offering has no cores and memory of its own; leave both out.',
  ],
]
