// Tells the platform where our webhook is: one record of this installation, made or brought up to date. Polling goes on,
// because deliveries may be lost (cloudstack.md 7).
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { flagOf, type Raw, rowsOf, textOf } from '#src/drivers/cloudstack/fields.ts'
import { PAGE_SIZE } from '#src/drivers/cloudstack/lists.ts'
import { CloudStackError } from '#src/drivers/cloudstack/platform-error.ts'
import type { Log } from '#src/kernel/log.ts'

export interface HookRegistration {
  /** `public_url` of the configuration. */
  public_url: string | undefined
  hook_secret: string | undefined
}

/** Does nothing without an address and a secret, and on platforms older than webhooks; each outcome is logged once. */
export function createHookRegistration(
  cloudstack: CloudStack,
  { public_url, hook_secret }: HookRegistration,
  log: Log,
): () => Promise<void> {
  let logged = ''
  const once = (outcome: string, write: () => void): void => {
    if (outcome !== logged) write()
    logged = outcome
  }
  return async () => {
    if (public_url === undefined || hook_secret === undefined) return
    if (!(await cloudstack.lookups.supports('createWebhook'))) {
      once('none', () => log.info('compute platform has no webhooks; states are polled'))
      return
    }
    const wanted = recordOf(public_url, hook_secret)
    const { name, payloadurl: payload_url } = wanted
    try {
      await register(cloudstack, wanted)
      once('set', () => log.info({ name, payload_url }, 'webhook of the compute platform is set'))
    } catch (error) {
      if (!(error instanceof CloudStackError) || (error.status !== 431 && error.status !== 530)) throw error
      const reason = error.detail ?? ''
      once(reason, () => log.error({ name, payload_url, reason }, explanationOf(reason)))
    }
  }
}

/** The platform resolves the host itself, and takes no loopback, link-local or any-local address. */
function explanationOf(reason: string): string {
  return /illegal host|unable to resolve/i.test(reason)
    ? 'compute platform refuses the host of our webhook, states are polled; public_url must be one that its management servers reach'
    : 'compute platform refuses our webhook, states are polled'
}

type Wanted = ReturnType<typeof recordOf>

/** Several installations may share a platform: each is named by its own address. */
function recordOf(public_url: string, secretkey: string) {
  const base = public_url.replace(/\/$/, '')
  return {
    name: `groundplane ${base.replace(/^https?:\/\//, '')}`,
    payloadurl: `${base}/hooks/compute`,
    secretkey,
    state: 'Enabled',
    sslverification: base.startsWith('https:'),
  }
}

/** Names are not unique on the platform, addresses are: what has our address is ours, whatever it is called. */
async function register(cloudstack: CloudStack, wanted: Wanted): Promise<void> {
  const listed = rowsOf(
    await cloudstack.call('listWebhooks', { listall: true, page: 1, pagesize: PAGE_SIZE }),
    'webhook',
  )
  const at_ours = listed.filter((row) => textOf(row, 'payloadurl') === wanted.payloadurl)
  const called_ours = listed.filter((row) => textOf(row, 'name') === wanted.name && !at_ours.includes(row))
  const [ours, ...surplus] = [...at_ours, ...called_ours]
  for (const row of surplus) await cloudstack.call('deleteWebhook', { id: textOf(row, 'id') ?? '' })
  if (ours === undefined) await cloudstack.call('createWebhook', { ...wanted, scope: 'Global' })
  else if (!isSet(ours, wanted)) await cloudstack.call('updateWebhook', { id: textOf(ours, 'id') ?? '', ...wanted })
}

function isSet(row: Raw, { sslverification, ...texts }: Wanted): boolean {
  return (
    flagOf(row, 'sslverification') === sslverification &&
    Object.entries(texts).every(([name, value]) => textOf(row, name) === value)
  )
}
