/** Templates, ISOs and the operating systems they hold. */
import { randomUUID } from 'node:crypto'
import { invalid } from '../api-fault.ts'
import { type Call, type Commands, job, type Outcome } from '../call.ts'
import type { EventSubject } from '../event-log.ts'
import { ownerFields, text, zoneFields } from '../owner-view.ts'
import type { Template } from '../records.ts'
import type { Json } from '../row.ts'
import { idTest, keywordTest, ownerFor, paged, same } from '../scope.ts'
import { list, object, wireDate } from '../wire.ts'
import { listRows } from './infrastructure.ts'

const FILTERS = new Set(['featured', 'self', 'selfexecutable', 'sharedexecutable', 'executable', 'community', 'all'])

export const templates: Commands = {
  listTemplates: (call) => listImages(call, false, call.params.need('templatefilter')),
  listIsos: (call) => listImages(call, true, call.params.text('isofilter') ?? 'selfexecutable'),
  listOsTypes: (call) => listRows(call, call.state.tables.ostypes.values(), ['description']),
  registerTemplate: (call) => register(call, false),
  registerIso: (call) => register(call, true),
  updateTemplate: (call) => update(call, false),
  updateIso: (call) => update(call, true),
  deleteTemplate: (call) => remove(call, false),
  deleteIso: (call) => remove(call, true),
}

function register(call: Call, iso: boolean): Outcome {
  const { params, state } = call
  const ostypeid = params.text('ostypeid')
  const bootable = params.bool('bootable') ?? true
  if (bootable && state.tables.ostypes.get(ostypeid) === null) throw invalid('Please provide a guest OS type')
  const one = state.tables.templates.put({
    id: randomUUID(),
    name: params.need('name'),
    displaytext: params.text('displaytext') ?? params.need('name'),
    iso,
    format: iso ? 'ISO' : params.need('format'),
    hypervisor: iso ? 'None' : params.need('hypervisor'),
    ostypeid: ostypeid ?? '',
    zoneid: params.need('zoneid'),
    size_bytes: 8 * 1024 ** 3,
    isready: false,
    ispublic: params.bool('ispublic') ?? false,
    isfeatured: false,
    bootable,
    requireshvm: params.bool('requireshvm') ?? true,
    passwordenabled: params.bool('passwordenabled') ?? false,
    isdynamicallyscalable: params.bool('isdynamicallyscalable') ?? !iso,
    checksum: params.text('checksum'),
    url: params.need('url'),
    created: Date.now(),
    status: '0% Downloaded',
    percent: 0,
    downloadstate: 'DOWNLOAD_IN_PROGRESS',
    templatetype: 'USER',
    details: {},
    ...ownerFor(call),
  })
  call.event(imageEvent('CREATE', 'creating', one))
  return list([imageView(call, one)], 1)
}

function update(call: Call, iso: boolean): Outcome {
  const { params, state } = call
  const one = needImage(call, iso)
  const changed = state.tables.templates.put({
    ...one,
    name: params.text('name') ?? one.name,
    displaytext: params.text('displaytext') ?? one.displaytext,
  })
  call.event(imageEvent('UPDATE', 'updating', changed))
  return object(imageView(call, changed))
}

function remove(call: Call, iso: boolean): Outcome {
  const one = needImage(call, iso)
  return job({
    instancetype: iso ? 'Iso' : 'Template',
    instanceid: one.id,
    duration_ms: 300,
    event: imageEvent('DELETE', 'deleting', one),
    end: () => {
      call.state.tables.templates.remove(one.id)
      return null
    },
  })
}

function needImage({ params, state }: Call, iso: boolean): Template {
  const one = state.tables.templates.get(params.need('id'))
  if (one === null || one.iso !== iso)
    throw invalid(`Unable to find ${iso ? 'ISO' : 'template'}: entity does not exist`)
  return one
}

function imageEvent(type: string, doing: string, { id, name, iso }: Template): EventSubject {
  return {
    type: `${iso ? 'ISO' : 'TEMPLATE'}.${type}`,
    description: `${doing} ${iso ? 'iso' : 'template'} ${name}`,
    resourcetype: iso ? 'Iso' : 'Template',
    resourceid: id,
    resourcename: name,
  }
}

/** The same share of a registered template arrives each second; those of the seed stay as they are. */
const DOWNLOAD_MS = 5000

function downloaded(call: Call): void {
  const { state } = call
  for (const one of state.tables.templates.filter(({ created, isready }) => !isready && created > state.seeded_at)) {
    const percent = Math.min(100, Math.floor(((Date.now() - one.created) / DOWNLOAD_MS) * 100))
    if (one.downloadstate !== 'DOWNLOAD_IN_PROGRESS') continue
    const done = { isready: true, status: 'Download Complete', percent: 100, downloadstate: 'DOWNLOADED' }
    state.tables.templates.put({ ...one, ...(percent === 100 ? done : { status: `${percent}% Downloaded`, percent }) })
  }
}

function listImages(call: Call, iso: boolean, filter: string): Outcome {
  const { params, state, caller } = call
  if (!FILTERS.has(filter))
    throw invalid(`No enum constant com.cloud.template.VirtualMachineTemplate.TemplateFilter.${filter}`)
  downloaded(call)
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
