/** Templates, ISOs and the operating systems they hold. */
import { invalid } from '../api-fault.ts'
import type { Call, Commands, Outcome } from '../call.ts'
import { ownerFields, text, zoneFields } from '../owner-view.ts'
import type { Template } from '../records.ts'
import type { Json } from '../row.ts'
import { idTest, keywordTest, paged, same } from '../scope.ts'
import { wireDate } from '../wire.ts'

const FILTERS = new Set(['featured', 'self', 'selfexecutable', 'sharedexecutable', 'executable', 'community', 'all'])

export const templates: Commands = {
  listTemplates: (call) => listImages(call, false, call.params.need('templatefilter')),
  listIsos: (call) => listImages(call, true, call.params.text('isofilter') ?? 'selfexecutable'),
}

function listImages(call: Call, iso: boolean, filter: string): Outcome {
  const { params, state, caller } = call
  if (!FILTERS.has(filter))
    throw invalid(`No enum constant com.cloud.template.VirtualMachineTemplate.TemplateFilter.${filter}`)
  const tests = (['name', 'zoneid', 'hypervisor', 'templatetype'] as const).map((name) => ({
    name,
    test: same(call, name),
  }))
  const byId = idTest(call)
  const keyword = keywordTest(call)
  const ready = params.bool('isready')
  const bootable = params.bool('bootable')
  const mine = filter.startsWith('self')
  const found = state.tables.templates.filter(
    (one) =>
      one.iso === iso &&
      byId(one.id) &&
      tests.every(({ name, test }) => test(one[name])) &&
      keyword(one.name, one.displaytext) &&
      (ready === null || one.isready === ready) &&
      (bootable === null || one.bootable === bootable) &&
      (!mine || one.accountid === caller.account.id) &&
      (!filter.endsWith('executable') || one.isready) &&
      (filter !== 'featured' || one.isfeatured),
  )
  return paged(call, found, (one) => imageView(call, one))
}

function imageView(call: Call, one: Template): Record<string, Json> {
  const { state } = call
  return {
    id: one.id,
    name: one.name,
    displaytext: one.displaytext,
    ispublic: one.ispublic,
    created: wireDate(one.created),
    isready: one.isready,
    passwordenabled: one.passwordenabled,
    format: one.format,
    bootable: one.bootable,
    isfeatured: one.isfeatured,
    crossZones: false,
    ostypeid: one.ostypeid,
    ostypename: text(state.tables.ostypes.get(one.ostypeid)?.['description']),
    accountid: one.accountid,
    ...ownerFields(state, one),
    ...zoneFields(state, one.zoneid),
    status: one.status,
    size: one.size_bytes,
    physicalsize: one.isready ? Math.round(one.size_bytes / 4) : 0,
    templatetype: one.templatetype,
    hypervisor: one.hypervisor,
    isextractable: true,
    checksum: one.checksum,
    details: one.details,
    isdynamicallyscalable: one.isdynamicallyscalable,
    directdownload: false,
    deployasis: false,
    requireshvm: one.requireshvm,
    url: one.url,
    arch: 'x86_64',
    bits: 64,
    sshkeyenabled: false,
    downloaddetails: [
      { datastore: 'secondary', downloadPercent: String(one.percent), downloadState: one.downloadstate },
    ],
    tags: [],
    hasannotations: false,
  }
}
