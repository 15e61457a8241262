// (d) 5,000 clients of the event stream at 4 events a second each: whether all arrives, how late, and what a client costs.
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import type { BenchResult } from './result.ts'
import { percentile } from './result.ts'
import { startTestBed } from './test-bed.ts'

const CLIENTS = 5000
const EVENTS = 40
const EVERY_MS = 250

export async function run(): Promise<BenchResult[]> {
  const bed = await startTestBed(40)
  const sockets: Socket[] = []
  const latencies: number[] = []
  let arrived = 0
  try {
    const { hostname, port } = new URL(bed.url)
    const head = `GET /events/sse?channels=ha HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${bed.token}\r\n\r\n`
    await delay(2000)
    const before = bed.control.memory_bytes()
    for (let batch = 0; batch < CLIENTS; batch += 250) {
      await Promise.all(
        Array.from({ length: Math.min(250, CLIENTS - batch) }, async () => {
          const socket = await client(hostname, Number(port), head, (sent_at) => {
            arrived += 1
            latencies.push(Date.now() - sent_at)
          })
          sockets.push(socket)
        }),
      )
    }
    await publish(bed.connection, EVENTS)
    const deadline = Date.now() + 10_000
    while (arrived < CLIENTS * EVENTS && Date.now() < deadline) await delay(50)
    const per_client = (bed.control.memory_bytes() - before) / CLIENTS
    return [
      {
        name: 'events not delivered',
        value: CLIENTS * EVENTS - arrived,
        unit: `of ${CLIENTS * EVENTS}`,
        limit: 0,
        against: `${CLIENTS} clients, ${EVENTS} events, ${1000 / EVERY_MS} a second`,
      },
      {
        name: 'delay of an event from its commit to the client, p99',
        value: percentile(latencies, 99),
        unit: 'ms',
        limit: 300,
        against: `median ${percentile(latencies, 50)} ms; the clients share the machine`,
      },
      {
        name: 'memory a client',
        value: per_client / 1000,
        unit: 'KB',
        limit: 25,
        against: 'resident memory of the service after the run less that before, a client',
      },
    ]
  } finally {
    for (const socket of sockets) socket.destroy()
    await bed.stop()
  }
}

/** Connects, waits for the first bytes, then reports the time inside every event that comes. */
function client(host: string, port: number, head: string, heard: (sent_at: number) => void): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, host, () => socket.write(head))
    socket.setEncoding('latin1')
    let rest = ''
    socket.once('data', () => resolve(socket))
    socket.on('data', (chunk: string) => {
      rest += chunk
      for (let end = rest.indexOf('\n\n'); end !== -1; end = rest.indexOf('\n\n')) {
        const sent_at = /"sent_at":(\d+)/.exec(rest.slice(0, end))
        if (sent_at !== null) heard(Number(sent_at[1]))
        rest = rest.slice(end + 2)
      }
    })
    socket.on('error', reject)
  })
}

/** Stores events as a transaction of the service does: row, notice, commit. */
async function publish(connection: pg.ClientConfig, count: number): Promise<void> {
  const database = new pg.Client(connection)
  await database.connect()
  for (let n = 0; n < count; n += 1) {
    const data = { event_id: `bench-${n}`, sent_at: Date.now(), message: 'x'.repeat(200) }
    await database.query('begin')
    const { rows } = await database.query<{ position: string }>(
      `insert into stream_event (channel, type, tenant_id, data) values ('ha', 'ha', null, $1) returning position`,
      [JSON.stringify(data)],
    )
    await database.query(`select pg_notify('groundplane_stream', $1)`, [rows[0]?.position])
    await database.query('commit')
    await delay(EVERY_MS)
  }
  await database.end()
}
