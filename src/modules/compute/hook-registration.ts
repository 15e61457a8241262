// Tells the platform where its webhook is: one record of ours, made or brought up to date. Polling goes on regardless,
// because deliveries may be lost (cloudstack.md 7).
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import type { Log } from '#src/kernel/log.ts'

export interface HookRegistration {
  /** `public_url` of the configuration. */
  public_url: string | undefined
  hook_secret: string | undefined
}

const NAME = 'groundplane'

/** Does nothing without an address and a secret, and on platforms older than webhooks. */
export async function registerHook(
  cloudstack: CloudStack,
  { public_url, hook_secret }: HookRegistration,
  log: Log,
): Promise<void> {
  if (public_url === undefined || hook_secret === undefined || !cloudstack.configured) return
  if (!(await cloudstack.lookups.supports('createWebhook'))) {
    log.info('compute platform has no webhooks; states are polled')
    return
  }
  const payloadurl = `${public_url.replace(/\/$/, '')}/hooks/compute`
  const record = {
    name: NAME,
    payloadurl,
    secretkey: hook_secret,
    state: 'Enabled',
    sslverification: payloadurl.startsWith('https:'),
  }
  const listed = await cloudstack.call('listWebhooks', { name: NAME, listall: true, page: 1, pagesize: 50 })
  const id = rowsOf(listed, 'webhook')
    .map((row) => (textOf(row, 'name') === NAME ? textOf(row, 'id') : null))
    .find((found) => found !== null)
  if (id === undefined) await cloudstack.call('createWebhook', { ...record, scope: 'Global' })
  else await cloudstack.call('updateWebhook', { id, ...record })
  log.info({ payload_url: payloadurl }, 'webhook of the compute platform is set')
}
