// Two hundred callers at once, over two replicas on one database, with Kea and PowerDNS behind them.
import { after, before, describe } from 'node:test'
import { type Replicas, reservationStorm, startReplicas } from '../support/address-storm.ts'
import { type RealServers, realServersMissing, startRealServers } from '../support/real-addresses.ts'

describe('a scope for many callers', { skip: realServersMissing() }, () => {
  let servers: RealServers
  let replicas: Replicas
  before(async () => {
    servers = await startRealServers()
    replicas = await startReplicas(2, () => servers.connect())
  })
  after(async () => {
    await replicas?.close()
    await servers?.close()
  })

  reservationStorm(
    (...args) => replicas.call(...args),
    (name) => servers.resolve(name, 'A'),
  )
})
