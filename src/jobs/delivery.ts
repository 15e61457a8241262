// pg-boss carries one kind of message: "look at job X". The ledger decides what is to be done about it.
import { fromKysely, PgBoss } from 'pg-boss'
import type { Log } from '#src/kernel/log.ts'
import type { Database, Trx } from '#src/store/database.ts'

export interface Delivery {
  /** Opens the queue; `look` is called once a message, in whichever replica gets it. */
  start(look: (job_id: string) => Promise<void>): Promise<void>
  /** Part of the caller's transaction when one is given. */
  send(job_id: string, after_s: number, trx?: Trx): Promise<void>
  stop(): Promise<void>
}

const QUEUE = 'job'
/** Retries are not notified, and polling relaxes to 30 s unless this is set (docs/decisions/0003). */
const POLL_S = 2

export function createDelivery(database: Database, log: Log): Delivery {
  const boss = new PgBoss({
    db: { executeSql: async (text, values) => ({ rows: (await database.pool.query(text, values as unknown[])).rows }) },
    schema: 'pgboss',
    superviseIntervalSeconds: 60,
    schedule: false,
    useListenNotify: false,
  })
  boss.on('error', (err) => log.warn({ err }, 'job delivery failed'))
  return {
    async start(look) {
      await boss.start()
      await boss.createQueue(QUEUE, { retryLimit: 10, retryDelay: 2, deleteAfterSeconds: 3600 })
      await boss.work<{ job_id: string }>(
        QUEUE,
        { batchSize: 10, pollingIntervalSeconds: POLL_S },
        async (messages) => {
          for (const message of messages) await look(message.data.job_id)
        },
      )
    },
    async send(job_id, after_s, trx) {
      const options = { startAfter: after_s, ...(trx === undefined ? {} : { db: fromKysely(trx) }) }
      await boss.send(QUEUE, { job_id }, options)
    },
    stop: () => boss.stop({ graceful: false, close: false }),
  }
}
