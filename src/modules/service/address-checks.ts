// How the servers of addresses stand. Anybody may ask for it, so each is asked once for all who ask within some seconds, and
// nobody waits long for one that is silent.
import { UpstreamError } from '#src/kernel/errors.ts'
import type { Check, Parts } from '../module.ts'

const KEEP_MS = 5000
const WAIT_MS = 500

export type AddressServers = Pick<Parts, 'dhcp_server' | 'dns_server' | 'ipam_store'>

export function createAddressChecks({ dhcp_server, dns_server, ipam_store }: AddressServers): () => Promise<Check[]> {
  const named = { dhcp: dhcp_server, dns: dns_server, ipam: ipam_store }
  const checks = Object.entries(named).flatMap(([name, server]) =>
    server === undefined ? [] : cachedCheck(name, () => server.check()),
  )
  return () => Promise.all(checks.map((check) => check()))
}

function cachedCheck(name: string, ask: () => Promise<void>): () => Promise<Check> {
  let last: Check = { name, ok: false, detail: 'has not answered yet' }
  let asked: { at_ms: number; ended: Promise<void> } | undefined
  const refresh = async (): Promise<void> => {
    last = await ask().then(
      () => ({ name, ok: true, detail: 'answers' }),
      (error: unknown) => ({ name, ok: false, detail: detailOf(error) }),
    )
  }
  return async () => {
    if (asked === undefined || performance.now() - asked.at_ms > KEEP_MS)
      asked = { at_ms: performance.now(), ended: refresh() }
    const wait = new Promise<void>((resolve) => setTimeout(resolve, WAIT_MS).unref())
    await Promise.race([asked.ended, wait])
    return last
  }
}

/** Public, so no more is said than how it failed. */
function detailOf(error: unknown): string {
  if (!(error instanceof UpstreamError)) return 'cannot be checked'
  if (error.failure === 'error') return 'answers with an error'
  return error.failure === 'not_configured' ? 'not configured' : 'does not answer'
}
