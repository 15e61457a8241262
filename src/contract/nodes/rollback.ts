// Rolling back what a failed setup left (Part 2, 4.4).
import { Type } from 'typebox'
import { Closed } from '../common.ts'
import { defineArea } from '../route.ts'
import { JobChoice, LogPart, NodePath, Reason, SkipSteps } from './decommission.ts'
import { WipeMode } from './decommission-preflight.ts'
import { NodeJobLogs, NodeJobStatus } from './lifecycle-views.ts'

const params = { params: { nodeIP: '10.1.0.21' } }

export const rollback = defineArea({
  name: 'rollback',
  description: 'Rolling back what a failed setup left on and around a node.',
  routes: {
    rollbackStart: {
      method: 'POST',
      path: '/configure/nodes/{nodeIP}/rollback',
      summary: 'Roll node back',
      description:
        'Of a node whose setup failed and was held, or whose rollback failed: continues there. A failed setup that is not held is rolled back by itself.',
      access: 'admin',
      params: NodePath,
      body: Closed(
        {
          wipe: Type.Optional({ ...WipeMode, default: 'data' } as typeof WipeMode),
          skip_steps: SkipSteps,
          reason: Reason,
        },
        { title: 'RollbackRequest' },
      ),
      body_optional: true,
      ok: { 202: NodeJobStatus },
      errors: [400, 404, 409],
      event: { resource_type: 'NODE' },
      extension: true,
      example: { ...params, body: { wipe: 'data' } },
    },
    rollbackStatus: {
      method: 'POST',
      path: '/configure/nodes/{nodeIP}/rollback/status',
      summary: 'Get status of rollback',
      access: 'viewer',
      effect: 'read',
      params: NodePath,
      body: JobChoice,
      body_optional: true,
      ok: { 200: NodeJobStatus },
      errors: [400, 404],
      example: { ...params, body: {} },
    },
    rollbackLogs: {
      method: 'GET',
      path: '/configure/nodes/{nodeIP}/rollback/logs',
      summary: 'Get audit log of rollback',
      access: 'viewer',
      params: NodePath,
      query: LogPart,
      ok: { 200: NodeJobLogs },
      errors: [404],
      example: params,
    },
  },
})
