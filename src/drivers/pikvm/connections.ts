// Connections to remote KVMs, one for each device and user, used by everybody and closed when nobody has used them for a while.
import { createSecureContext, type SecureContext } from 'node:tls'
import { LRUCache } from 'lru-cache'
import { allowedNetworks } from '../allowed-networks.ts'
import type { TlsPolicy } from '../pinned-tls.ts'
import { createKvmClient, type KvmClient, type KvmCredentials } from './client.ts'
import { PikvmError } from './pikvm-error.ts'

export interface PikvmOptions {
  allowed_networks: readonly string[]
  timeout_ms: number
  retry_ms: number
  observe?: ((operation: string, seconds: number, outcome: string) => void) | undefined
}

export interface KvmAddress {
  kvm_ip: string
  port: number
  tls: TlsPolicy
  credentials: KvmCredentials
}

export interface Pikvm {
  /** Throws unless KVMs may be at this address. */
  requireAllowed(kvm_ip: string): void
  /** Throws for credentials that the device cannot have. Nothing is sent yet. */
  open(address: KvmAddress): KvmClient
  /** After its record changed. */
  drop(kvm_ip: string): void
  close(): Promise<void>
}

const IDLE_MS = 10 * 60_000
const CONNECTIONS_MOST = 2000
const LONGEST_ANSWER_MS = 10_000

export function createPikvm({ allowed_networks, timeout_ms, retry_ms, observe }: PikvmOptions): Pikvm {
  const allowed = allowedNetworks(allowed_networks)
  let context: SecureContext | undefined
  const opened = new LRUCache<string, KvmClient>({
    max: CONNECTIONS_MOST,
    ttl: IDLE_MS,
    updateAgeOnGet: true,
    ttlAutopurge: true,
    dispose: (kvm) => void kvm.close().catch(() => {}),
  })
  const requireAllowed = (kvm_ip: string): void => {
    if (!allowed.any)
      throw new PikvmError({ operation: 'connect', failure: 'not_configured', detail: 'set bmc.allowed_networks' })
    if (allowed.has(kvm_ip)) return
    const sentence = `${kvm_ip} is not in bmc.allowed_networks; nothing was contacted.`
    throw new PikvmError({ operation: 'connect', failure: 'error', problem: 'address', sentence })
  }
  return {
    requireAllowed,
    open({ kvm_ip, port, tls, credentials }) {
      requireAllowed(kvm_ip)
      requirePossible(credentials)
      const key = JSON.stringify([kvm_ip, port, tls.mode, credentials.username, credentials.password])
      const known = opened.get(key)
      if (known !== undefined) return known
      context ??= createSecureContext()
      const kvm = createKvmClient({
        address: kvm_ip, port, tls, secure_context: context, credentials, timeout_ms: Math.min(timeout_ms, LONGEST_ANSWER_MS), retry_ms, observe,
      }) // biome-ignore format: a record
      opened.set(key, kvm)
      return kvm
    },
    drop(kvm_ip) {
      for (const [key, kvm] of opened.entries()) if (kvm.address === kvm_ip) opened.delete(key)
    },
    async close() {
      const all = [...opened.values()]
      await Promise.all(all.map((kvm) => kvm.close().catch(() => {})))
      opened.clear()
    },
  }
}

/** What the device would answer with 400, which says nothing of credentials. */
function requirePossible({ username, password }: KvmCredentials): void {
  if (/^[a-z_][a-z0-9_-]*$/.test(username) && /^[\x20-\x7e]+$/.test(password)) return
  const sentence =
    'The stored credentials cannot be those of a KVM: its user names are lower-case letters, digits, - and _, its passwords printable ASCII.'
  throw new PikvmError({ operation: 'connect', failure: 'error', problem: 'credentials', sentence })
}
