// Where the compute platform reports its events (an extension; Part 1 leaves the way open).
import { Type } from 'typebox'
import { Done } from '../common.ts'
import { defineArea } from '../route.ts'

export const computeHooks = defineArea({
  name: 'compute-hooks',
  description: 'Webhook receiver of the compute platform.',
  routes: {
    computeHookReceive: {
      method: 'POST',
      path: '/hooks/compute',
      summary: 'Receive event of compute platform',
      description:
        'Called by the platform’s webhook. The header X-CS-Signature must be the Base64 HMAC-SHA256 of the body under `compute.hook_secret`. Answers 200 at once; a repeated X-CS-Event-ID changes nothing.',
      access: 'callback',
      effect: 'read',
      signed: true,
      extension: true,
      body: Type.Unsafe<unknown>({ description: 'The event as the platform sends it.' }),
      ok: { 200: Done },
      errors: [400, 401, 500],
      example: {
        body: { event: 'VM.START', status: 'Completed', entityuuid: '6a1f2c9e-0d4b-4d8a-9b52-5d9a7c1e0041' },
        answer: { message: 'received' },
      },
    },
  },
})
