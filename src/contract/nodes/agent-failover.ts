// What the control plane asks the agent of a management node about failover: node-to-node, left out of the published document.
import { type Static, Type } from 'typebox'
import { Closed, Nullable } from '../common.ts'
import { defineArea } from '../route.ts'
import { DatabaseDocument } from './desired-documents.ts'

export const FailoverState = Type.Object({
  /** Of the addresses asked for, those on a device of this node. */
  held: Type.Array(Type.String()),
  /** Those that another machine answers for while this node holds them; null: nothing could be asked. */
  answered_by_others: Nullable(Type.Array(Type.String())),
  daemon_running: Type.Boolean(),
})
export type FailoverState = Static<typeof FailoverState>

export const agentFailover = defineArea({
  name: 'agent-failover',
  description: 'Failover as one management node sees it.',
  routes: {
    agentFailoverRead: {
      method: 'GET',
      access: 'cluster',
      hidden: true,
      extension: true,
      runs_on: 'node',
      path: '/v1/failover',
      summary: 'Report failover of node',
      query: Type.Object({
        addresses: Type.String({
          maxLength: 1000,
          pattern: '^[0-9a-fA-F.:,]+$',
          description: 'Virtual addresses, without prefix length, divided by commas.',
        }),
      }),
      ok: { 200: FailoverState },
      errors: [400, 500],
      example: {
        query: { addresses: '10.60.0.100' },
        answer: { held: ['10.60.0.100'], answered_by_others: [], daemon_running: true },
      },
    },
    agentDatabaseRun: {
      method: 'POST',
      access: 'cluster',
      hidden: true,
      extension: true,
      runs_on: 'node',
      timeout_ms: 120_000,
      path: '/v1/database/run',
      summary: 'Start or stop database of node',
      description: 'A clean stop: it ends when the standbys that stream have everything. Repeating it changes nothing.',
      body: Closed({
        version: DatabaseDocument.properties.version,
        cluster: DatabaseDocument.properties.cluster,
        running: Type.Boolean(),
      }),
      ok: {
        200: Type.Object({
          checkpoint: Type.String({
            description: 'Position in the log of its latest checkpoint, the last entry of a clean stop.',
          }),
        }),
      },
      errors: [400, 500],
      example: {
        body: { version: '15', cluster: 'main', running: false },
        answer: { checkpoint: '0/3000060' },
      },
    },
  },
})
