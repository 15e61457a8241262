// Taking a node out of service (Part 2, 4.4).
import { Type } from 'typebox'
import { IpAddress } from '../common.ts'
import { defineArea } from '../route.ts'
import { DecommissionPreflight, DecommissionPreflightRequest, examplePreflight } from './decommission-preflight.ts'

const NodePath = Type.Object({ nodeIP: IpAddress })

export const decommission = defineArea({
  name: 'decommission',
  description:
    'Taking a node out of service: what is checked before, the teardown, the wipe of its disks, and what is left over.',
  routes: {
    decommissionPreflight: {
      method: 'POST',
      path: '/configure/nodes/{nodeIP}/decommission/preflight',
      summary: 'Check node before decommission',
      description:
        'Reads only. Every source is asked at once and has 15 seconds; one that does not answer fails or warns, and never passes. Numbers that are not known are null. The result is kept for 10 minutes under its fingerprint.',
      access: 'operator',
      effect: 'read',
      params: NodePath,
      body: DecommissionPreflightRequest,
      body_optional: true,
      ok: { 200: DecommissionPreflight },
      errors: [400, 404],
      example: { params: { nodeIP: '10.1.0.11' }, body: { force: true }, answer: examplePreflight },
    },
  },
})
