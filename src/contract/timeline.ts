// One ordered list of everything that happened to a thing or in one operation.
import { type Static, Type } from 'typebox'
import { Closed, Id, ListOf, Nullable, OneOf, PageFields, Time, TimeGiven } from './common.ts'
import { defineArea } from './route.ts'

export const TIMELINE_SOURCES = ['operation', 'job', 'platform', 'audit'] as const

export const TimelineEntry = Type.Object(
  {
    at: Time,
    ended_at: Nullable(Type.String({ format: 'date-time', description: 'Of an operation or step that has ended; null otherwise.' })),
    duration_s: Nullable(Type.Number({ description: 'Seconds from `at` to `ended_at`.' })),
    source: OneOf([...TIMELINE_SOURCES], {
      description:
        'operation: one of ours, from start to end. job: a step of its job. platform: an event of the compute platform itself, also of what was done there past this service. audit: the request that asked for it.',
    }),
    id: Type.String({ description: 'Id of the entry in its source.' }),
    what: Type.String({ description: 'Operation, step of the job, or type of the platform’s event.' }),
    text: Type.String({ description: 'One sentence.' }),
    status: Type.String({
      description: 'IN_PROGRESS, SUCCESS or FAILED; outcome of a step; state of a platform event; status code of a request.',
    }),
    error_message: Type.String({ description: 'Why it failed; empty otherwise.' }),
    username: Type.String({ description: 'By whom; empty when nobody is known.' }),
    correlation_id: Nullable(Type.String({ description: 'Ties what belongs to one operation together.' })),
    resource_type: Type.String(),
    resource_id: Type.String({ description: 'What it is about: the machine itself, or its disk, NIC, address, snapshot.' }),
  },
  { title: 'TimelineEntry' },
) // biome-ignore format: a table
export type TimelineEntry = Static<typeof TimelineEntry>

const Order = Type.Optional(OneOf(['asc', 'desc'], { description: 'desc (newest first) by default.' }))
const from = TimeGiven('Began here or later.')
const to = TimeGiven('Began here or earlier.')

const example: TimelineEntry = {
  at: '2026-11-20T03:12:45.120Z',
  ended_at: '2026-11-20T03:12:49.004Z',
  duration_s: 3.884,
  source: 'operation',
  id: '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d11',
  what: 'vmStart',
  text: 'Virtual machine web-01 is running.',
  status: 'SUCCESS',
  error_message: '',
  username: 'mira',
  correlation_id: '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d10',
  resource_type: 'VM',
  resource_id: '4d9ae3d4-1f1c-4a0e-8c1b-0d8d1a6a0001',
}
const page = { entries: [example], count: 1, page: 1, page_size: 50 }

export const timeline = defineArea({
  name: 'timeline',
  description:
    'What happened to a thing, or in one operation: operations, steps of jobs, platform events and requests in one list.',
  routes: {
    timelineList: {
      method: 'GET',
      path: '/timeline',
      summary: 'List timeline',
      description:
        'Needs resource_id, correlation_id or both. An operation belongs to a thing that it is about or that its request named: attaching a disk stands in the timeline of the disk and of the machine. Requests (audit) are shown to admins who are limited to no tenant; tenant-scoped callers see what belongs to their tenant.',
      access: 'viewer',
      tenant: 'own',
      extension: true,
      query: Closed({
        resource_id: Type.Optional(Id),
        correlation_id: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
        source: Type.Optional(OneOf([...TIMELINE_SOURCES], { description: 'One source alone; all by default.' })),
        from,
        to,
        sort_order: Order,
        ...PageFields,
      }),
      ok: { 200: ListOf('entries', TimelineEntry, 'TimelinePage') },
      errors: [400, 500],
      example: { query: { resource_id: example.resource_id }, answer: page },
    },
    vmHistory: {
      method: 'GET',
      path: '/compute/vms/{virtual_machine_id}/history',
      summary: 'List history of virtual machine',
      description:
        'Operations on the machine and on its disks, NICs, addresses and snapshots, each once, with who asked for it and how long it took. Also of a machine that is gone, for as long as its events are kept.',
      access: 'viewer',
      tenant: 'own',
      extension: true,
      params: Closed({ virtual_machine_id: Id }),
      query: Closed({ from, to, sort_order: Order, ...PageFields }),
      ok: { 200: ListOf('entries', TimelineEntry, 'TimelinePage') },
      errors: [400, 404, 500],
      example: { params: { virtual_machine_id: example.resource_id }, answer: page },
    },
  },
})
