// A machine is provisioned once, whatever process dies on the way: the service as programs of its own, killed with SIGKILL,
// on the embedded database and on one of the distribution.
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { wellKnown } from '../../lab/site.ts'
import { type ControlProcess, type Production, startProduction } from '../support/control-process.ts'
import { debianPostgresMissing, startDebianPostgres } from '../support/debian-postgres.ts'
import { openStream, type SseMessage, type SseReader } from '../support/sse-client.ts'
import { createTestDatabase } from '../support/test-database.ts'
import { until } from '../support/until.ts'

const ORDER = {
  zone_id: wellKnown.zone,
  template_id: wellKnown.templates['Debian 12'],
  service_offering_id: wellKnown.service_offerings.small,
  network_ids: [wellKnown.networks['office-shared']],
}
/** While the platform holds its answer back, the request stands between "sent" and "answered". */
const HELD_BACK_MS = 8000

interface Database {
  url: string
  close(): Promise<void>
}

async function embeddedDatabase(): Promise<Database> {
  const { connection, drop } = await createTestDatabase()
  const { host, port, user, database } = connection
  return { url: `postgres://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`, close: drop }
}

const DATABASES = [
  { name: 'the embedded database', skip: false, start: embeddedDatabase },
  { name: 'a database of the distribution', skip: debianPostgresMissing(), start: startDebianPostgres },
]

// Mostly they wait for a dead process to be noticed: both at once cost little more than one.
suite('a machine is provisioned once', { concurrency: DATABASES.length }, () => {
  for (const { name, skip, start } of DATABASES) {
    suite(`on ${name}`, { skip, concurrency: 1, timeout: 600_000 }, () => {
      let database: Database | undefined
      let started: Production | undefined
      const streams: SseReader[] = []
      const replicas: ControlProcess[] = []
      before(async () => {
        database = await start()
        started = await startProduction({ database_url: database.url })
      })
      after(async () => {
        for (const stream of streams) stream.close()
        await started?.close()
        await database?.close()
      })

      const production = (): Production => {
        assert.ok(started !== undefined)
        return started
      }
      /** So many that live: those that earlier tests left, and new ones. */
      const living = async (count: 1 | 2): Promise<[ControlProcess, ControlProcess]> => {
        const alive = (): ControlProcess[] => replicas.filter((replica) => !replica.ended())
        while (alive().length < count) replicas.push(await production().startReplica())
        const [first, second = first] = alive()
        assert.ok(first !== undefined && second !== undefined)
        return [first, second]
      }
      const follow = async ({ url }: ControlProcess, last_id?: string): Promise<SseReader> => {
        const reader = await openStream(`${url}/events/sse?channels=app-event`, production().token(), last_id)
        assert.equal(reader.status, 200)
        streams.push(reader)
        await until('the stream has told its position', () => reader.last_id !== undefined)
        return reader
      }
      const provision = async (replica: ControlProcess, vm: string, headers: Record<string, string> = {}) => {
        const reply = await replica.call('POST', '/compute/vms/provision', { ...ORDER, name: vm }, { headers })
        assert.equal(reply.status, 200, reply.text)
        assert.equal(reply.body.correlation_id, reply.headers.get('x-correlation-id'))
        assert.equal(reply.body.status, 'IN_PROGRESS')
        return String(reply.body.correlation_id)
      }
      const succeeded = async (replica: ControlProcess, id: string): Promise<void> => {
        const job = await until(`job ${id} ends`, async () => {
          production().platform.step()
          const { status, body } = await replica.call('GET', `/jobs/${id}`)
          return status === 200 && body.job_status !== 'running' && body
        })
        assert.equal(job.job_status, 'completed', job.failure_reason)
        const { body } = await replica.call('POST', '/events/app-events', { resource_uuid: job.resource_id })
        const events = body.app_events.filter((event: { correlation_id: string }) => event.correlation_id === id)
        assert.deepEqual(
          events.map((event: { status: string }) => event.status),
          ['SUCCESS'],
        )
      }
      /** On the platform itself, whatever the service believes. */
      const assertOneMachine = (vm: string): void => {
        const machines = [...production().platform.state.tables.vms.values()].filter((one) => one.name === vm)
        assert.deepEqual(
          machines.map(({ state }) => state),
          ['Running'],
        )
      }

      test('start, progress and success come with one correlation id, also to a client that was away in between', async () => {
        const [replica] = await living(1)
        const whole = await follow(replica)
        const first = await follow(replica)
        const id = await provision(replica, 'seen-01')
        await until('the start is heard', () => about(first, id).length > 0)
        first.close()
        await first.ended
        await succeeded(replica, id)
        const second = await follow(replica, first.last_id)
        await until('the success is heard', () => about(second, id).at(-1)?.data.status === 'SUCCESS')
        await until('the other client has heard it', () => about(whole, id).at(-1)?.data.status === 'SUCCESS')
        const heard = [...about(first, id), ...about(second, id)]
        assertOneStory(heard)
        assert.deepEqual(stored(heard), stored(about(whole, id)), 'nothing is lost and nothing comes twice')
        assertOneMachine('seen-01')
      })

      for (const moment of ['right after the answer', 'during the job of the platform'] as const) {
        test(`killed ${moment} and started again, the service finishes the machine and the stream goes on`, async () => {
          const vm = `again-${moment.split(' ')[0]}`
          const [before_kill] = await living(1)
          const first = await follow(before_kill)
          const id = await provision(before_kill, vm)
          if (moment !== 'right after the answer') await midway(production(), before_kill, first, id)
          const killed = await before_kill.end('SIGKILL')
          assert.equal(killed, 'SIGKILL')
          await first.ended
          const [after_kill] = await living(1)
          const second = await follow(after_kill, first.last_id)
          await succeeded(after_kill, id)
          await until('the success is heard', () => about(second, id).at(-1)?.data.status === 'SUCCESS')
          assertOneStory([...about(first, id), ...about(second, id)])
          const ids = stored([...first.messages, ...second.messages])
          assert.equal(new Set(ids).size, ids.length, 'nothing comes twice')
          assertOneMachine(vm)
        })
      }

      test('of two replicas the accepting one is killed: the other finishes and tells those who listen', async (t) => {
        const [accepting, other] = await living(2)
        const listener = await follow(other)
        const id = await provision(accepting, 'other-01')
        await midway(production(), accepting, listener, id)
        await accepting.end('SIGKILL')
        const killed_at = performance.now()
        await succeeded(other, id)
        t.diagnostic(`finished ${Math.round(performance.now() - killed_at)} ms after the kill`)
        await until('the success is heard', () => about(listener, id).at(-1)?.data.status === 'SUCCESS')
        assertOneStory(about(listener, id))
        assertOneMachine('other-01')
      })

      test('killed before the answer, the request sent again with its key to the other replica makes no second machine', async () => {
        const [accepting, other] = await living(2)
        const listener = await follow(other)
        await fetch(`${production().platform.control_url}/slow`, {
          method: 'POST',
          body: JSON.stringify({ command: 'deployVirtualMachine', delay_ms: HELD_BACK_MS }),
        })
        const headers = { 'idempotency-key': `${name} before the answer` }
        const sent = accepting.call('POST', '/compute/vms/provision', { ...ORDER, name: 'keyed-01' }, { headers })
        const unanswered = assert.rejects(sent, 'nobody has answered')
        const begun = await until('the start is heard', () =>
          listener.messages.find((one) => one.data.action === 'vmProvision'),
        )
        await accepting.end('SIGKILL')
        await unanswered
        const answer = await until('the other replica answers', async () => {
          const body = { ...ORDER, name: 'keyed-01' }
          const reply = await other.call('POST', '/compute/vms/provision', body, { headers })
          assert.ok([200, 409].includes(reply.status), reply.text)
          return reply.status === 200 && reply
        })
        assert.equal(answer.headers.get('idempotency-replayed'), 'true')
        assert.equal(answer.body.correlation_id, begun.data.correlation_id)
        await succeeded(other, String(begun.data.correlation_id))
        assertOneStory(about(listener, begun.data.correlation_id))
        assertOneMachine('keyed-01')
      })

      test('asked to stop, what still lives ends in order', async () => {
        const [replica] = await living(1)
        assert.equal(await replica.end('SIGTERM'), 0, replica.errors())
      })

      test('the service has told nobody its secrets, and no process of it has met an error that nobody caught', () => {
        const logs = production().logs()
        assert.match(logs, /"job taken"/)
        for (const secret of [
          production().platform.api_key,
          production().platform.secret_key,
          'external-database-password',
        ]) {
          assert.ok(!logs.includes(secret), 'a secret is in the logs')
        }
        assert.doesNotMatch(logs, /nobody caught|UnhandledPromise|INTERNAL_ERROR/)
      })
    })
  }
})

