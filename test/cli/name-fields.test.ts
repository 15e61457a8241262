// Every field of the contract that holds an id takes the name as well, or says here why it cannot.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fieldsOf } from '../../cli/fields.ts'
import { NAME_ROWS, rowOf } from '../../cli/name-rows.ts'
import { areas } from '#src/contract/index.ts'
import { type Shape, shapeOf } from '../../cli/schema-shape.ts'

const RUN = 'a run of something: it has no name'
const RECORD = 'an entry of a log: it has no name'
const SESSION = 'a sign-in: it has no name'
const POSITION = 'a place in a sequence, not the id of a thing'
const PCI = 'a number of the PCI bus, which is what people know it by'
const SLOT = 'a number of a slot in the machine'
const NO_LIST = 'no route lists them or names them'
const NUMBERED = 'a small number, which is what the lists of the address store show first'
const UNNAMED = 'the platform gives them no name that any route shows'

/** By field, or by operation and field. */
const CAMERA = 'the word that the camera is called by'
const WITHOUT_NAME: Readonly<Record<string, string>> = {
  job_id: RUN,
  'jobGet.id': RUN,
  'jobCancel.id': RUN,
  'benchmarkResultRead.id': RUN,
  'benchmarkCancel.id': RUN,
  'sessionEnd.id': SESSION,
  correlation_id: RUN,
  'appEventGet.id': RECORD,
  'eventArchive.ids': RECORD,
  after_id: POSITION,
  last_event_id: POSITION,
  resource_id: 'the id of any kind of thing; the kind is not said',
  caller_id: 'a user, a token or a node; the kind is not said',
  segment_id: 'a number of a VLAN or VXLAN',
  'gpuCardList.vendor_id': PCI,
  'gpuCardList.device_id': PCI,
  device_id: SLOT,
  'bmcPut.system_id': 'a word of the BMC itself, whose systems are not listed here',
  record_id: NO_LIST,
  security_group_ids: NO_LIST,
  snapshot_id: `${NO_LIST}: a snapshot of a volume`,
  physical_network_id: UNNAMED,
  destination_physical_network_id: UNNAMED,
  management_server_id: UNNAMED,
  'serviceProviderElementConfigure.id': UNNAMED,
  'serviceProviderElementGet.id': UNNAMED,
  'benchmarkDiskRun.profile_id': 'the ids are words: seq-read-1m',
  'custom_profile.id': 'the word for a profile that the request brings along',
  identity_provider_id: 'the name that the provider has for itself',
  boot_id: 'made up by the kernel of the node',
  'operations.old_record.id': NO_LIST,
  'ddiDriftRepair.id': RECORD,
  'ipamAddressAllocate.owner_id': 'the id of any kind of thing; the kind stands beside it',
  'ipamAddressList.owner_id': 'the id of any kind of thing; the kind stands beside it',
  'ipamAddressList.prefix_id': NUMBERED,
  'kvmProvision.prefix_id': NUMBERED,
  'cameraEventGet.id': RECORD,
  'cameraEventClipGet.id': RECORD,
  'cameraEventSnapshotGet.id': RECORD,
  'cameraEventThumbnailGet.id': RECORD,
  'cameraReviewViewedSet.ids': RECORD,
  'cameraAudioSet.id': CAMERA,
  'cameraDetectSet.id': CAMERA,
  'cameraMotionSet.id': CAMERA,
  'cameraRecordingSet.id': CAMERA,
  'cameraLatestGet.id': CAMERA,
  'cameraPreviewFrameList.id': CAMERA,
  'cameraPreviewList.id': CAMERA,
  'cameraClipGet.id': CAMERA,
  'cameraHlsGet.id': CAMERA,
  'cameraSegmentList.id': CAMERA,
  'cameraRecordingSummaryGet.id': CAMERA,
  'cameraLiveOpen.id': CAMERA,
  'cameraWebrtcOpen.id': CAMERA,
  'cameraCreate.id': CAMERA,
  'cameraDelete.id': CAMERA,
  'ipamVlanList.site_id': NUMBERED,
  'ipamVlanCreate.site_id': NUMBERED,
  'ipamVlanCreate.role_id': NUMBERED,
  'ipamPrefixList.site_id': NUMBERED,
  'ipamPrefixList.vlan_id': NUMBERED,
  'ipamPrefixCreate.site_id': NUMBERED,
  'ipamPrefixCreate.vlan_id': NUMBERED,
  'ipamPrefixCreate.role_id': NUMBERED,
  'ipamSiteDelete.id': NUMBERED,
  'ipamRoleDelete.id': NUMBERED,
  'ipamVlanDelete.id': NUMBERED,
  'ipamPrefixDelete.id': NUMBERED,
  'ipamPrefixGet.id': NUMBERED,
  'ipamAddressAllocate.id': NUMBERED,
  'ipamAddressRelease.id': NUMBERED,
}

