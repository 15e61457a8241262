// Two real Kea servers that fail over to each other (hot standby): the second one serves when the first is gone.
import { join } from 'node:path'
import { createKeaTransport } from '#src/drivers/kea/transport.ts'
import { freeTcpPort } from './free-port.ts'
import { HOOKS, type KeaServer, startKea } from './kea-server.ts'

export interface KeaPair {
  primary: KeaServer
  standby: KeaServer
  /** State of the failover as each server tells it; undefined while it does not answer. */
  stateOf(server: KeaServer): Promise<string | undefined>
  close(): Promise<void>
}

const HEARTBEAT_MS = 300
/** So long without a heartbeat, the other server is taken for gone. */
const GONE_MS = 5000

export async function startKeaPair(): Promise<KeaPair> {
  const peers = [
    { name: 'first', url: `http://127.0.0.1:${await freeTcpPort()}/`, role: 'primary' },
    { name: 'second', url: `http://127.0.0.1:${await freeTcpPort()}/`, role: 'standby' },
  ]
  const start = (name: string): Promise<KeaServer> => startKea(settingsOf(name, peers))
  const [primary, standby] = await Promise.all([start('first'), start('second')])
  return {
    primary,
    standby,
    async stateOf({ config }) {
      const answer = await createKeaTransport(config).send('ha-heartbeat').catch(() => undefined) // biome-ignore format: one question
      return (answer?.arguments as { state?: string } | undefined)?.state
    },
    close: async () => void (await Promise.all([primary.close(), standby.close()])),
  }
}

function settingsOf(name: string, peers: unknown) {
  const threads = { 'enable-multi-threading': true, 'thread-pool-size': 2, 'packet-queue-size': 16 }
  const relationship = {
    'this-server-name': name,
    mode: 'hot-standby',
    'heartbeat-delay': HEARTBEAT_MS,
    'max-response-delay': GONE_MS,
    'max-ack-delay': GONE_MS,
    'max-unacked-clients': 0,
    'multi-threading': { 'enable-multi-threading': true, 'http-dedicated-listener': true, 'http-listener-threads': 1, 'http-client-threads': 1 },
    peers,
  } // biome-ignore format: one member a line
  const hook = {
    library: join(HOOKS, 'libdhcp_ha.so'),
    parameters: { 'high-availability': [relationship] },
  }
  return { hooks: [hook], more: { 'multi-threading': threads } }
}
