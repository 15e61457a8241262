// The operations of the area `events`: our own timeline, its live stream, and the platform's event log beside it.
import type { appEvents } from '#src/contract/app-events.ts'
import { pageOf } from '#src/contract/common.ts'
import type { Handlers } from '#src/contract/route.ts'
import { invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import { findAppEvent, knownActions, listAppEvents } from '#src/store/app-event-list.ts'
import { appEventOf } from '#src/store/app-events.ts'
import { CHANNELS } from '#src/store/database.ts'
import { eventScopeOf } from '#src/store/event-scope.ts'
import { channelsOf, type Stream } from '#src/store/stream.ts'
import { type ArchiveDeps, archiveEvents } from './archive.ts'
import { linkedEvents, listPlatformEvents, platformEventTypes } from './platform-events.ts'

interface EventsDeps extends ArchiveDeps {
  stream: Stream
}

export function eventHandlers(deps: EventsDeps): Handlers<typeof appEvents.routes, RequestContext> {
  const { db } = deps.database
  return {
    async appEventList({ body }, ctx) {
      const { rows, ...page } = await listAppEvents(db, body ?? {}, eventScopeOf(ctx.caller))
      const linked = await linkedEvents(db, rows)
      const app_events = rows.map((row) => ({ ...appEventOf(row), sub_events: linked.get(row.id) ?? [] }))
      return { app_events, ...page }
    },
    async appEventGet({ params }, ctx) {
      const row = await findAppEvent(db, params.id, eventScopeOf(ctx.caller))
      const linked = await linkedEvents(db, [row])
      return { app_event: appEventOf(row), sub_events: linked.get(row.id) ?? [] }
    },
    eventArchive: ({ body }, ctx) => archiveEvents(deps, ctx, body ?? {}),
    async eventList({ body }, ctx) {
      const page = pageOf(body)
      return { ...(await listPlatformEvents(deps.cloudstack, body ?? {}, page, ctx)), ...page }
    },
    eventStream({ query }, ctx) {
      const channels = channelsOf(query.channels, CHANNELS)
      if (typeof channels === 'string') {
        throw invalidField('query.channels', `${channels} is not a channel; known are ${CHANNELS.join(', ')}`)
      }
      const after = positionOf(ctx.headers['last-event-id'] ?? query.last_event_id)
      return deps.stream.source({ channels, scope: eventScopeOf(ctx.caller), after })
    },
    async eventTypes(_input, ctx) {
      const [own, platform] = await Promise.all([knownActions(db), platformEventTypes(deps.cloudstack, ctx)])
      const event_types = [
        ...own.map((name) => ({ name, source: 'service' as const })),
        ...platform.map((name) => ({ name, source: 'platform' as const })),
      ]
      return { event_types, count: event_types.length }
    },
  }
}

/** The header counts before the query: a browser that reconnects sends both, and the header is the newer one. */
function positionOf(id: string | string[] | undefined): number | undefined {
  if (id === undefined || id === '' || Array.isArray(id)) return undefined
  if (!/^\d{1,15}$/.test(id)) throw invalidField('query.last_event_id', 'must be the id of a message of this stream')
  return Number(id)
}
