// Processes of the job engine for tests: each is what a replica is to the ledger, and can die like one.
import { randomBytes, randomUUIDv7 } from 'node:crypto'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { sql } from 'kysely'
import type { BoundJob } from '#src/jobs/define.ts'
import { createEngine, type Engine } from '#src/jobs/engine.ts'
import type { JobRow } from '#src/jobs/job-row.ts'
import { CrashForTest } from '#src/jobs/runner.ts'
import { createBackground } from '#src/kernel/background.ts'
import { SYSTEM } from '#src/kernel/http/context.ts'
import { createLog } from '#src/kernel/log.ts'
import { createMetrics } from '#src/kernel/metrics.ts'
import { openKeyring, type Keyring } from '#src/kernel/keyring.ts'
import { type Database, openDatabase } from '#src/store/database.ts'
import { createListener } from '#src/store/listener.ts'
import { createReplica } from '#src/store/replicas.ts'
import { createStream } from '#src/store/stream.ts'
import type { Connection } from './test-database.ts'
import { tempFolder } from './temp-folder.ts'

export interface JobProcess {
  engine: Engine
  database: Database
  replica_id: string
  /** As after `kill -9`: no heartbeat any more, nothing let go. */
  die(): Promise<void>
  stop(): Promise<void>
}

let keyring_of_tests: Keyring | undefined

/** One for all tests of a file: each has a database of its own. */
export function testKeyring(): Keyring {
  keyring_of_tests ??= openKeyring(join(tempFolder('gp-keys-'), 'keys'))
  return keyring_of_tests
}

export interface ProcessOptions {
  connection: Connection
  keyring: Keyring
  bound: readonly BoundJob[]
  at?: (point: string) => void
  /** Connections of others, which outlive the process; its own when left out. */
  database?: Database
  /** Where it is killed. */
  crash?: Crash
  slots?: number
  pool_size?: number
  /** Of the waits between tries; next to nothing when left out. */
  wait_factor?: number
  /** That waiting jobs go by. */
  clock?: () => Date
}

export async function startJobProcess(options: ProcessOptions): Promise<JobProcess> {
  const log = createLog({ level: 'error', destination: new Writable({ write: (_chunk, _encoding, done) => done() }) })
  const {
    connection,
    keyring,
    bound,
    crash,
    at = crash?.at,
    slots,
    clock,
    pool_size = 4,
    wait_factor = 0.001,
  } = options
  const database = options.database ?? openDatabase({ connection, pool_size, log })
  const listener = createListener(connection, log)
  const stream = createStream(database, listener, log)
  const metrics = createMetrics()
  const background = createBackground(log, metrics)
  const replica = createReplica(database, background)
  const engine = createEngine({
    database: crash === undefined ? database : untilDead(database, crash), keyring, replica, stream, listener, background, log, metrics, wait_factor, ...(at && { at }), ...(slots !== undefined && { slots }), ...(clock && { clock }),
  }) // biome-ignore format: short names
  for (const job of bound) engine.register(job)
  await replica.start()
  await stream.start()
  await listener.start()
  await engine.start()
  const close = async (): Promise<void> => {
    await engine.stop().catch(() => {})
    await listener.close()
    await replica.stop()
    if (options.database === undefined) await database.close()
  }
  return {
    engine,
    database,
    replica_id: replica.id,
    async die() {
      await database.db
        .updateTable('replica')
        .set({ seen_at: sql`now() - interval '1 hour'` })
        .where('id', '=', replica.id)
        .execute()
      await close()
    },
    stop: close,
  }
}

/** Admits a job of this kind with a fresh id. */
export function admit(process: JobProcess, bound: BoundJob, input: unknown): Promise<JobRow> {
  return process.engine.admit(bound.definition, {
    operation: {
      operation: 'testRun',
      operation_id: randomUUIDv7(),
      caller: SYSTEM,
      idempotency_key: null,
      named_ids: [],
    },
    input,
    description: `Test run ${randomBytes(2).toString('hex')}`,
  })
}

/** One planted death of a process. */
export interface Crash {
  at(point: string): void
  /** Where it died. */
  readonly point: string | undefined
  requireAlive(): void
}

/** Ends the process at the nth point that it reaches. */
export function crashAt(nth: number): Crash {
  let seen = 0
  return crashWhere(() => (seen += 1) === nth)
}

/**
 * Ends the process at the first point, of those that count, at which no process of the walk has died yet. How often a step
 * reaches a point may differ from run to run, so points are known by name and by how many times it was reached.
 */
export function crashAtNew(died_at: Set<string>, counted = /./): Crash {
  const times = new Map<string, number>()
  return crashWhere((reached) => {
    if (!counted.test(reached)) return false
    const nth = (times.get(reached) ?? 0) + 1
    times.set(reached, nth)
    const known = died_at.has(`${reached} ${nth}`)
    died_at.add(`${reached} ${nth}`)
    return !known
  })
}

/** A step saves so often, and what follows each of the savings differs. */
const DEATHS_AFTER_SAVING = 3

/** Ends one process of a job after the other, each at the first point that has not ended enough of them yet. */
export function crashAgain(deaths: Map<string, number>, counted = /./): Crash {
  return crashWhere((reached) => {
    const died = deaths.get(reached) ?? 0
    if (!counted.test(reached) || died >= (reached.endsWith(':saved') ? DEATHS_AFTER_SAVING : 1)) return false
    deaths.set(reached, died + 1)
    return true
  })
}

function crashWhere(dies: (reached: string) => boolean): Crash {
  let point: string | undefined
  const requireAlive = (): void => {
    if (point !== undefined) throw new CrashForTest(point)
  }
  return {
    at(reached) {
      requireAlive()
      if (dies(reached)) point = reached
      requireAlive()
    },
    get point() {
      return point
    },
    requireAlive,
  }
}

/** Whatever a step makes of the crash that it meets: nothing more is written. */
function untilDead(database: Database, crash: Crash): Database {
  const alive = <T>(value: T): T => {
    crash.requireAlive()
    return value
  }
  return Object.create(database, {
    db: { get: () => alive(database.db) },
    transact: { get: () => alive(database.transact) },
  }) as Database
}
