// The template of the NVR's virtual machine: whether the platform has it, and its registration.
import { randomUUID } from 'node:crypto'
import { camInstance, type CamTemplate } from '#src/contract/cam/instance.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { flagOf, numberOf, type Raw, rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import type { Config } from '#src/kernel/config.ts'
import { ApiError, UpstreamError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { LOCKS } from '#src/store/locks.ts'
import { withSessionLock } from '#src/store/session-lock.ts'
import { recordOperation, resourceType } from '../../operation.ts'
import type { CamDeps } from '../deps.ts'

type CamConfig = Config['cam']

export function templateHandlers(deps: CamDeps) {
  const { cloudstack, config, database } = deps
  const read = (signal: AbortSignal) => readTemplate(cloudstack, config.cam, undefined, signal)
  const lock = { lock: LOCKS.nvr, key: 2, name: 'nvr template', wait_ms: 20_000 }
  return {
    nvrTemplateGet: (_input: unknown, { signal }: RequestContext) => read(signal),
    nvrTemplateRegister: (_input: unknown, ctx: RequestContext) =>
      recordOperation(
        deps,
        ctx,
        resourceType(camInstance.routes.nvrTemplateRegister),
        {
          resource_id: '',
          description: 'Registering the template of the NVR.',
          done: 'The template of the NVR is registered.',
        },
        () =>
          withSessionLock(database, lock, async () => {
            const before = await read(ctx.signal)
            if (before.state === 'ready' || before.state === 'downloading') return before
            await register(cloudstack, config.cam, before, ctx.signal)
            return read(ctx.signal)
          }),
      ),
  }
}

/** In this zone; in the configured one, or the first, when left out. */
export async function readTemplate(
  cloudstack: CloudStack,
  { template_name, ...config }: CamConfig,
  zone_id: string | undefined,
  signal: AbortSignal,
): Promise<CamTemplate> {
  const zone = zone_id ?? config.zone_id ?? (await firstZone(cloudstack, signal))
  const args = { templatefilter: 'all', name: template_name, zoneid: zone, showunique: false, listall: true }
  const rows = rowsOf(
    await cloudstack.call('listTemplates', { ...args, page: 1, pagesize: 500 }, { signal }),
    'template',
  )
  const named = rows.filter((row) => textOf(row, 'name') === template_name)
  const row = named.find((one) => flagOf(one, 'isready') === true) ?? named[0]
  if (row === undefined) {
    const message = `The platform has no template ${template_name}; register it with POST /cam/template.`
    return { state: 'missing', progress: 0, message, template_id: null, template_name, zone_id: zone }
  }
  return { ...stateOf(row), template_id: textOf(row, 'id'), template_name, zone_id: zone }
}

/** Texts of a download that goes on. */
const GOES_ON =
  /^$|% Downloaded$|^Installing Template$|^Processing$|^(?:Allocated|Creating|NotUploaded|UploadInProgress)$/i

function stateOf(row: Raw): Pick<CamTemplate, 'state' | 'progress' | 'message'> {
  if (flagOf(row, 'isready') === true) return { state: 'ready', progress: 100, message: 'Ready.' }
  const details = rowsOf(row, 'downloaddetails')
  const status = textOf(row, 'status') ?? ''
  const failed = details.some((one) => ['DOWNLOAD_ERROR', 'ABANDONED'].includes(textOf(one, 'downloadState') ?? ''))
  if (failed || !GOES_ON.test(status)) {
    const message = `The download failed: ${status || 'the platform does not say why'}. POST /cam/template begins it again.`
    return { state: 'failed', progress: 0, message }
  }
  const progress = Math.round(Math.max(0, ...details.map((one) => numberOf(one, 'downloadPercent') ?? 0)))
  return { state: 'downloading', progress: Math.min(progress, 100), message: `${progress} % downloaded.` }
}

async function firstZone(cloudstack: CloudStack, signal: AbortSignal): Promise<string> {
  const [zone] = rowsOf(await cloudstack.call('listZones', { page: 1, pagesize: 1 }, { signal }), 'zone')
  const id = zone === undefined ? null : textOf(zone, 'id')
  if (id === null) throw new ApiError('RESOURCE_NOT_FOUND', 'The platform has no zone.')
  return id
}

/** One that failed is removed first: the platform does not try it again. */
async function register(
  cloudstack: CloudStack,
  { template_name, template_url, template_os }: CamConfig,
  before: CamTemplate,
  signal: AbortSignal,
): Promise<void> {
  if (template_url === undefined) {
    const detail = 'set cam.template_url'
    throw new UpstreamError({ upstream: 'NVR', operation: 'registerTemplate', failure: 'not_configured', detail })
  }
  if (before.template_id !== null) {
    const job_id = randomUUID()
    await cloudstack.call(
      'deleteTemplate',
      { id: before.template_id, zoneid: before.zone_id ?? '' },
      { signal, job_id },
    )
    await cloudstack.followJob(job_id, { signal })
  }
  const types = rowsOf(await cloudstack.call('listOsTypes', { page: 1, pagesize: 500 }, { signal }), 'ostype')
  const os = types.find((one) => textOf(one, 'description') === template_os)
  if (os === undefined) {
    throw new ApiError('RESOURCE_NOT_FOUND', `The platform knows no operating system ${template_os} (cam.template_os).`)
  }
  await cloudstack.call(
    'registerTemplate',
    {
      name: template_name, displaytext: 'NVR for cameras', url: template_url, zoneid: before.zone_id ?? '', hypervisor: 'KVM', format: 'QCOW2',
      ostypeid: textOf(os, 'id') ?? '', ispublic: false, requireshvm: true,
    },
    { signal },
  ) // biome-ignore format: one call
}