interface IdField {
  operation: string
  name: string
  /** As it is looked for in the table of exceptions. */
  keys: string[]
}

const idName = /(^|_)ids?$/

/** Also those within records and lists of records. */
function idFields(): IdField[] {
  const found: IdField[] = []
  for (const area of areas) {
    for (const [operation, route] of Object.entries(area.routes)) {
      for (const field of fieldsOf(operation, route, area)) {
        const { name } = field
        if (idName.test(name)) found.push({ operation, name, keys: [`${operation}.${name}`, name] })
        for (const path of innerIds(field.shape, name)) {
          const [inner = ''] = path.split('.').slice(-1)
          found.push({ operation, name: inner, keys: [path, ...(inner === 'id' ? [] : [inner])] })
        }
      }
    }
  }
  return found
}

function innerIds(shape: Shape, path: string): string[] {
  const record = shape.items ?? shape
  return [...record.members].flatMap(([name, member]) => [
    ...(idName.test(name) ? [`${path}.${name}`] : []),
    ...innerIds(member, `${path}.${name}`),
  ])
}

function isNamed({ operation, name, keys }: IdField): boolean {
  // A bare `id` within a record is of that record.
  if (name === 'id' && keys[0]?.startsWith(`${operation}.`) !== true) return false
  return rowOf({ operation, name }) !== undefined
}

test('every field that holds an id takes a name, or stands in the list of those that cannot, with the reason', () => {
  const fields = idFields()
  assert.ok(fields.length > 150, `only ${fields.length} fields were found`)
  const open = fields.filter((field) => !isNamed(field) && !field.keys.some((key) => key in WITHOUT_NAME))
  assert.deepEqual(
    open.map(({ operation, name }) => `${operation}.${name}`),
    [],
  )
  const used = new Set(
    fields.filter((field) => !isNamed(field)).map(({ keys }) => keys.find((key) => key in WITHOUT_NAME)),
  )
  assert.deepEqual(
    Object.keys(WITHOUT_NAME).filter((key) => !used.has(key)),
    [],
  )
})

test('what the table of names reads is in the contract: the lists, the fields that narrow, the members that are names', () => {
  const routes = new Map(areas.flatMap((area) => Object.entries(area.routes)))
  for (const row of NAME_ROWS) {
    const route = routes.get(row.list)
    assert.ok(route !== undefined, `${row.what}: there is no ${row.list}`)
    const fields = [...shapeOf(route.body).members.keys(), ...Object.keys(route.query?.properties ?? {})]
    const filters = [...Object.values(row.narrow ?? {}), ...(row.of === undefined ? [] : [row.of.field])]
    const unknown = filters.filter((field) => !fields.includes(field))
    assert.deepEqual(unknown, [], `${row.list} does not take ${unknown.join(', ')}`)
    const listed = [...shapeOf(route.ok[200]).members.values()].find((member) => member.kind === 'list')?.items
    const record = row.inside === undefined ? listed : listed?.members.get(row.inside)?.items
    const members = [row.id ?? 'id', ...row.names.filter((name) => typeof name === 'string')]
    const missing = members.filter((member) => record?.members.has(member) !== true)
    assert.deepEqual(missing, [], `${row.list} shows no ${missing.join(', ')}`)
  }
})
