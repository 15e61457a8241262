// Lists backups of virtual machines; they are restored with the other sources (restore.ts).
import { pageOf } from '#src/contract/common.ts'
import type { Backup, backups } from '#src/contract/compute/backups.ts'
import type { Handlers, Input } from '#src/contract/route.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { integerOf, type Raw, textOf, timeOf } from '#src/drivers/cloudstack/fields.ts'
import { scopeOf } from '#src/drivers/cloudstack/tenant-scope.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { optionsOf } from './vm-list.ts'

type Routes = typeof backups.routes

export function backupHandlers(cloudstack: CloudStack): Handlers<Routes, RequestContext> {
  return {
    backupList: async ({ body }: Input<Routes['backupList']>, ctx) => {
      const { id, virtual_machine_id, zone_id, name, keyword, ...rest } = body ?? {}
      const page = pageOf(rest)
      const filter = { id, virtualmachineid: virtual_machine_id, zoneid: zone_id, name, keyword }
      const args = { ...filter, ...scopeOf(ctx.caller.tenant_id) }
      const list = { key: 'backup', read: backupOf }
      const { rows, count } = await cloudstack.listPage('listBackups', args, list, page, optionsOf(ctx))
      return { backups: rows, count, ...page }
    },
  }
}

function backupOf(raw: Raw): Backup {
  return {
    id: textOf(raw, 'id') ?? '',
    name: textOf(raw, 'name'),
    state: textOf(raw, 'status') ?? 'Unknown',
    type: textOf(raw, 'type'),
    virtual_machine_id: textOf(raw, 'virtualmachineid'),
    virtual_machine_name: textOf(raw, 'virtualmachinename'),
    backup_offering_id: textOf(raw, 'backupofferingid'),
    backup_offering_name: textOf(raw, 'backupofferingname'),
    size_bytes: integerOf(raw, 'size'),
    disk_bytes: integerOf(raw, 'virtualsize'),
    zone_id: textOf(raw, 'zoneid'),
    zone_name: textOf(raw, 'zone'),
    tenant_id: textOf(raw, 'domainid'),
    tenant_name: textOf(raw, 'domain'),
    account: textOf(raw, 'account'),
    project_id: textOf(raw, 'projectid'),
    created_at: timeOf(raw, 'created'),
  }
}
