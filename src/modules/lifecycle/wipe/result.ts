// Takes the report of a wipe image. Anybody can send one, so it is treated as a claim: it annotates the job of the node whose NICs
// it names, and changes nothing else. The answer never tells whether a node was found.
import { createHash, timingSafeEqual } from 'node:crypto'
import { Type } from 'typebox'
import type { Input } from '#src/contract/route.ts'
import type { WholeWipeResult, WipeResult, wipe } from '#src/contract/nodes/wipe.ts'
import type { Jobs } from '#src/jobs/admit.ts'
import { lockJob, noteFrom } from '#src/jobs/audit-log.ts'
import type { Signal } from '#src/jobs/define.ts'
import { closeOutstanding } from '#src/jobs/outstanding.ts'
import { invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { addressCaller, createRateLimiter } from '#src/kernel/http/rate-limit.ts'
import type { Log } from '#src/kernel/log.ts'
import { recordEvent } from '#src/store/app-events.ts'
import type { Database, Trx } from '#src/store/database.ts'
import { nodesWithMacs } from '#src/store/node-lifecycle.ts'
import { addSubmission, hasOpenWipe, lockWipe, noteReport, openWipeOf, type WipeRow } from '#src/store/wipes.ts'
import { renderReport, openDisks, type WipeReport } from './report.ts'

export interface WipeDeps {
  database: Database
  jobs: Pick<Jobs, 'signal'>
  log: Log
}

/** Wakes the job that waits for a report; what it says stands in the table. */
export const WIPE_REPORTED: Signal<ReturnType<typeof Type.Object>> = { name: 'wipe_reported', payload: Type.Object({}) }

const PER_SOURCE = { per_second: 6 / 60, burst: 3 }
const ALL = { per_second: 1, burst: 60 }
const CLAIMS_STORED = 5
const AUTHENTICATED_MOST = 20
const RECEIVED = { success: true, message: 'received' }

export function wipeResultReport(deps: WipeDeps) {
  const of_source = createRateLimiter(PER_SOURCE.per_second, PER_SOURCE.burst)
  const of_all = createRateLimiter(ALL.per_second, ALL.burst)
  return async ({ body }: Input<(typeof wipe.routes)['wipeResultReport']>, ctx: RequestContext) => {
    of_source.take(addressCaller(ctx.remote_address))
    const token_hash = body.token === undefined ? undefined : hashOf(body.token)
    // Strangers cannot keep out a report that knows its secret.
    if (token_hash === undefined || !(await hasOpenWipe(deps.database.db, token_hash))) of_all.take('everybody')
    const whole = wholeOf(body)
    const macs = usableMacs(whole.macs)
    const nodes = await nodesWithMacs(deps.database.db, macs)
    const [node_id] = nodes
    if (nodes.length > 1)
      deps.log.warn({ macs, source: ctx.remote_address }, 'wipe report names the NICs of several nodes')
    if (node_id === undefined || nodes.length > 1) return RECEIVED
    await deps.database.transact(async (trx, publish) => {
      const job_id = await openWipeOf(trx, node_id)
      if (job_id === undefined) return
      await lockJob(trx, job_id)
      const row = await lockWipe(trx, job_id)
      const taken = await take(trx, row, whole, { macs, token_hash, source: ctx.remote_address })
      if (taken === undefined) return
      await noteFrom(trx, row.job_id, { ...taken.line, step: 'wipe-wait', attempt: 1, actor: 'wipe image' })
      await recordEvent(
        trx,
        publish,
        { ...eventOf(row.job_id, taken.report), caller: ctx.caller },
        { status: 'SUCCESS' },
      )
      if (!taken.report.authenticated) return
      if (openDisks({ ...row, report: JSON.stringify(taken.report) }, '').length === 0)
        await closeOutstanding(trx, row.job_id, ['wipe-boot', 'wipe-wait'], 'wipe image')
      await deps.jobs.signal(row.job_id, WIPE_REPORTED, {}, trx)
    })
    return RECEIVED
  }
}

function wholeOf({ all_verified, success, disks, macs }: WipeResult): WholeWipeResult {
  const missing = (path: string): never => {
    throw invalidField(path, 'must be given')
  }
  return {
    all_verified: all_verified ?? missing('body.all_verified'),
    success: success ?? missing('body.success'),
    macs: macs ?? missing('body.macs'),
    disks: (disks ?? missing('body.disks')).map(({ name, wiped, verified, ...rest }) => ({
      ...rest,
      name: name ?? missing('body.disks.name'),
      wiped: wiped ?? missing('body.disks.wiped'),
      verified: verified ?? missing('body.disks.verified'),
    })),
  }
}

function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest()
}

