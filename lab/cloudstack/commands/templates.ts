/** Templates, ISOs and the operating systems they hold. */
import { randomUUID } from 'node:crypto'
import { invalid } from '../api-fault.ts'
import { type Call, type Commands, job, type Outcome } from '../call.ts'
import { ownerFields, text, zoneFields } from '../owner-view.ts'
import type { Template } from '../records.ts'
import type { Json } from '../row.ts'
import { idTest, keywordTest, paged, same } from '../scope.ts'
import { list, wireDate } from '../wire.ts'
import { listRows } from './infrastructure.ts'

const FILTERS = new Set(['featured', 'self', 'selfexecutable', 'sharedexecutable', 'executable', 'community', 'all'])

export const templates: Commands = {
  listTemplates: (call) => listImages(call, false, call.params.need('templatefilter')),
  listIsos: (call) => listImages(call, true, call.params.text('isofilter') ?? 'selfexecutable'),
  listOsTypes: (call) => listRows(call, call.state.tables.ostypes.values(), ['description']),
  registerTemplate: (call) => {
    const { params, state, caller } = call
    const ostypeid = params.need('ostypeid')
    if (state.tables.ostypes.get(ostypeid) === null) throw invalid('Please provide a guest OS type')
    const one = state.tables.templates.put({
      id: randomUUID(),
      name: params.need('name'),
      displaytext: params.text('displaytext') ?? params.need('name'),
      iso: false,
      format: params.need('format'),
      hypervisor: params.need('hypervisor'),
      ostypeid,
      zoneid: params.need('zoneid'),
      size_bytes: 8 * 1024 ** 3,
      isready: false,
      ispublic: params.bool('ispublic') ?? false,
      isfeatured: false,
      bootable: true,
      requireshvm: params.bool('requireshvm') ?? true,
      passwordenabled: false,
      isdynamicallyscalable: true,
      checksum: params.text('checksum'),
      url: params.need('url'),
      created: Date.now(),
      status: '0% Downloaded',
      percent: 0,
      downloadstate: 'DOWNLOAD_IN_PROGRESS',
      templatetype: 'USER',
      details: {},
      accountid: caller.account.id,
      projectid: null,
    })
    call.event({
      type: 'TEMPLATE.CREATE',
      description: `creating template ${one.name}`,
      resourcetype: 'Template',
      resourceid: one.id,
      resourcename: one.name,
    })
    return list([imageView(call, one)], 1)
  },
  deleteTemplate: (call) => {
    const { params, state } = call
    const one = state.tables.templates.get(params.need('id'))
    if (one === null || one.iso) throw invalid('Unable to find template: entity does not exist')
    return job({
      instancetype: 'Template',
      instanceid: one.id,
      duration_ms: 300,
      end: () => {
        state.tables.templates.remove(one.id)
        return null
      },
    })
  },
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
