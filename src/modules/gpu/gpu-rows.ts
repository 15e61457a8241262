// The GPU operations that are one call of the platform each.
import type { gpu } from '#src/contract/gpu.ts'
import { pageOf } from '#src/contract/common.ts'
import type { Input } from '#src/contract/route.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { objectOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { onePage } from '#src/drivers/cloudstack/page.ts'
import { type Postcondition, unverified } from '#src/drivers/cloudstack/postcondition.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { Subject } from '../operation.ts'
import type { SyncRow } from '../platform-rows.ts'
import {
  CARD_ITEM, DEVICE_ITEM, devicesById, devicesOfHost, PROFILE_ITEM, requireCard, requireProfile, requireUnused, requireUpHost,
} from './gpu-lookup.ts' // biome-ignore format: one import

type Op = keyof typeof gpu.routes
type Spec<O extends Op> = (typeof gpu.routes)[O]
type In<O extends Op> = Input<Spec<O>>

/** The platform asks the host’s scripts. */
const DISCOVERY_TIMEOUT_MS = 100_000

export function gpuLists(cloudstack: CloudStack) {
  return {
    gpuCardList: async ({ body }: In<'gpuCardList'>, ctx: RequestContext) => {
      const page = pageOf(body)
      const args = {
        id: body?.id, vendorname: body?.vendor_name, vendorid: body?.vendor_id, deviceid: body?.device_id, devicename: body?.device_name,
        activeonly: body?.active_only,
      } // biome-ignore format: one record
      const keyword = body?.keyword?.toLowerCase()
      // The platform makes broken SQL of a keyword here, so it is looked for in all of them: a few dozen kinds of cards.
      const { rows, count } =
        keyword === undefined
          ? await cloudstack.listPage('listGpuCards', args, CARD_ITEM, page, optionsOf(ctx))
          : await onePage(cloudstack.listAll('listGpuCards', args, CARD_ITEM, optionsOf(ctx)), page, ({ name }) =>
              name.toLowerCase().includes(keyword),
            )
      return { gpu_cards: rows, count, ...page }
    },
    gpuDeviceList: async ({ body }: In<'gpuDeviceList'>, ctx: RequestContext) => {
      const page = pageOf(body)
      const args = {
        id: body?.id, hostid: body?.host_id, gpucardid: body?.card_id, vgpuprofileid: body?.profile_id,
        virtualmachineid: body?.virtual_machine_id, keyword: body?.keyword,
      } // biome-ignore format: one record
      const { rows, count } = await cloudstack.listPage('listGpuDevices', args, DEVICE_ITEM, page, optionsOf(ctx))
      return { gpu_devices: rows, count, ...page }
    },
    vgpuProfileList: async ({ body }: In<'vgpuProfileList'>, ctx: RequestContext) => {
      const page = pageOf(body)
      const args = {
        id: body?.id,
        name: body?.name,
        gpucardid: body?.card_id,
        activeonly: body?.active_only,
        keyword: body?.keyword,
      }
      const { rows, count } = await cloudstack.listPage('listVgpuProfiles', args, PROFILE_ITEM, page, optionsOf(ctx))
      return { vgpu_profiles: rows, count, ...page }
    },
  }
}

