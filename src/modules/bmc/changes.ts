// Admits the jobs that change something through a BMC, after the checks whose rejection the caller should hear at once, and
// answers in the forms that the documents show.
import type { bmcBios } from '#src/contract/bmc/bios.ts'
import type { bmcMachine } from '#src/contract/bmc/machine.ts'
import type { BmcChangeAnswer, bmcPower } from '#src/contract/bmc/power.ts'
import type { Input, Output } from '#src/contract/route.ts'
import { checkBiosChange, readBios, waitingBiosJob } from '#src/drivers/redfish/bios.ts'
import type { Bmc } from '#src/drivers/redfish/bmc.ts'
import { requireSimpleUpdate } from '#src/drivers/redfish/firmware.ts'
import { chooseResetType, goalOf, readPower, readResetTypes } from '#src/drivers/redfish/power.ts'
import { isRunning, readRemoteJobs, type RemoteJob } from '#src/drivers/redfish/remote-jobs.ts'
import { idOfPath } from '#src/drivers/redfish/tasks.ts'
import type { JobDefinition } from '#src/jobs/define.ts'
import type { JobRow } from '#src/jobs/job-row.ts'
import { throwIfFailed } from '#src/jobs/run.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { recordOperation } from '../operation.ts'
import type { BmcOrder } from '../bmc-access.ts'
import type { PowerStreams } from '../power-streams.ts'
import { bmcBiosSetJob } from './bios.job.ts'
import { type BmcDeps, orderOf } from './bmc-call.ts'
import { bmcJobsDeleteJob } from './clear.job.ts'
import { bmcFirmwareUpdateJob } from './firmware.job.ts'
import { bmcPowerSetJob } from './power.job.ts'

export interface ChangeDeps extends BmcDeps {
  streams: PowerStreams
}

type PowerRoutes = (typeof bmcPower)['routes']
type BiosRoutes = (typeof bmcBios)['routes']
type MachineRoutes = (typeof bmcMachine)['routes']

/** How long a caller waits until the BMC has accepted, and for answers that show the outcome. */
const ACCEPTED_WITHIN_MS = 60_000

interface Answered<In, Out, JobInput, State, Result> {
  /** Answers at once when nothing is left to be changed. */
  admit(input: In, ctx: RequestContext): Promise<Out | undefined>
  /** Also without `Prefer`, the end is waited for. */
  whole?: boolean
  answer(job: JobRow, saved: Partial<State>, result: Result | undefined, input: In): Out
  definition: JobDefinition<never, JobInput, State, Result>
}

/** A handler that answers when the BMC has accepted the change, or when it has come about where that is asked for. */
export function bmcChange<In, Out, JobInput, State, Result>(
  { jobs }: BmcDeps,
  { admit, whole = false, answer, definition }: Answered<In, Out, JobInput, State, Result>,
) {
  return async (input: In, ctx: RequestContext): Promise<Out> => {
    const at_once = ctx.resumed ? undefined : await admit(input, ctx)
    if (at_once !== undefined) return at_once
    const to_the_end = whole || ctx.wait_seconds > 0
    const timeout_ms = ctx.wait_seconds > 0 ? ctx.wait_seconds * 1000 : ACCEPTED_WITHIN_MS
    const until = to_the_end ? {} : { until: ({ milestone }: JobRow) => milestone !== null }
    const job = await jobs.wait(ctx.operation_id, { timeout_ms, signal: ctx.signal, ...until })
    throwIfFailed(job)
    return answer(job, await jobs.saved(definition, job), jobs.result(definition, job), input)
  }
}

export function admissionFor<I extends BmcOrder>(input: I, description: string, ctx: RequestContext) {
  const { bmc_ip } = input
  return { operation: ctx, input, description, resource_id: bmc_ip, resource_name: bmc_ip }
}

export function bmcPowerSet(deps: ChangeDeps) {
  return bmcChange(deps, {
    definition: bmcPowerSetJob,
    async admit({ body }: Input<PowerRoutes['bmcPowerSet']>, ctx) {
      const order = orderOf(body, ctx)
      const bmc = await deps.bmcs.open(order)
      const reset_type = chooseResetType(body.reset_type, await readResetTypes(bmc, { signal: ctx.signal }))
      return admitPower(deps, ctx, { bmc, order, plan: [reset_type], force_off: false })
    },
    answer: powerAnswer,
  })
}

export function bmcRestart(deps: ChangeDeps) {
  return bmcChange(deps, {
    definition: bmcPowerSetJob,
    async admit({ body }: Input<PowerRoutes['bmcRestart']>, ctx) {
      const order = orderOf(body, ctx)
      const bmc = await deps.bmcs.open(order)
      const types = await readResetTypes(bmc, { signal: ctx.signal })
      const { power_on } = await readPower(bmc, { signal: ctx.signal })
      const on = chooseResetType('on', types)
      const graceful = types.types.includes('GracefulRestart') && body.force_after_timeout !== true
      const plan =
        power_on === false ? [on] : graceful ? ['GracefulRestart'] : [chooseResetType('GracefulShutdown', types), on]
      return admitPower(deps, ctx, { bmc, order, plan, force_off: body.force_after_timeout === true })
    },
    answer: powerAnswer,
  })
}

