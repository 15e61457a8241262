// Many simulated agents in one process: each a TLS server of its own that answers its network snapshot after a while.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { exampleNodeNet } from '#src/contract/network/monitoring-example.ts'

export interface FleetAgents {
  key: string
  certificate: string
  authority: string
  /** One a server, in milliseconds. */
  delays_ms: number[]
}

/** As large as the snapshot of a hypervisor with a few dozen devices. */
const COPIES = 12

const { key, certificate, authority, delays_ms }: FleetAgents = JSON.parse(readFileSync(process.argv[2] ?? '', 'utf8'))
const { nics, main_bridges } = exampleNodeNet
const many = <T extends { name: string }>(rows: readonly T[]): T[] =>
  Array.from({ length: COPIES }, (_none, copy) => rows.map((row) => ({ ...row, name: `${row.name}-${copy}` }))).flat()
const snapshot = JSON.stringify({
  ...exampleNodeNet,
  vxlan_count: 0,
  nics: many(nics),
  main_bridges: many(main_bridges),
})

const ports = await Promise.all(
  delays_ms.map(async (delay_ms) => {
    const tls = { key, cert: certificate, ca: authority, requestCert: true, rejectUnauthorized: true }
    const server = createServer(tls, (_request, response) => {
      response.setHeader('content-type', 'application/json')
      setTimeout(() => response.end(snapshot), delay_ms)
    })
    server.keepAliveTimeout = 120_000
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    return typeof address === 'object' && address !== null ? address.port : 0
  }),
)
console.log(JSON.stringify({ ready: 'yes', ports: ports.join(','), snapshot_bytes: String(snapshot.length) }))
process.stdin.once('close', () => process.exit(0)).resume()
