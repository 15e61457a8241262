/** The action events that commands write, and where they go: the event table and the webhooks. */
import { randomUUID } from 'node:crypto'
import type { Caller } from './call.ts'
import type { LabEvent } from './records.ts'
import type { SimulatorState } from './state.ts'

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

const MOST_EVENTS = 10_000

export function createEventLog(state: SimulatorState, publish: (event: LabEvent, caller: Caller) => void): EventLog {
  return {
    write: (caller, subject, stage, parentid, level = 'INFO') => {
      const event = state.tables.events.put({
        id: randomUUID(),
        number: state.nextNumber('event'),
        type: subject.type,
        level,
        state: stage,
        description: describe(subject.description, stage),
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
      if (state.tables.events.size > MOST_EVENTS) {
        const oldest = state.tables.events.values().next().value
        if (oldest !== undefined) state.tables.events.remove(oldest.id)
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
