// Where peers reach this management node (`ha.address`): mutual TLS under the cluster's CA, and only what nodes of the cluster
// call each other for.
import { Server as TlsServer } from 'node:tls'
import type { Background } from '#src/kernel/background.ts'
import type { Config } from '#src/kernel/config.ts'
import { createServer, type Server } from '#src/kernel/http/serve.ts'
import type { Log } from '#src/kernel/log.ts'
import type { Metrics } from '#src/kernel/metrics.ts'
import { createMemberIdentity, type MemberIdentity } from '#src/modules/ha/peer-calls.ts'
import type { Watcher } from '#src/modules/module.ts'
import type { CaStore } from '#src/store/ca.ts'

export interface PeerListenerOptions {
  config: Config
  ca: CaStore
  background: Background
  log: Log
  metrics: Metrics
  mount: (server: Server) => void
}

/** How often it is tried to listen again after a failure, and seen whether the certificate was replaced. */
const ROUND_MS = 10_000

export function createPeerListener({ config, ca, background, log, metrics, mount }: PeerListenerOptions): Watcher {
  const { address, port } = config.ha
  const ending = new AbortController()
  let running: Promise<void> | undefined
  let server: Server | undefined
  let shown: MemberIdentity | undefined
  const open = async (identity: MemberIdentity, host: string): Promise<Server> => {
    const made = createServer({ log, metrics, tls: tlsOf(identity) })
    mount(made)
    try {
      const url = await made.listen(host, port)
      log.info({ url }, 'peers are served')
      return made
    } catch (error) {
      await made.close()
      throw error
    }
  }
  return {
    start() {
      if (address === undefined) return
      const identityNow = createMemberIdentity(ca, address)
      running = background.repeat('peer-listener', ROUND_MS, ending.signal, async () => {
        const identity = await identityNow()
        server ??= await open(identity, address)
        // New connections see the new certificate; those that are open go on.
        const { server: listener } = server.app
        if (identity !== shown && listener instanceof TlsServer) listener.setSecureContext(tlsOf(identity))
        shown = identity
      })
    },
    async stop() {
      ending.abort()
      await running
      await server?.close()
    },
  }
}

function tlsOf({ key, certificate, ca }: MemberIdentity): { key: string; cert: string; ca: string } {
  return { key, cert: certificate, ca }
}
