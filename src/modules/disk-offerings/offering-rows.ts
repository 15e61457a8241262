// The changes of disk offerings: one call each.
import type { DiskOfferingCreate, diskOfferings } from '#src/contract/disk-offerings.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { objectOf, type Raw, textsOf } from '#src/drivers/cloudstack/fields.ts'
import { given } from '#src/drivers/cloudstack/postcondition.ts'
import { invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { SyncRow } from '../platform-rows.ts'
import { readOffering } from './offering-list.ts'
import { offeringOf } from './offering-view.ts'

type Spec<Op extends keyof typeof diskOfferings.routes> = (typeof diskOfferings.routes)[Op]

export function offeringRows(cloudstack: CloudStack) {
  const diskOfferingCreate: SyncRow<Spec<'diskOfferingCreate'>> = {
    mode: 'sync',
    command: 'createDiskOffering',
    about: ({ body }) => {
      requireSize(body)
      return {
        resource_id: null,
        resource_name: body.name,
        description: `Creating disk offering ${body.name}.`,
        done: `Disk offering ${body.name} is created.`,
      }
    },
    args: ({ body }) => ({
      name: body.name,
      displaytext: body.display_text ?? body.name,
      disksize: body.disk_size_gb,
      customized: body.customized,
      storagetype: body.storage_type,
      provisioningtype: body.provisioning_type,
      tags: body.tags,
      domainid: body.domain_ids,
      zoneid: body.zone_ids,
      displayoffering: body.display_offering,
      disksizestrictness: body.disk_size_strictness,
      encrypt: body.encrypt,
      miniops: body.min_iops,
      maxiops: body.max_iops,
      customizediops: body.customized_iops,
      ...rateArgs(body),
    }),
    postcondition: ({ body }) => ({ thing: 'disk_offering', args: { id: '$id' }, expect: { name: body.name } }),
    listing: ({ body }) => ({
      command: 'listDiskOfferings',
      key: 'diskoffering',
      args: { name: body.name, listall: true, state: 'all' },
    }),
    reply: (answer) => offeringOf(offeringIn(answer)),
  }
  const diskOfferingUpdate: SyncRow<Spec<'diskOfferingUpdate'>> = {
    mode: 'sync',
    command: 'updateDiskOffering',
    about: async ({ body }, ctx) => {
      if (Object.keys(body).length === 1) throw invalidField('body', 'names nothing to change')
      const { id, name } = await readOffering(cloudstack, body.id, ctx)
      return {
        resource_id: id,
        resource_name: name,
        description: `Updating disk offering ${name}.`,
        done: `Disk offering ${name} is updated.`,
      }
    },
    args: ({ body }) => ({
      id: body.id,
      name: body.name,
      displaytext: body.display_text,
      sortkey: body.sort_key,
      displayoffering: body.display_offering,
      tags: body.tags,
      state: body.state,
      // One text here, where creating takes a list; the platform's words for "no limit" are its own.
      domainid: wholeSet(body.domain_ids, 'public'),
      zoneid: wholeSet(body.zone_ids, 'all'),
      ...rateArgs(body),
    }),
    // Left out: tenants, of which the platform shows no child where it shows the parent, and rates.
    postcondition: ({ body }) => ({
      thing: 'disk_offering',
      args: { id: body.id },
      expect: given({
        name: body.name,
        displaytext: body.display_text,
        displayoffering: body.display_offering,
        tags: body.tags === undefined ? undefined : { exactly: textsOf({ tags: body.tags }, 'tags') },
        state: body.state,
      }),
    }),
    reply: (_answer, { body }, ctx: RequestContext) => readOffering(cloudstack, body.id, ctx),
  }
  return { diskOfferingCreate, diskOfferingUpdate }
}

function requireSize(body: DiskOfferingCreate): void {
  if (body.customized === true && body.disk_size_gb !== undefined)
    throw invalidField('body.disk_size_gb', 'cannot be given when customized')
  if (body.customized !== true && body.disk_size_gb === undefined)
    throw invalidField('body.disk_size_gb', 'is required unless customized')
  const { min_iops, max_iops } = body
  if ((min_iops === undefined) !== (max_iops === undefined))
    throw invalidField('body.min_iops', 'and max_iops go together')
  if (min_iops !== undefined && max_iops !== undefined && min_iops > max_iops)
    throw invalidField('body.min_iops', 'is greater than max_iops')
  if (body.customized_iops === true && min_iops !== undefined)
    throw invalidField('body.min_iops', 'cannot be given with customized_iops')
}

function rateArgs(
  body: Pick<
    DiskOfferingCreate,
    'cache_mode' | 'bytes_read_rate' | 'bytes_write_rate' | 'iops_read_rate' | 'iops_write_rate'
  >,
) {
  return {
    cachemode: body.cache_mode,
    bytesreadrate: body.bytes_read_rate,
    byteswriterate: body.bytes_write_rate,
    iopsreadrate: body.iops_read_rate,
    iopswriterate: body.iops_write_rate,
  }
}

function wholeSet(ids: readonly string[] | undefined, everything: string): string | undefined {
  if (ids === undefined) return undefined
  for (const id of ids) if (/^\d+$|,/.test(id)) throw invalidField('body', `${id} is not the identifier of a resource`)
  return ids.length === 0 ? everything : ids.join(',')
}

function offeringIn(answer: Raw): Raw {
  const offering = objectOf(answer, 'diskoffering')
  if (offering === null) throw new Error('an offering without an id was verified')
  return offering
}
