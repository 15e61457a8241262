// Starts a machine from an image of ours: which file, under which address, and the bytes for who knows the secret in it.
import { randomBytes } from 'node:crypto'
import { createReadStream, type Stats } from 'node:fs'
import { stat } from 'node:fs/promises'
import { isIPv6 } from 'node:net'
import { join } from 'node:path'
import type { BytesAnswer } from '#src/contract/answers.ts'
import type { bmcMachine } from '#src/contract/bmc/machine.ts'
import type { Input, Output } from '#src/contract/route.ts'
import { bootSlot } from '#src/drivers/redfish/media.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { findBootImage, grantBootImage, recordFetch } from '#src/store/bmcs.ts'
import { requireOwnAddress } from '../own-address.ts'
import { admissionFor, bmcChange, type ChangeDeps, requireNoUpdate } from './changes.ts'
import { orderOf } from './bmc-call.ts'
import { bmcIsoMountJob } from './mount.job.ts'

type Routes = (typeof bmcMachine)['routes']

/** An installer reads its image for as long as it installs. */
const IMAGE_HOURS = 12

export function bmcIsoMount(deps: ChangeDeps) {
  type Out = Output<Routes['bmcIsoMount']>
  return bmcChange(deps, {
    definition: bmcIsoMountJob,
    whole: true,
    async admit({ body }: Input<Routes['bmcIsoMount']>, ctx): Promise<Out | undefined> {
      const order = orderOf(body, ctx)
      const { iso_file } = body
      await findFile(deps, iso_file)
      const control_node_ip = await requireOwnAddress(deps, 'body.control_node_ip', body.control_node_ip)
      const bmc = await deps.bmcs.open(order)
      await bootSlot(bmc, { signal: ctx.signal })
      await requireNoUpdate(bmc, ctx.signal)
      const capability = randomBytes(16).toString('base64url')
      const url = `http://${isIPv6(control_node_ip) ? `[${control_node_ip}]` : control_node_ip}:${imagePort(deps)}/boot/${capability}/${iso_file}`
      const description = `Starting the machine of ${order.bmc_ip} from ${iso_file}.`
      await deps.jobs.admit(bmcIsoMountJob, {
        ...admissionFor({ ...order, url, iso_file }, description, ctx),
        metadata: { iso_file, control_node_ip },
        also: (trx) =>
          grantBootImage(trx, { capability, job_id: ctx.operation_id, file: iso_file, hours: IMAGE_HOURS }),
      })
      deps.streams.hurry(order.bmc_ip)
      return undefined
    },
    answer(job, { steps }, result): Out {
      const status = result === undefined ? 'accepted' : result.fetched ? 'completed' : 'unverified'
      return {
        message: result === undefined ? job.description : job.status,
        status,
        steps: steps ?? [],
        correlation_id: job.id,
      }
    },
  })
}

function imagePort({ config, listening }: ChangeDeps): number {
  return config.bmc.image_port ?? listening() ?? config.listen.port
}

async function findFile({ config }: Pick<ChangeDeps, 'config'>, file: string): Promise<{ path: string; stats: Stats }> {
  const { iso_dir } = config.bmc
  if (iso_dir === undefined)
    throw new ApiError('BMC_NOT_CONFIGURED', 'No folder of images is configured: set bmc.iso_dir.')
  const path = join(iso_dir, file)
  const stats = await stat(path).catch(() => undefined)
  if (stats?.isFile() === true) return { path, stats }
  throw invalidField('body.iso_file', `${file} is not in bmc.iso_dir`)
}

/** One answer for every wrong address, so that nobody learns which part of it was wrong. */
export function bootImageGet(deps: ChangeDeps) {
  return async ({ params }: Input<Routes['bootImageGet']>, ctx: RequestContext): Promise<BytesAnswer> => {
    const { capability, file } = params
    const granted = await findBootImage(deps.database.db, capability)
    if (granted === undefined || granted.file !== file) {
      throw new ApiError('BOOT_IMAGE_REJECTED', 'There is no such boot image, or no more.')
    }
    const { path, stats } = await findFile(deps, file).catch((cause: unknown) => {
      throw new ApiError('BMC_NOT_CONFIGURED', `${file} is not in bmc.iso_dir any more.`, { cause })
    })
    const range = rangeOf(ctx.headers.range, stats.size)
    const bytes = range.end - range.start + 1
    await recordFetch(deps.database.db, capability, ctx.remote_address, bytes)
    const headers = {
      'accept-ranges': 'bytes',
      'content-length': String(bytes),
      ...(range.partial ? { 'content-range': `bytes ${range.start}-${range.end}/${stats.size}` } : {}),
    }
    const body = createReadStream(path, { start: range.start, end: range.end })
    return { media_type: 'application/octet-stream', body, headers, status: range.partial ? 206 : 200 }
  }
}

/** One range, as BMCs ask for it; several, and what cannot be read, is the whole file. */
function rangeOf(header: string | undefined, size: number): { start: number; end: number; partial: boolean } {
  const whole = { start: 0, end: size - 1, partial: false }
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(header ?? '') ?? []
  if (first === '' && last === '') return whole
  const start = first === '' ? Math.max(0, size - Number(last)) : Number(first)
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1)
  if (start >= size) throw new ApiError('RANGE_NOT_SATISFIABLE', `Range: the image has ${size} bytes.`)
  return start > end ? whole : { start, end, partial: true }
}