/** Lower case with colons; without those that name no single NIC. */
export function usableMacs(texts: readonly string[]): string[] {
  const macs = texts.map((text) => {
    const digits = text.toLowerCase().replace(/[^0-9a-f]/g, '')
    return digits.match(/../g)?.join(':') ?? ''
  })
  const names_one = (mac: string): boolean =>
    mac !== '00:00:00:00:00:00' && (Number.parseInt(mac.slice(0, 2), 16) & 1) === 0
  return [...new Set(macs.filter(names_one))]
}

interface Sender {
  macs: readonly string[]
  token_hash: Buffer | undefined
  source: string
}

interface Taken {
  report: WipeReport
  line: { level: 'INFO' | 'WARN'; text: string; data: Record<string, unknown> }
}

/** Undefined: one more of too many. The first authenticated report counts; a claim counts until there is one, and replaces nothing. */
async function take(
  trx: Trx,
  row: WipeRow,
  body: WholeWipeResult,
  { macs, token_hash, source }: Sender,
): Promise<Taken | undefined> {
  const authenticated =
    token_hash !== undefined && row.token_hash !== null && timingSafeEqual(token_hash, row.token_hash)
  const counted = authenticated
    ? { authenticated_submissions: row.authenticated_submissions + 1 }
    : { submissions: row.submissions + 1 }
  const number = row.submissions + row.authenticated_submissions + 1
  const over = authenticated ? row.authenticated_submissions >= AUTHENTICATED_MOST : row.submissions >= CLAIMS_STORED
  if (over) {
    await noteReport(trx, row.job_id, counted)
    return undefined
  }
  const rendered = renderReport(body, {
    at: new Date(), source, authenticated, macs, expected: row.expected_disks, conflict: false,
  }) // biome-ignore format: a record
  await addSubmission(trx, row.job_id, number, JSON.stringify(rendered))
  const conflicts = authenticated && row.authenticated && !sameFindings(row.report, rendered)
  const counts = authenticated ? !row.authenticated : row.report === ''
  const stored = counts ? JSON.stringify(rendered) : conflicts ? withConflict(row.report) : undefined
  await noteReport(trx, row.job_id, {
    ...counted,
    ...(stored === undefined ? {} : { report: stored }),
    ...(authenticated ? { authenticated: true } : {}),
    ...(conflicts ? { conflict: true } : {}),
  })
  const kind = authenticated ? 'A report of the wipe image' : 'A report without the secret of the wipe image'
  const clean = rendered.disks.filter(({ wiped, verified }) => wiped && verified).length
  const rest = conflicts ? ' It differs from the first one, which counts.' : counts ? '' : ' It replaces nothing.'
  return {
    report: rendered,
    line: {
      level: authenticated && !conflicts ? 'INFO' : 'WARN',
      text: `${kind} came from ${source}: ${clean} of ${rendered.disks.length} disks wiped and verified.${rest}`,
      data: { success: rendered.success, all_verified: rendered.all_verified, consistent: rendered.consistent },
    },
  }
}

function findingsOf({ success, all_verified, disks }: WipeReport): string {
  return JSON.stringify([
    success,
    all_verified,
    disks.map(({ name, serial, wiped, verified }) => [name, serial, wiped, verified]),
  ])
}

function sameFindings(before: string, now: WipeReport): boolean {
  return before !== '' && findingsOf(JSON.parse(before) as WipeReport) === findingsOf(now)
}

function withConflict(report: string): string {
  return JSON.stringify({ ...(JSON.parse(report) as WipeReport), conflict: true })
}

function eventOf(job_id: string, { authenticated, disks }: WipeReport) {
  return {
    action: 'wipeResultReport',
    resource_type: 'NODE',
    description: `A wipe image reported ${disks.length} disks${authenticated ? '' : ', without its secret'}.`,
    related: [job_id],
  }
}
