// What the control plane asks the agent of a node to bring about: one document an area, told apart by its hash. Node-to-node,
// left out of the published document. The documents themselves: desired-documents.ts.
import { type Static, Type } from 'typebox'
import { Closed, Nullable, NullableTime, OneOf } from '../common.ts'
import { defineArea } from '../route.ts'
import type { FailoverDocument } from './failover-document.ts'
import type {
  BaseDocument, BridgesDocument, DatabaseDocument, FabricDocument, HypervisorDocument, NetworkDocument, PlatformAgentDocument,
  ServicesDocument, StorageDocument,
} from './desired-documents.ts' // biome-ignore format: one list

export const DESIRED_AREAS = [
  'network', 'base', 'hypervisor', 'bridges', 'storage', 'platform-agent', 'fabric', 'database', 'services', 'failover',
] as const // biome-ignore format: one list
export type DesiredAreaName = (typeof DESIRED_AREAS)[number]

/** Each area with its document. */
export interface DesiredDocuments {
  network: NetworkDocument
  base: BaseDocument
  hypervisor: HypervisorDocument
  bridges: BridgesDocument
  storage: StorageDocument
  'platform-agent': PlatformAgentDocument
  fabric: FabricDocument
  database: DatabaseDocument
  services: ServicesDocument
  failover: FailoverDocument
}

/** Changes of these revert by themselves unless they are confirmed in time. */
export const GUARDED_AREAS: readonly DesiredAreaName[] = ['network']

const Hash = Type.String({
  pattern: '^[0-9a-f]{64}$',
  description: 'SHA-256 of the document as JSON with sorted members.',
})
const GuardSeconds = Type.Integer({ minimum: 10, maximum: 900, description: 'Window in which it must be confirmed.' })

export const DesiredTask = Type.Object(
  {
    id: Type.String(),
    area: OneOf([...DESIRED_AREAS]),
    action: OneOf(['apply', 'remove']),
    hash: Nullable(Type.String()),
    status: OneOf(['running', 'completed', 'failed']),
    code: Nullable(Type.String({ description: 'Code of the error that it failed with.' })),
    message: Type.String({ description: 'One sentence about now, or about the end.' }),
    started_at: Type.String({ format: 'date-time' }),
    ended_at: NullableTime,
  },
  { title: 'DesiredTask' },
)
export type DesiredTask = Static<typeof DesiredTask>

export const DesiredState = Type.Object(
  {
    area: OneOf([...DESIRED_AREAS]),
    hash: Nullable(Type.String({ description: 'Of the document that was applied last; null when the area is empty.' })),
    applied_at: NullableTime,
    verdict: OneOf(['empty', 'applying', 'in_sync', 'differs'], {
      description: 'applying: a task runs, or an earlier one did not reach its end.',
    }),
    differences: Type.Array(Type.String(), { description: 'What is not as the document says, a sentence each.' }),
    pending: Nullable(
      Type.Object(
        { hash: Nullable(Type.String()), left_ms: Type.Number() },
        { description: 'Waits for confirmation.' },
      ),
    ),
    task: Nullable(DesiredTask),
  },
  { title: 'DesiredState' },
)
export type DesiredState = Static<typeof DesiredState>

const AreaParam = Type.Object({ area: OneOf([...DESIRED_AREAS]) })
const shared = { access: 'cluster', hidden: true, extension: true, runs_on: 'node', timeout_ms: 60_000 } as const
const ended = {
  id: '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d11',
  area: 'base',
  action: 'apply',
  hash: 'a'.repeat(64),
  status: 'completed',
  code: null,
  message: 'applied',
  started_at: '2026-11-20T03:12:45.120Z',
  ended_at: '2026-11-20T03:12:45.320Z',
} as const

export const agentDesired = defineArea({
  name: 'agent-desired',
  description: 'Desired state of one node, area by area.',
  routes: {
    agentDesiredSet: {
      ...shared,
      method: 'PUT',
      path: '/v1/desired/{area}',
      summary: 'Set desired state of area',
      description:
        'Answers after a short wait; what takes longer goes on as a task. The same document again is the same task.',
      params: AreaParam,
      body: Closed({ document: Type.Unknown(), hash: Hash, guard_seconds: Type.Optional(GuardSeconds) }),
      ok: { 200: DesiredTask },
      errors: [400, 409, 500],
      example: {
        params: { area: 'base' },
        body: { document: { hostname: 'kvm-01' }, hash: 'a'.repeat(64) },
        answer: ended,
      },
    },
    agentDesiredGet: {
      ...shared,
      method: 'GET',
      path: '/v1/desired/{area}',
      summary: 'Compare node with desired state of area',
      params: AreaParam,
      ok: { 200: DesiredState },
      errors: [400, 500],
      example: {
        params: { area: 'base' },
        answer: {
          area: 'base',
          hash: null,
          applied_at: null,
          verdict: 'empty',
          differences: [],
          pending: null,
          task: null,
        },
      },
    },
    agentDesiredRemove: {
      ...shared,
      method: 'DELETE',
      path: '/v1/desired/{area}',
      summary: 'Remove desired state of area',
      description: 'Removes what the area made, and restores what it changed; what others made stays.',
      params: AreaParam,
      query: Closed({ guard_seconds: Type.Optional(GuardSeconds) }),
      ok: { 200: DesiredTask },
      errors: [400, 409, 500],
      example: { params: { area: 'base' }, answer: { ...ended, action: 'remove', hash: null, message: 'removed' } },
    },
    agentDesiredConfirm: {
      ...shared,
      method: 'POST',
      path: '/v1/confirm/{area}',
      summary: 'Confirm pending change of area',
      params: AreaParam,
      body: Closed({ hash: Nullable(Hash) }),
      ok: { 200: DesiredState },
      errors: [400, 409, 500],
      example: { params: { area: 'network' }, body: { hash: 'a'.repeat(64) } },
    },
    agentTaskGet: {
      ...shared,
      method: 'GET',
      path: '/v1/tasks/{id}',
      summary: 'Get task of agent',
      params: Type.Object({ id: Type.String({ pattern: '^[0-9a-f-]{36}$' }) }),
      ok: { 200: DesiredTask },
      errors: [400, 404, 500],
      example: { params: { id: ended.id }, answer: ended },
    },
  },
})