interface PowerOrder {
  bmc: Bmc
  order: BmcOrder
  plan: string[]
  force_off: boolean
}

async function admitPower(
  deps: ChangeDeps,
  ctx: RequestContext,
  { bmc, order, plan, force_off }: PowerOrder,
): Promise<BmcChangeAnswer | undefined> {
  const { bmc_ip } = order
  const [first = ''] = plan
  const { power_on } = await readPower(bmc, { signal: ctx.signal })
  const goal = goalOf(first)
  const needless = plan.length === 1 && ((goal === 'on' && power_on === true) || (goal === 'off' && power_on === false))
  if (needless) {
    const message = `The machine of ${bmc_ip} is ${power_on === true ? 'on' : 'off'} already.`
    const subject = { resource_id: bmc_ip, description: message, done: message }
    return recordOperation(deps, ctx, 'BMC', subject, async () => ({
      message,
      status: 'unchanged',
      correlation_id: ctx.operation_id,
    }))
  }
  if (goal !== 'on') await requireNoUpdate(bmc, ctx.signal)
  deps.streams.hurry(bmc_ip)
  const description = `Sending ${plan.join(', then ')} to BMC ${bmc_ip}.`
  await deps.jobs.admit(bmcPowerSetJob, {
    ...admissionFor({ ...order, plan, force_off }, description, ctx),
    metadata: { plan },
  })
  return undefined
}

/** A machine that loses power while its firmware is written may not come back. */
export async function requireNoUpdate(bmc: Bmc, signal: AbortSignal): Promise<void> {
  const running = (await remoteJobs(bmc, signal)).find(
    (job) => isRunning(job) && /firmware|update/i.test(job.name ?? ''),
  )
  if (running === undefined) return
  throw new ApiError('BMC_JOB_CONFLICT', `The BMC ${bmc.bmc_ip} is writing firmware (${running.id}); wait for its end.`)
}

async function remoteJobs(bmc: Bmc, signal: AbortSignal): Promise<RemoteJob[]> {
  return readRemoteJobs(bmc, { signal }).catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 'BMC_UNSUPPORTED') return []
    throw error
  })
}

function powerAnswer(job: JobRow, _saved: unknown, result: { verified: boolean } | undefined): BmcChangeAnswer {
  const { id: correlation_id, description, status: sentence } = job
  if (result === undefined) return { message: accepted(description), status: 'accepted', correlation_id }
  return { message: sentence, status: result.verified ? 'completed' : 'unverified', correlation_id }
}

/** `Sending ForceOff to BMC …` is what goes on; the answer says what has happened by now. */
function accepted(description: string): string {
  return description.replace(/^Sending (.*) to BMC (.*)\.$/, 'The BMC $2 has accepted $1.')
}

export function bmcBiosSet(deps: ChangeDeps) {
  type Out = Output<BiosRoutes['bmcBiosSet']>
  return bmcChange(deps, {
    definition: bmcBiosSetJob,
    async admit({ body }: Input<BiosRoutes['bmcBiosSet']>, ctx): Promise<Out | undefined> {
      const order = orderOf(body, ctx)
      const { bmc_ip } = order
      const bmc = await deps.bmcs.open(order)
      const reading = await readBios(bmc, { signal: ctx.signal, with_registry: true })
      const attributes = checkBiosChange(reading, body.attributes)
      const names = Object.keys(attributes)
      const in_force = names.every((name) => reading.current[name] === attributes[name] && !(name in reading.pending))
      if (in_force) {
        const message = `All ${names.length} settings of ${bmc_ip} are in force already; nothing was sent.`
        const subject = { resource_id: bmc_ip, description: message, done: message }
        return recordOperation(deps, ctx, 'BMC', subject, async () => ({
          attributes,
          job_id: '',
          message,
          correlation_id: ctx.operation_id,
        }))
      }
      const waiting = await waitingBiosJob(bmc, { signal: ctx.signal })
      if (waiting !== undefined) {
        throw new ApiError(
          'BMC_JOB_CONFLICT',
          `The job ${waiting} of BMC ${bmc_ip} holds the BIOS (pending: ${Object.keys(reading.pending).join(', ') || 'unknown'}). Restart the machine, or delete the jobs of the BMC.`,
        )
      }
      const unseen = names.filter((name) => reading.registry?.attributes.get(name)?.type === 'Password')
      const description = `Changing ${names.length} BIOS settings of ${bmc_ip}.`
      const shown = Object.fromEntries(
        names.filter((name) => !unseen.includes(name)).map((name) => [name, attributes[name]]),
      )
      await deps.jobs.admit(bmcBiosSetJob, {
        ...admissionFor({ ...order, attributes: { ...attributes }, unseen }, description, ctx),
        metadata: { attributes: shown },
      })
      return undefined
    },
    answer(job, { remote_id }, _result, { body }): Out {
      const count = Object.keys(body.attributes).length
      const done = job.job_status === 'completed'
      const pending = `${count} BIOS ${count === 1 ? 'setting' : 'settings'} of ${body.bmc_ip} ${count === 1 ? 'is' : 'are'} pending; restart the machine to apply.`
      const attributes = withoutSecrets(body.attributes, job)
      return { attributes, job_id: remote_id || job.id, message: done ? job.status : pending, correlation_id: job.id }
    },
  })
}

