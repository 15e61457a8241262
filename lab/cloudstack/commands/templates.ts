/** Templates, ISOs and the operating systems they hold. */
import { randomUUID } from 'node:crypto'
import { invalid } from '../api-fault.ts'
import { job } from '../call.ts'
import type { Call, Commands, Outcome } from '../call.ts'
import { ownerFields, text, zoneFields } from '../owner-view.ts'
import type { Template } from '../records.ts'
import type { Json } from '../row.ts'
import { idTest, keywordTest, ownerFor, paged, same } from '../scope.ts'
import { list, wireDate } from '../wire.ts'
import { listRows } from './infrastructure.ts'

const FILTERS = new Set(['featured', 'self', 'selfexecutable', 'sharedexecutable', 'executable', 'community', 'all'])

export const templates: Commands = {
  listTemplates: (call) => listImages(call, false, call.params.need('templatefilter')),
  listIsos: (call) => listImages(call, true, call.params.text('isofilter') ?? 'selfexecutable'),
  registerTemplate: (call) => register(call, false),
  registerIso: (call) => register(call, true),
  deleteTemplate: (call) => remove(call, false),
  deleteIso: (call) => remove(call, true),
  listOsTypes: (call) => {
    const description = call.params.text('description')
    return listRows(
      call,
      [...call.state.tables.ostypes.values()].filter(
        (one) => description === null || one['description'] === description,
      ),
      ['oscategoryid'],
    )
  },
  listOsCategories: (call) => listRows(call, call.state.tables.oscategories.values(), ['name']),
}

function listImages(call: Call, iso: boolean, filter: string): Outcome {
  const { params, state, caller } = call
  if (!FILTERS.has(filter)) throw invalid(`Please specify a valid ${iso ? 'iso' : 'template'} filter`)
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

function register(call: Call, iso: boolean): Outcome {
  const { params, state } = call
  const ostypeid = params.text('ostypeid')
  if (ostypeid === null && (!iso || (params.bool('bootable') ?? true))) throw invalid('Please provide a guest OS type')
  const zones = [params.text('zoneid'), ...params.list('zoneids')].filter((id) => id !== null)
  if (params.text('zoneid') !== null && params.list('zoneids').length > 0)
    throw invalid('Both zoneid and zoneids cannot be specified at the same time')
  if (zones.length === 0) throw invalid('Either zoneid or zoneids must be specified')
  const url = params.need('url')
  if (!/^https?:\/\/\S+$/.test(url)) throw invalid(`Unsupported scheme for url: ${url}`)
  const format = iso ? 'ISO' : params.need('format').toUpperCase()
  if (!iso && !['QCOW2', 'RAW', 'VHD', 'OVA', 'VMDK'].includes(format))
    throw invalid(`Please specify a valid format for the template: ${format}`)
  const owner = ownerFor(call)
  const template = state.tables.templates.put({
    id: randomUUID(),
    name: params.need('name'),
    displaytext: params.text('displaytext') ?? params.need('name'),
    iso,
    format,
    hypervisor: iso ? 'None' : params.need('hypervisor'),
    ostypeid: ostypeid ?? '',
    zoneid: zones[0] ?? '',
    size_bytes: 8 * 1024 ** 3,
    isready: false,
    ispublic: params.bool('ispublic') ?? false,
    isfeatured: params.bool('isfeatured') ?? false,
    bootable: params.bool('bootable') ?? true,
    requireshvm: params.bool('requireshvm') ?? true,
    passwordenabled: params.bool('passwordenabled') ?? false,
    isdynamicallyscalable: params.bool('isdynamicallyscalable') ?? false,
    checksum: params.text('checksum'),
    url,
    created: Date.now(),
    status: '',
    percent: 0,
    downloadstate: 'NOT_DOWNLOADED',
    templatetype: 'USER',
    details: params.merged('details'),
    ...owner,
  })
  call.event({
    type: iso ? 'ISO.CREATE' : 'TEMPLATE.CREATE',
    description: `registering ${template.name}`,
    resourcetype: iso ? 'Iso' : 'Template',
    resourceid: template.id,
    resourcename: template.name,
  })
  return list([imageView(call, template)], 1)
}

function remove(call: Call, iso: boolean): Outcome {
  const { params, state } = call
  const template = state.tables.templates.get(params.need('id'))
  if (template === null || template.iso !== iso)
    throw invalid(`Unable to find ${iso ? 'iso' : 'template'} with id ${params.need('id')}`)
  return job({
    instancetype: iso ? 'Iso' : 'Template',
    instanceid: template.id,
    duration_ms: 800,
    event: {
      type: iso ? 'ISO.DELETE' : 'TEMPLATE.DELETE',
      description: `Deleting ${template.name}`,
      resourcetype: iso ? 'Iso' : 'Template',
      resourceid: template.id,
      resourcename: template.name,
    },
    begin: () => {
      const users = state.tables.vms.filter((vm) =>
        iso ? vm.isoid === template.id : vm.templateid === template.id && vm.state !== 'Destroyed',
      )
      if (users.length > 0 && params.bool('forced') !== true)
        throw invalid(
          `Unable to delete ${template.name} because it is used by VMs: ${users
            .slice(0, 3)
            .map((vm) => vm.name)
            .join(', ')}`,
        )
    },
    end: () => {
      state.tables.templates.remove(template.id)
      return null
    },
  })
}
