// What machines report that were started from an image of ours. Each report is checked against its token, and becomes a signal to
// the job that waits for it; nothing else comes of it.
import { Type } from 'typebox'
import { HardwareReport, type kvmProvisioning, type Phase, type PhoneHomeRequest } from '#src/contract/kvm/provision.ts'
import { Nullable } from '#src/contract/common.ts'
import type { Input, Output } from '#src/contract/route.ts'
import type { Jobs } from '#src/jobs/admit.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { createRateLimiter } from '#src/kernel/http/rate-limit.ts'
import type { Database } from '#src/store/database.ts'
import { lockPhoneHome, type PhoneHomeRow, savePhase } from '#src/store/phone-home.ts'

const Report = Type.Object({
  /** Null: the phase was reached. Else why the installation failed. */
  failure: Nullable(Type.String()),
  macs: Type.Array(Type.String()),
  addresses: Type.Array(Type.String()),
  pool_health: Nullable(Type.String()),
  ssh_host_keys: Type.Array(Type.String()),
  report: Nullable(HardwareReport),
})

/** The kind of job whose machine only reports its hardware. */
export const REVEAL_TYPE = 'node.reveal'

/** In the order in which an installation reaches them; a reveal has one phase. */
export const LIVE_BOOTED = { name: 'live-booted', payload: Report }
export const INSTALLED = { name: 'installed', payload: Report }
export const FIRST_BOOT = { name: 'first-boot', payload: Report }
export const REVEALED = { name: 'revealed', payload: Report }

const SIGNALS = {
  'live-booted': LIVE_BOOTED,
  installed: INSTALLED,
  'first-boot': FIRST_BOOT,
  revealed: REVEALED,
} as const
const ORDER = ['live-booted', 'installed', 'first-boot'] as const

export interface PhoneHomeDeps {
  database: Database
  jobs: Pick<Jobs, 'find' | 'signal'>
}

type Route = (typeof kvmProvisioning)['routes']['nodePhoneHome']
type Answer = Output<Route>

const PER_SECOND = 1
const BURST = 20
const MAX_BYTES = 16 * 1024
const MAX_REPORT_BYTES = 256 * 1024

export function nodePhoneHome({ database, jobs }: PhoneHomeDeps) {
  const limiter = createRateLimiter(PER_SECOND, BURST)
  return async ({ body }: Input<Route>, ctx: Pick<RequestContext, 'headers' | 'log'>): Promise<Answer> => {
    limiter.take(body.token)
    requireSize(body, Number(ctx.headers['content-length'] ?? 0))
    return database.db.transaction().execute(async (trx) => {
      const row = await lockPhoneHome(trx, body.token)
      const job = row === undefined ? undefined : await jobs.find(row.job_id)
      if (row === undefined || job?.job_status !== 'running')
        throw new ApiError(
          'PHONE_HOME_REJECTED',
          'No installation that runs has this token; it has ended, or was never begun.',
        )
      const { job_id } = row
      if (!isExpected(row, body.macs)) {
        ctx.log.warn({ job_id, macs: body.macs }, 'another machine was started from the image of a job')
        return { next: 'stop', message: 'This is not the machine that the image was made for.' }
      }
      const reveal_failed = job.type === REVEAL_TYPE && body.phase === 'failed'
      const waiting = reveal_failed ? 'revealed' : waitsFor(row.phase, body.phase)
      if (waiting === undefined) {
        ctx.log.warn({ job_id, phase: body.phase, reached: row.phase }, 'a machine reports a phase that is over')
        // It was started from the image again: its disks are ready, so it must only leave the image.
        if (row.phase === 'installed') return answerOf('installed', row)
        return { next: 'stop', message: `This installation has reached ${row.phase ?? 'nothing'} already.` }
      }
      const { name, payload } = SIGNALS[waiting]
      await jobs.signal(job_id, { name, payload }, reportOf(body), trx)
      if (body.phase !== 'failed') await savePhase(trx, row, body.phase)
      return answerOf(body.phase, row)
    })
  }
}

function requireSize({ phase }: PhoneHomeRequest, bytes: number): void {
  const most = phase === 'revealed' ? MAX_REPORT_BYTES : MAX_BYTES
  if (bytes > most) throw new ApiError('BODY_TOO_LARGE', `A report of the phase ${phase} has ${most} bytes at most.`)
}

const plain = (mac: string): string => mac.toLowerCase().replaceAll('-', ':')

function isExpected({ macs }: PhoneHomeRow, given: readonly string[]): boolean {
  return macs === null || given.some((mac) => macs.includes(plain(mac)))
}

/** The signal that a report of this phase is; undefined for a phase that lies behind what was reached. */
function waitsFor(reached: string | null, phase: Phase): keyof typeof SIGNALS | undefined {
  if (phase === 'revealed') return 'revealed'
  const at = ORDER.findIndex((one) => one === reached)
  // A failure ends the wait for what was to come next.
  if (phase === 'failed') return ORDER[at + 1]
  return ORDER.indexOf(phase) >= at ? phase : undefined
}

function reportOf(body: PhoneHomeRequest) {
  const {
    phase,
    code = 'unknown',
    detail = '',
    macs,
    addresses = [],
    pool_health = null,
    ssh_host_keys = [],
    report = null,
  } = body
  const failure =
    phase === 'failed' ? `${code}${detail === '' ? '' : `: ${detail.replaceAll(/\p{Cc}+/gu, ' ')}`}` : null
  return { failure, macs: macs.map(plain), addresses, pool_health, ssh_host_keys, report }
}

function answerOf(phase: Phase, { may_restart }: PhoneHomeRow): Answer {
  if (phase === 'live-booted') return { next: 'continue', message: 'Install.' }
  if (phase !== 'installed') return { next: 'stop', message: 'Reported.' }
  return may_restart
    ? { next: 'restart', message: 'The image is disconnected: restart.' }
    : { next: 'wait', message: 'The image is being disconnected: ask again.' }
}