export function gpuRows(cloudstack: CloudStack) {
  const gpuDeviceDiscover: SyncRow<Spec<'gpuDeviceDiscover'>> = {
    mode: 'sync',
    command: 'discoverGpuDevices',
    repeatable: true,
    timeout_ms: DISCOVERY_TIMEOUT_MS,
    about: async ({ body }, ctx) => {
      const host = await requireUpHost(cloudstack, body.host_id, optionsOf(ctx))
      return {
        resource_id: host.id,
        resource_name: host.name,
        description: `Discovering the GPU devices of ${host.name}.`,
        done: `The GPU devices of ${host.name} are discovered.`,
      }
    },
    args: ({ body }) => ({ id: body.host_id }),
    postcondition: () => unverified('What is to be found is not known before; the answer is the list that follows.'),
    // The answer of the discovery is a page; the list that follows is whole.
    reply: async (_answer, { body }, ctx) => countedOf(await devicesOfHost(cloudstack, body.host_id, optionsOf(ctx))),
  }
  const vgpuProfileCreate: SyncRow<Spec<'vgpuProfileCreate'>> = {
    mode: 'sync',
    command: 'createVgpuProfile',
    about: async ({ body }, ctx) => {
      await requireCard(cloudstack, body.card_id, optionsOf(ctx))
      const { rows } = await cloudstack.listPage(
        'listVgpuProfiles',
        { name: body.name },
        PROFILE_ITEM,
        { page: 1, page_size: 50 },
        optionsOf(ctx),
      )
      if (rows.some(({ name }) => name === body.name))
        throw new ApiError('VGPU_PROFILE_EXISTS', `A vGPU profile is called ${body.name} already.`)
      return {
        resource_id: null,
        resource_name: body.name,
        description: `Creating vGPU profile ${body.name}.`,
        done: `vGPU profile ${body.name} is created.`,
      }
    },
    args: ({ body }) => ({
      name: body.name,
      gpucardid: body.card_id,
      description: body.description,
      maxvgpuperphysicalgpu: body.max_vgpu_per_pgpu,
      videoram: body.video_ram_mb,
      maxheads: body.max_heads,
      maxresolutionx: body.max_resolution_x,
      maxresolutiony: body.max_resolution_y,
    }),
    postcondition: ({ body }) => ({ thing: 'vgpu_profile', args: { id: '$id' }, expect: { name: body.name } }),
    listing: ({ body }) => ({ command: 'listVgpuProfiles', key: 'vgpuprofile', args: { name: body.name } }),
    reply: (answer, { body }, ctx) => {
      const made = objectOf(answer, 'vgpuprofile')
      const id = made === null ? null : textOf(made, 'id')
      // What was made without an id was not believed before.
      if (id === null) throw new Error(`vGPU profile ${body.name} has no id`)
      return requireProfile(cloudstack, id, optionsOf(ctx))
    },
  }
  return { gpuDeviceDiscover, vgpuProfileCreate, ...poolRows(cloudstack) }
}

function poolRows(cloudstack: CloudStack) {
  const gpuDeviceManage: SyncRow<Spec<'gpuDeviceManage'>> = {
    mode: 'sync',
    command: 'manageGpuDevice',
    about: async ({ body }, ctx) => {
      await devicesById(cloudstack, body.ids, optionsOf(ctx))
      return poolSubject(body.ids, 'Adding', 'into', 'are in')
    },
    args: ({ body }) => ({ ids: body.ids }),
    postcondition: ({ body }) => inPool(body.ids, 'Managed'),
    reply: async (_answer, { body }, ctx) => countedOf(await devicesById(cloudstack, body.ids, optionsOf(ctx))),
  }
  const gpuDeviceUnmanage: SyncRow<Spec<'gpuDeviceUnmanage'>> = {
    mode: 'sync',
    command: 'unmanageGpuDevice',
    about: async ({ body }, ctx) => {
      requireUnused(await devicesById(cloudstack, body.ids, optionsOf(ctx)))
      return poolSubject(body.ids, 'Taking', 'out of', 'are out of')
    },
    args: ({ body }) => ({ ids: body.ids }),
    postcondition: ({ body }) => inPool(body.ids, 'Unmanaged'),
    reply: async (_answer, { body }, ctx) => countedOf(await devicesById(cloudstack, body.ids, optionsOf(ctx))),
  }
  return { gpuDeviceManage, gpuDeviceUnmanage }
}

function poolSubject(ids: readonly string[], doing: string, direction: string, done: string): Subject {
  const devices = ids.length === 1 ? '1 GPU device' : `${ids.length} GPU devices`
  return {
    resource_id: ids[0] ?? null,
    description: `${doing} ${devices} ${direction} the allocation pool.`,
    done: `${devices} ${ids.length === 1 ? done.replace('are', 'is') : done} the allocation pool.`,
  }
}

const inPool = (ids: readonly string[], managedstate: string): Postcondition[] =>
  ids.map((id) => ({ thing: 'gpu_device', args: { id }, expect: { managedstate } }))

function countedOf<T>(gpu_devices: T[]) {
  return { gpu_devices, count: gpu_devices.length }
}

function optionsOf(ctx: RequestContext) {
  return { signal: ctx.signal, traceparent: ctx.traceparent }
}
