// Turns the platform's volume into ours.
import type { Volume } from '#src/contract/compute/volume.ts'
import { integerOf, type Raw, textOf, timeOf } from '#src/drivers/cloudstack/fields.ts'

export function volumeOf(raw: Raw): Volume {
  return {
    id: textOf(raw, 'id') ?? '',
    name: textOf(raw, 'name') ?? '',
    type: textOf(raw, 'type') ?? 'DATADISK',
    state: textOf(raw, 'state') ?? 'Unknown',
    size_bytes: integerOf(raw, 'size'),
    device_id: integerOf(raw, 'deviceid'),
    virtual_machine_id: textOf(raw, 'virtualmachineid'),
    virtual_machine_name: textOf(raw, 'vmname'),
    tenant_id: textOf(raw, 'domainid'),
    tenant_name: textOf(raw, 'domain'),
    account: textOf(raw, 'account'),
    project_id: textOf(raw, 'projectid'),
    zone_id: textOf(raw, 'zoneid'),
    zone_name: textOf(raw, 'zonename'),
    disk_offering_id: textOf(raw, 'diskofferingid'),
    disk_offering_name: textOf(raw, 'diskofferingname'),
    storage_id: textOf(raw, 'storageid'),
    storage_name: textOf(raw, 'storage'),
    snapshot_id: textOf(raw, 'snapshotid'),
    min_iops: integerOf(raw, 'miniops'),
    max_iops: integerOf(raw, 'maxiops'),
    pending_job_id: integerOf(raw, 'jobstatus') === 0 ? textOf(raw, 'jobid') : null,
    attached_at: timeOf(raw, 'attached'),
    created_at: timeOf(raw, 'created'),
  }
}
