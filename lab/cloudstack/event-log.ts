/** The action events that commands write, and where they go: the event table and the webhooks. */
import { randomUUID } from 'node:crypto'
import type { Caller } from './call.ts'
import type { LabEvent } from './records.ts'
import type { World } from './state.ts'

export interface EventSubject {
  type: string
  description: string
  resourcetype: string | null
  resourceid: string | null
  resourcename: string | null
}

export interface EventLog {
  write(
    caller: Caller,
    subject: EventSubject,
    state: LabEvent['state'],
    parentid: string | null,
    level?: LabEvent['level'],
  ): string
}

const KEPT_EVENTS = 10_000

export function createEventLog(world: World, publish: (event: LabEvent, caller: Caller) => void): EventLog {
  return {
    write: (caller, subject, state, parentid, level = 'INFO') => {
      const event = world.tables.events.put({
        id: randomUUID(),
        number: world.nextNumber('event'),
        type: subject.type,
        level,
        state,
        description: describe(subject.description, state),
        userid: caller.user.id,
        accountid: caller.account.id,
        projectid: null,
        resourceid: subject.resourceid,
        resourcetype: subject.resourcetype,
        resourcename: subject.resourcename,
        created: Date.now(),
        parentid,
        archived: false,
      })
      if (world.tables.events.size > KEPT_EVENTS) {
        const oldest = world.tables.events.values().next().value
        if (oldest !== undefined) world.tables.events.remove(oldest.id)
      }
      publish(event, caller)
      return event.id
    },
  }
}

function describe(description: string, state: LabEvent['state']): string {
  if (description.startsWith('Error while')) return description
  if (state === 'Scheduled') return `Scheduled async job for ${description}`
  if (state === 'Started') return `Starting job for ${description}`
  return `Successfully completed ${description}`
}
