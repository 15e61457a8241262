// Review segments: what a person should see of what was detected, and whether it was seen.
import type { ReviewSegment, cameraEvents } from '#src/contract/cam/events.ts'
import type { Handlers, Input } from '#src/contract/route.ts'
import pLimit from 'p-limit'
import type { Frigate } from '#src/drivers/frigate/client.ts'
import { isAtLeast } from '#src/drivers/frigate/reads.ts'
import type { ReviewRow } from '#src/drivers/frigate/shapes.ts'
import type { Written } from '#src/drivers/frigate/writes.ts'
import { invalidField, UpstreamError } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { recordOperation } from '../operation.ts'
import type { CamDeps } from './deps.ts'
import { nameList, windowOf } from './windows.ts'

type Routes = typeof cameraEvents.routes
type Query = Input<Routes['cameraReviewList']>['query']

const MOST_ROWS = 500
const MARKS_AT_ONCE = 8
const NVR_CLIPS = '/media/frigate/clips/'

export function reviewHandlers(
  deps: CamDeps,
): Pick<Handlers<Routes, RequestContext>, 'cameraReviewList' | 'cameraReviewViewedSet'> {
  const { currentNvr } = deps
  return {
    async cameraReviewList({ query }, { signal }) {
      const window = windowOf(query)
      const nvr = await currentNvr()
      // A word of the documents that the NVR does not have.
      if (query.severity === 'significant_motion') return []
      return listReviews(nvr, query, window, signal)
    },
    async cameraReviewViewedSet({ body }, ctx) {
      const { ids = [], reviewed = true } = body
      if (ids.length === 0) throw invalidField('body.ids', 'name one review segment at least')
      const description = `Marking ${ids.length} review segments as ${reviewed ? '' : 'not '}reviewed.`
      const subject = { resource_id: ids.length === 1 ? (ids[0] ?? '') : '', description }
      return recordOperation(deps, ctx, 'REVIEW', subject, async () => {
        await setViewed(await currentNvr(), ids, reviewed, ctx.signal)
        return { ids, reviewed }
      })
    },
  }
}

async function listReviews(
  nvr: Frigate,
  { limit = 100, severity, reviewed, cameras, labels, zones }: Query,
  window: { after: number; before: number },
  signal: AbortSignal,
): Promise<ReviewSegment[]> {
  // Before 0.17, without the filter the reviewed ones are left out, and 1 means all.
  const old = !isAtLeast(await nvr.version(signal), '0.17')
  const most = Math.min(limit, MOST_ROWS)
  const filters = { severity, cameras: nameList(cameras), labels: nameList(labels), zones: nameList(zones) }
  // What is left out here must not count for the limit there.
  const asked = { limit: old && reviewed === 1 ? MOST_ROWS : most, reviewed: old ? (reviewed ?? 1) : reviewed }
  const rows = await nvr.review({ ...window, ...filters, ...asked }, signal)
  const wanted = reviewed === 1 ? rows.filter((row) => row.has_been_reviewed === true) : rows
  return wanted.slice(0, most).map(reviewOf)
}

/** Unknown ids are nobody's loss: the NVR ignores them. */
async function setViewed(nvr: Frigate, ids: readonly string[], reviewed: boolean, signal: AbortSignal): Promise<void> {
  if (reviewed || isAtLeast(await nvr.version(signal), '0.17'))
    return requireDone(await nvr.setViewed(ids, reviewed, signal))
  const limiter = pLimit(MARKS_AT_ONCE)
  await Promise.all(ids.map((id) => limiter(async () => requireDone(await nvr.setUnviewed(id, signal), 404))))
}

function requireDone(written: Written, harmless?: number): void {
  if (written.done || written.status === harmless) return
  const { status, words } = written
  throw new UpstreamError({ upstream: 'NVR', operation: 'reviews/viewed', failure: 'error', status, detail: words })
}

function reviewOf({
  id,
  camera,
  start_time,
  end_time,
  severity,
  thumb_path,
  has_been_reviewed,
  data,
}: ReviewRow): ReviewSegment {
  const { objects, zones, detections, ...rest } = data ?? {}
  return {
    id,
    camera,
    start_time,
    end_time: end_time ?? null,
    severity,
    has_been_reviewed: has_been_reviewed ?? false,
    thumb_path: thumb_path.startsWith(NVR_CLIPS) ? `/cam/clips/${thumb_path.slice(NVR_CLIPS.length)}` : '',
    objects: textsOf(objects),
    zones: textsOf(zones),
    detections: textsOf(detections),
    data: rest,
  }
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}
