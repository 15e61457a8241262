// Turns the platform's templates and ISO images into ours, with the state of their download.
import type { IsoImage, Template } from '#src/contract/compute/images.ts'
import { flagOf, integerOf, numberOf, type Raw, rowsOf, textOf, timeOf } from '#src/drivers/cloudstack/fields.ts'

export function templateOf(row: Raw): Template {
  return { ...imageOf(row), password_enabled: flagOf(row, 'passwordenabled') }
}

export function imageOf(row: Raw): IsoImage {
  return {
    id: textOf(row, 'id') ?? '',
    name: textOf(row, 'name') ?? '',
    display_text: textOf(row, 'displaytext'),
    is_ready: flagOf(row, 'isready'),
    is_public: flagOf(row, 'ispublic'),
    is_featured: flagOf(row, 'isfeatured'),
    bootable: flagOf(row, 'bootable'),
    os_type_id: textOf(row, 'ostypeid'),
    os_type_name: textOf(row, 'ostypename'),
    hypervisor: textOf(row, 'hypervisor'),
    format: textOf(row, 'format'),
    arch: textOf(row, 'arch'),
    size_bytes: integerOf(row, 'size'),
    zone_id: textOf(row, 'zoneid'),
    zone_name: textOf(row, 'zonename'),
    ...downloadOf(row),
    tenant_id: textOf(row, 'domainid'),
    tenant_name: textOf(row, 'domain'),
    account: textOf(row, 'account'),
    project_id: textOf(row, 'projectid'),
    created_at: timeOf(row, 'created'),
  }
}

/** Texts of a download that goes on. */
const GOES_ON =
  /^$|% Downloaded$|^Installing Template$|^Processing$|^(?:Allocated|Creating|NotUploaded|UploadInProgress)$/i

function downloadOf(row: Raw): Pick<IsoImage, 'state' | 'percent' | 'status'> {
  const status = textOf(row, 'status')
  if (flagOf(row, 'isready') === true) return { state: 'ready', percent: 100, status }
  const details = rowsOf(row, 'downloaddetails')
  const failed = details.some((one) => ['DOWNLOAD_ERROR', 'ABANDONED'].includes(textOf(one, 'downloadState') ?? ''))
  if (failed || !GOES_ON.test(status ?? '')) return { state: 'failed', percent: null, status }
  const shares = details.flatMap((one) => numberOf(one, 'downloadPercent') ?? [])
  const percent = shares.length === 0 ? null : Math.min(100, Math.max(0, Math.round(Math.max(...shares))))
  return { state: 'downloading', percent, status }
}