/** The platform has the machine in work, and the service has said so. */
async function midway({ platform }: Production, replica: ControlProcess, reader: SseReader, id: string): Promise<void> {
  await until('the platform works on the machine', async () => {
    const { body } = await replica.call('GET', `/jobs/${id}`)
    return body.current_step === 'follow' && platform.state.tables.jobs.size > 0
  })
  await until('progress is heard', () => about(reader, id).some(({ data }) => data.progress > 0))
}

function about(reader: SseReader, correlation_id: string): SseMessage[] {
  return reader.messages.filter(({ data }) => data.correlation_id === correlation_id)
}

/** Ids of the messages that can be replayed, in the order in which they came. */
function stored(messages: readonly SseMessage[]): string[] {
  return messages.flatMap(({ id }) => (id === undefined ? [] : [id]))
}

function assertOneStory(messages: readonly SseMessage[]): void {
  const stored = messages.filter(({ id }) => id !== undefined)
  const states = stored.map(({ data }) => data.status as string)
  assert.deepEqual(
    states.filter((status) => status !== 'IN_PROGRESS'),
    ['SUCCESS'],
  )
  assert.equal(states.at(0), 'IN_PROGRESS')
  assert.equal(states.at(-1), 'SUCCESS')
  assert.ok(
    messages.some(({ data }) => data.status === 'IN_PROGRESS' && data.progress > 0 && data.progress < 100),
    'progress',
  )
  const progress = stored.map(({ data }) => data.progress as number)
  assert.deepEqual(
    progress,
    progress.toSorted((a, b) => a - b),
  )
  assert.equal(progress.at(-1), 100)
}
