// Turns the platform's disk offering into ours.
import type { DiskOffering } from '#src/contract/disk-offerings.ts'
import { flagOf, numberOf, type Raw, textOf, textsOf, timeOf } from '#src/drivers/cloudstack/fields.ts'

export function offeringOf(row: Raw): DiskOffering {
  const customized = flagOf(row, 'iscustomized')
  return {
    id: textOf(row, 'id') ?? '',
    name: textOf(row, 'name') ?? '',
    display_text: textOf(row, 'displaytext'),
    // The platform says 0 where each disk chooses its own size.
    disk_size_gb: customized === true ? null : numberOf(row, 'disksize'),
    customized,
    storage_type: textOf(row, 'storagetype') ?? '',
    provisioning_type: textOf(row, 'provisioningtype'),
    tags: textsOf(row, 'tags'),
    state: textOf(row, 'state') ?? '',
    domain_ids: textsOf(row, 'domainid'),
    zone_ids: textsOf(row, 'zoneid'),
    display_offering: flagOf(row, 'displayoffering'),
    disk_size_strictness: flagOf(row, 'disksizestrictness'),
    encrypt: flagOf(row, 'encrypt'),
    cache_mode: textOf(row, 'cacheMode') ?? textOf(row, 'cachemode'),
    bytes_read_rate: numberOf(row, 'diskBytesReadRate'),
    bytes_write_rate: numberOf(row, 'diskBytesWriteRate'),
    iops_read_rate: numberOf(row, 'diskIopsReadRate'),
    iops_write_rate: numberOf(row, 'diskIopsWriteRate'),
    customized_iops: flagOf(row, 'iscustomizediops'),
    min_iops: numberOf(row, 'miniops'),
    max_iops: numberOf(row, 'maxiops'),
    suitable_for_virtual_machine: flagOf(row, 'suitableforvirtualmachine'),
    created_at: timeOf(row, 'created'),
  }
}
