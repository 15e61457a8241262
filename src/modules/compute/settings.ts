// The four calls about hardware settings of a machine, for admins alone.
import { CURATED, type VmSettings, type VmSettingsUpdate, type vmSettings } from '#src/contract/compute/settings.ts'
import { vmCan } from '#src/contract/compute/vm-can.ts'
import type { Handlers, Input } from '#src/contract/route.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { findOne } from '#src/drivers/cloudstack/find-one.ts'
import { flagOf, isRaw, mapOf, objectOf, type Raw, textsOf } from '#src/drivers/cloudstack/fields.ts'
import { onePage } from '#src/drivers/cloudstack/page.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { recordChange } from '#src/store/app-events.ts'
import { type PlatformDeps } from '../platform-rows.ts'
import { curatedOf, type DetailMap, editableDetails, extraConfigOf, setOf } from './details-map.ts'
import { offeringOf } from './infrastructure.ts'
import { scaleVm } from './moves.ts'
import { liveObstacles } from './scaling.ts'
import { writeSettings } from './settings-write.ts'
import { requireTpmPair } from './tpm.ts'
import { optionsOf } from './vm-list.ts'
import { rawVm, requireState, vmSubject } from './vm-lookup.ts'
import { vmOf } from './vm-view.ts'

type Routes = typeof vmSettings.routes
type In<Op extends keyof Routes> = Input<Routes[Op]>

const LIVE_ON = ['KVM']

export function vmSettingsHandlers(deps: PlatformDeps): Handlers<Routes, RequestContext> {
  const { cloudstack } = deps
  return {
    vmSettingsGet: ({ body }: In<'vmSettingsGet'>, ctx: RequestContext) =>
      readSettings(cloudstack, body.virtual_machine_id, ctx),
    vmSettingsOptions: settingsOptions(cloudstack),
    vmSettingsUpdate: updateSettings(deps),
    vmSettingsCompute: scaleVm(deps, LIVE_ON),
  }
}

async function readSettings(
  cloudstack: CloudStack,
  virtual_machine_id: string,
  ctx: RequestContext,
): Promise<VmSettings> {
  const raw = await rawVm(cloudstack, virtual_machine_id, ctx)
  const vm = vmOf(raw)
  const map = mapOf(raw, 'details')
  const details = editableDetails(map)
  const present = await presentOffering(cloudstack, vm.service_offering_id, ctx)
  const args = { virtualmachineid: vm.id, listall: true }
  const item = { key: 'serviceoffering', read: offeringOf }
  const offerings = await onePage(cloudstack.listAll('listServiceOfferings', args, item, optionsOf(ctx)), {
    page: 1,
    page_size: 500,
  })
  const obstacles = liveObstacles(vm, present, LIVE_ON)
  return {
    virtual_machine_id: vm.id,
    name: vm.name,
    state: vm.state,
    settings: curatedOf(details),
    details,
    read_only_details: textsOf(raw, 'readonlydetails'),
    extra_config: extraConfigOf(map),
    compute: {
      service_offering_id: vm.service_offering_id,
      service_offering_name: vm.service_offering_name,
      is_custom: flagOf(present, 'iscustomized'),
      hypervisor: vm.hypervisor,
      cpu_cores: vm.cpu_cores,
      cpu_speed_mhz: vm.cpu_speed_mhz,
      memory_mb: vm.memory_mb,
      dynamically_scalable: vm.dynamically_scalable,
      live_scale: obstacles.length === 0,
      live_scale_obstacles: obstacles,
      offerings: offerings.rows,
      offering_count: offerings.count,
    },
  }
}

async function presentOffering(cloudstack: CloudStack, id: string | null, ctx: RequestContext): Promise<Raw> {
  if (id === null) return {}
  return (
    (await findOne(cloudstack, 'listServiceOfferings', 'serviceoffering', { id, listall: true }, optionsOf(ctx))) ?? {}
  )
}

