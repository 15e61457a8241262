// Connections to BMCs, one for each BMC and user, used by everybody and closed when nobody has used them for a while.
import { createSecureContext, type SecureContext } from 'node:tls'
import { LRUCache } from 'lru-cache'
import type { Log } from '#src/kernel/log.ts'
import { type Bmc, createBmc } from './bmc.ts'
import { createClient } from './client.ts'
import { allowedNetworks, type AllowedNetworks } from '../allowed-networks.ts'
import { RedfishError } from './redfish-error.ts'
import { createRejectedSecrets, type Credentials } from './session.ts'
import type { SeenCertificate, TlsPolicy } from '../pinned-tls.ts'
import { createTransport } from './transport.ts'

export interface RedfishOptions {
  allowed_networks: readonly string[]
  timeout_ms: number
  retry_ms: number
  log: Log
  observe?: (operation: string, seconds: number, outcome: string) => void
}

export interface BmcAddress {
  bmc_ip: string
  port: number
  tls: TlsPolicy
  system_id: string | null
  credentials: Credentials
}

export interface Redfish {
  /** Throws unless BMCs may be at this address. */
  requireAllowed(bmc_ip: string): void
  /** The connection that others use, too. Nothing is sent yet. */
  open(address: BmcAddress): Bmc
  /** The certificate shown now; nothing else is asked, and nobody logs in. */
  readCertificate(bmc_ip: string, port: number): Promise<SeenCertificate>
  /** After its record changed: connections to it end, and secrets that were refused may be tried again. */
  drop(bmc_ip: string): void
  close(): Promise<void>
}

/** BMCs have room for a handful of sessions: one that nobody needs is given up. */
const IDLE_MS = 10 * 60_000
const CONNECTIONS_MOST = 2000

export function createRedfish({ allowed_networks, timeout_ms, retry_ms, log, observe }: RedfishOptions): Redfish {
  const allowed = allowedNetworks(allowed_networks)
  const rejected = createRejectedSecrets()
  let context: SecureContext | undefined
  const open = new LRUCache<string, Bmc>({
    max: CONNECTIONS_MOST,
    ttl: IDLE_MS,
    updateAgeOnGet: true,
    ttlAutopurge: true,
    dispose: (bmc) => void bmc.close().catch(() => {}),
  })
  const keyOf = ({ bmc_ip, port, system_id, tls, credentials: { username, password } }: BmcAddress): string =>
    JSON.stringify([bmc_ip, port, system_id, tls.mode, username, password])
  return {
    requireAllowed: (bmc_ip) => requireAllowed(allowed, bmc_ip),
    open(address) {
      requireAllowed(allowed, address.bmc_ip)
      const known = open.get(keyOf(address))
      if (known !== undefined) return known
      const { bmc_ip, port, tls, credentials, system_id } = address
      context ??= createSecureContext()
      const endpoint = { address: bmc_ip, port, tls, secure_context: context }
      const client = createClient({ endpoint, credentials, rejected, timeout_ms, retry_ms, log, observe })
      const bmc = createBmc(client, { system_id, log })
      open.set(keyOf(address), bmc)
      return bmc
    },
    async readCertificate(bmc_ip, port) {
      requireAllowed(allowed, bmc_ip)
      return certificateAt(bmc_ip, port, timeout_ms)
    },
    drop(bmc_ip) {
      rejected.forget(bmc_ip)
      for (const [key, bmc] of open.entries()) if (bmc.bmc_ip === bmc_ip) open.delete(key)
    },
    async close() {
      const all = [...open.values()]
      await Promise.all(all.map((bmc) => bmc.close().catch(() => {})))
      open.clear()
    },
  }
}

function requireAllowed(allowed: AllowedNetworks, bmc_ip: string): void {
  if (!allowed.any) {
    throw new RedfishError({ operation: 'connect', failure: 'not_configured', detail: 'set bmc.allowed_networks' })
  }
  if (allowed.has(bmc_ip)) return
  throw new RedfishError({
    operation: 'connect',
    failure: 'error',
    problem: 'address',
    status: 400,
    sentence: `${bmc_ip} is not in bmc.allowed_networks; nothing was contacted.`,
  })
}

/** The handshake is broken off once the certificate is known. */
async function certificateAt(address: string, port: number, timeout_ms: number): Promise<SeenCertificate> {
  let seen: SeenCertificate | undefined
  const pin = async (certificate: SeenCertificate): Promise<string> => {
    seen = certificate
    return 'none'
  }
  const transport = createTransport({ address, port, tls: { mode: 'pin', pin } })
  try {
    await transport.exchange({ method: 'GET', path: '/redfish/v1/', headers: {}, timeout_ms })
  } catch (error) {
    if (seen === undefined) throw error
  } finally {
    await transport.close()
  }
  if (seen === undefined) throw new RedfishError({ operation: 'connect', failure: 'error', detail: 'no certificate' })
  return seen
}
