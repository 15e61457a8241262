// What the platform lets our account call. Several MB upstream, so the answer is cached.
import { pageOf } from '#src/contract/common.ts'
import type { discovery, PlatformApi } from '#src/contract/discovery.ts'
import type { Input } from '#src/contract/route.ts'
import type { CloudStack } from '#src/drivers/cloudstack/client.ts'
import { flagOf, type Raw, rowsOf, textOf, textsOf } from '#src/drivers/cloudstack/fields.ts'
import { onePage } from '#src/drivers/cloudstack/page.ts'
import { cached } from '#src/drivers/cloudstack/cache.ts'

const TTL_MS = 10 * 60_000
const TIMEOUT_MS = 60_000

export function discoveryApiList(cloudstack: CloudStack) {
  // Other callers may wait for the same answer, so no single one's leaving ends the call.
  const apis = cached(TTL_MS, async () => {
    const rows = rowsOf(await cloudstack.call('listApis', {}, { timeout_ms: TIMEOUT_MS }), 'api').map(apiOf)
    return rows.toSorted((a, b) => a.name.localeCompare(b.name))
  })
  return async ({ body }: Input<typeof discovery.routes.discoveryApiList>) => {
    const page = pageOf(body)
    const part = body?.keyword?.toLowerCase()
    const found = (await apis()).filter(
      ({ name }) =>
        (body?.name === undefined || name === body.name) && (part === undefined || name.toLowerCase().includes(part)),
    )
    const { rows, count } = await onePage(found, page)
    return { apis: rows, count, ...page }
  }
}

function apiOf(row: Raw): PlatformApi {
  return {
    name: textOf(row, 'name') ?? '',
    description: wordsOf(row, 'description'),
    since: wordsOf(row, 'since'),
    is_async: flagOf(row, 'isasync'),
    parameters: rowsOf(row, 'params').map((parameter) => ({
      ...fieldOf(parameter),
      required: flagOf(parameter, 'required'),
      since: wordsOf(parameter, 'since'),
    })),
    answer_fields: rowsOf(row, 'response').map(fieldOf),
    related: textsOf(row, 'related'),
  }
}

function fieldOf(row: Raw) {
  return { name: textOf(row, 'name') ?? '', type: wordsOf(row, 'type'), description: wordsOf(row, 'description') }
}

/** The platform leaves texts empty that it does not know. */
function wordsOf(row: Raw, name: string): string | null {
  return textOf(row, name) || null
}