type Options = Readonly<Record<string, string[]>>

function settingsOptions(cloudstack: CloudStack) {
  return async ({ body }: In<'vmSettingsOptions'>, ctx: RequestContext) => {
    const vm = vmOf(await rawVm(cloudstack, body.virtual_machine_id, ctx, 'min'))
    const details = await detailOptions(cloudstack, vm.id, ctx)
    const settings: Record<string, string[]> = {}
    for (const [name, key] of Object.entries(CURATED)) {
      const allowed = details[key]
      if (allowed !== undefined) settings[name] = allowed
    }
    return { virtual_machine_id: vm.id, settings, details: { ...details } }
  }
}

/** Without the machine's id the options of its hypervisor would be missing. */
async function detailOptions(cloudstack: CloudStack, id: string, ctx: RequestContext): Promise<Options> {
  const answer = await cloudstack.call('listDetailOptions', { resourcetype: 'UserVm', resourceid: id }, optionsOf(ctx))
  const holder = objectOf(answer, 'detailoptions') ?? answer
  const { details } = holder
  if (!isRaw(details)) return {}
  return Object.fromEntries(Object.keys(details).map((name) => [name, textsOf(details, name)]))
}

function updateSettings(deps: PlatformDeps) {
  return async ({ body }: In<'vmSettingsUpdate'>, ctx: RequestContext): Promise<VmSettings> => {
    requireEdit(body)
    const { cloudstack } = deps
    const vm = vmOf(await rawVm(cloudstack, body.virtual_machine_id, ctx, 'min'))
    requireState(vm, body.force === true ? vmCan.settingsForce : vmCan.settingsUpdate)
    const options = await detailOptions(cloudstack, vm.id, ctx)
    const about = {
      resource_type: 'VM',
      resource_uuid: vm.id,
      tenant_id: vmSubject(vm).tenant_id ?? null,
      description: `Changing settings of virtual machine ${vm.name}.`,
    }
    return recordChange(deps, ctx, about, async (note) => {
      await writeSettings(deps, changeOf(body), (intended, current) => requireAllowed(intended, current, options), ctx)
      note.description = `Settings of virtual machine ${vm.name} are changed.`
      return readSettings(cloudstack, vm.id, ctx)
    })
  }
}

function requireEdit(body: VmSettingsUpdate): void {
  const { virtual_machine_id: _id, force: _force, ...edit } = body
  if (Object.keys(edit).length === 0) throw invalidField('body', 'names nothing to change')
  for (const [name, value] of Object.entries(body.extra_config ?? {})) {
    if (value !== null && !/<\s*[\w:-]+/.test(value))
      throw invalidField(`body.extra_config.${name}`, 'holds no XML element')
  }
}

function changeOf(body: VmSettingsUpdate) {
  const { virtual_machine_id, settings, details, extra_config, force, ...top_level } = body
  const edit = { set: setOf(settings), ...(details === undefined ? {} : { details }) }
  return {
    virtual_machine_id,
    edit: () => edit,
    top_level,
    force: force === true,
    ...(extra_config === undefined ? {} : { extra_config }),
  }
}

/** What the host does not know it ignores in silence, so a changed value must be one that the platform offers. */
function requireAllowed(intended: DetailMap, current: DetailMap, options: Options): void {
  for (const [name, value] of Object.entries(intended)) {
    const allowed = options[name] ?? []
    if (value === current[name] || allowed.length === 0 || allowed.includes(value)) continue
    throw new ApiError(
      'SETTING_INVALID',
      `${settingName(name)} cannot be ${value.slice(0, 80)}; it can be ${allowed.join(', ')}.`,
    )
  }
  requireTpmPair(intended, current)
}

function settingName(detail: string): string {
  const curated = Object.entries(CURATED).find(([, key]) => key === detail)
  return curated === undefined ? detail : `${curated[0]} (${detail})`
}