/** Passwords are not repeated: those that the job does not show. */
function withoutSecrets(given: Record<string, string | number | boolean | null>, { metadata }: JobRow) {
  const shown = (metadata as { attributes?: Record<string, string | number | boolean | null> }).attributes ?? {}
  return Object.fromEntries(Object.keys(given).map((name) => [name, name in shown ? (shown[name] ?? null) : '']))
}

export function bmcFirmwareUpdate(deps: ChangeDeps) {
  type Out = Output<BiosRoutes['bmcFirmwareUpdate']>
  return bmcChange(deps, {
    definition: bmcFirmwareUpdateJob,
    async admit({ body }: Input<BiosRoutes['bmcFirmwareUpdate']>, ctx): Promise<Out | undefined> {
      const { image_uri, targets, apply_time } = body
      checkImageUri(image_uri)
      const order = orderOf(body, ctx)
      const bmc = await deps.bmcs.open(order)
      await requireSimpleUpdate(bmc, { signal: ctx.signal })
      await requireNoUpdate(bmc, ctx.signal)
      const more = {
        ...(targets === undefined ? {} : { targets }),
        ...(apply_time === undefined ? {} : { apply_time }),
      }
      const { host, pathname } = new URL(image_uri)
      const description = `Updating the firmware of ${order.bmc_ip} from ${host}.`
      const admission = admissionFor({ ...order, image_uri, ...more }, description, ctx)
      await deps.jobs.admit(bmcFirmwareUpdateJob, { ...admission, metadata: { image: `${host}${pathname}` } })
      return undefined
    },
    answer(job, { submissions }, result): Out {
      const task_uri = submissions?.update?.made ?? null
      return {
        message: result === undefined ? `The BMC ${job.resource_name} has accepted the update.` : job.status,
        status: result?.status ?? 'accepted',
        job_id: task_uri === null ? job.id : idOfPath(task_uri),
        task_uri,
        correlation_id: job.id,
      }
    },
  })
}

const LOOPBACK = /^(localhost|127\.|\[?::1\]?$|0\.0\.0\.0)/i

function checkImageUri(image_uri: string): void {
  const problem = (message: string): never => {
    throw invalidField('body.image_uri', message)
  }
  if (!URL.canParse(image_uri)) return problem('must be an address such as http://10.0.0.5/bios.exe')
  const { protocol, username, password, hostname } = new URL(image_uri)
  if (protocol !== 'http:' && protocol !== 'https:') return problem('must begin with http:// or https://')
  if (username !== '' || password !== '') return problem('must not carry credentials: they would be logged by the BMC')
  if (LOOPBACK.test(hostname)) return problem('names this machine, which is not where the BMC looks for it')
}

export function bmcJobsDelete(deps: ChangeDeps) {
  type Out = Output<MachineRoutes['bmcJobsDelete']>
  return bmcChange(deps, {
    definition: bmcJobsDeleteJob,
    whole: true,
    async admit({ body }: Input<MachineRoutes['bmcJobsDelete']>, ctx): Promise<Out | undefined> {
      const order = orderOf(body, ctx)
      const force = body.force === true
      const bmc = await deps.bmcs.open(order)
      const jobs = await readRemoteJobs(bmc, { signal: ctx.signal })
      const running = jobs.filter(isRunning)
      if (running.length > 0 && !force) {
        const ids = running.map(({ id }) => id).join(', ')
        throw new ApiError(
          'BMC_JOB_CONFLICT',
          `${ids} of BMC ${order.bmc_ip} are running; wait for their end, or force it.`,
        )
      }
      const description = `Deleting ${jobs.length} jobs of BMC ${order.bmc_ip}.`
      await deps.jobs.admit(bmcJobsDeleteJob, {
        ...admissionFor({ ...order, force }, description, ctx),
        metadata: { jobs: jobs.map(({ id }) => id) },
      })
      return undefined
    },
    answer(job, _saved, result): Out {
      const remaining = result?.remaining ?? []
      const status = result === undefined ? 'accepted' : remaining.length === 0 ? 'completed' : 'partial'
      return { message: result === undefined ? job.description : job.status, status, remaining, correlation_id: job.id }
    },
  })
}
