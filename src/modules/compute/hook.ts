// POST /hooks/compute: the platform's webhook. Only status 200 counts as delivered and there is no pause between tries
// (cloudstack.md 7), so it answers first and looks at the machine afterwards.
import { createHmac, timingSafeEqual } from 'node:crypto'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { isRaw, type Raw, textOf } from '#src/drivers/cloudstack/fields.ts'
import type { SignedBody } from '#src/contract/route.ts'
import { ApiError, invalidField } from '#src/kernel/errors.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { Log } from '#src/kernel/log.ts'
import type { Database } from '#src/store/database.ts'

export interface HookDeps {
  cloudstack: CloudStack
  database: Database
  /** `compute.hook_secret`; without it every delivery is refused. */
  hook_secret: string | undefined
  /** Reads these machines and publishes what changed. */
  poll: (ids: readonly string[]) => Promise<void>
  log: Log
}

const DELIVERY_ID_MAX = 200

export function computeHookReceive(deps: HookDeps) {
  return async ({ body }: { body: SignedBody<unknown> }, ctx: RequestContext): Promise<{ message: string }> => {
    requireSignature(deps.hook_secret, body.bytes, ctx)
    const event = body.read()
    const delivery_id = ctx.headers['x-cs-event-id']
    if (typeof delivery_id !== 'string' || delivery_id === '' || delivery_id.length > DELIVERY_ID_MAX) {
      throw invalidField('headers.x-cs-event-id', `is missing, or longer than ${DELIVERY_ID_MAX} characters`)
    }
    if (!(await isFirst(deps.database, delivery_id))) return { message: 'received before' }
    const id = isRaw(event) ? vmIdOf(event) : null
    if (id !== null) {
      deps
        .poll([id])
        .catch((err: unknown) => deps.log.warn({ err, vm_id: id }, 'virtual machine of a webhook could not be read'))
    }
    return { message: 'received' }
  }
}

/** Base64 HMAC-SHA256 of the bytes as they came, compared in constant time. */
function requireSignature(secret: string | undefined, bytes: Buffer, ctx: RequestContext): void {
  const given = ctx.headers['x-cs-signature']
  if (secret === undefined || typeof given !== 'string') throw new ApiError('HOOK_SIGNATURE')
  const expected = createHmac('sha256', secret).update(bytes).digest()
  const signature = Buffer.from(given, 'base64')
  if (signature.length !== expected.length || !timingSafeEqual(signature, expected))
    throw new ApiError('HOOK_SIGNATURE')
}

async function isFirst(database: Database, id: string): Promise<boolean> {
  const row = await database.db
    .insertInto('hook_delivery')
    .values({ id })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .returning('id')
    .executeTakeFirst()
  return row !== undefined
}

/** An event says that a command began or ended, not what the state is; beginnings need no poll. */
function vmIdOf(event: Raw): string | null {
  const about_vm = textOf(event, 'entity') === 'VirtualMachine' || (textOf(event, 'event') ?? '').startsWith('VM.')
  const status = textOf(event, 'status')
  if (!about_vm || status === 'Created' || status === 'Scheduled') return null
  return textOf(event, 'entityuuid')
}
