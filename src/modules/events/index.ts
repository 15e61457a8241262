// Application events: the timeline, its live stream, and the platform's event log beside it.
import { appEvents } from '#src/contract/app-events.ts'
import { timeline } from '#src/contract/timeline.ts'
import { type Module, type Parts, serve } from '../module.ts'
import { eventHandlers } from './handlers.ts'
import { timelineHandlers } from './timeline.ts'

export function eventsModule(parts: Parts): Module {
  const { archive_after_days } = parts.config.events
  return {
    areas: [
      serve(appEvents, eventHandlers({ ...parts, archive_after_days })),
      serve(timeline, timelineHandlers(parts)),
    ],
  }
}
