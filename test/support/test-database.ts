// A database for each test file, cloned from one migrated template; one PostgreSQL for a whole run.
import { rmSync } from 'node:fs'
import pg from 'pg'
import { createLog } from '#src/kernel/log.ts'
import { openDatabase } from '#src/store/database.ts'
import { startEmbeddedPostgres } from '#src/store/embedded/postgres.ts'
import { migrate } from '#src/store/migrate.ts'
import { tempFolder } from './temp-folder.ts'

export interface Connection {
  host: string
  port: number
  user: string
  database: string
}

/** Set for the test processes by the global setup. */
export const SERVER_VARIABLE = 'GROUNDPLANE_TEST_SERVER'
const TEMPLATE = 'groundplane_template'

export interface TestServer {
  connection: Connection
  stop(): Promise<void>
}

/** Starts PostgreSQL without fsync (a test database survives nothing) and makes the template. */
export async function startTestServer(): Promise<TestServer> {
  const state_dir = tempFolder('gp-test-db-')
  const postgres = await startEmbeddedPostgres({ state_dir, log: () => {}, fsync: false })
  await query(postgres.connection, `create database ${TEMPLATE}`)
  const database = openDatabase({
    connection: { ...postgres.connection, database: TEMPLATE },
    pool_size: 2,
    log: createLog({ level: 'error' }),
  })
  await migrate(database.db)
  await database.close()
  return {
    connection: postgres.connection,
    async stop() {
      await postgres.stop()
      rmSync(state_dir, { recursive: true, force: true })
    },
  }
}

export interface TestDatabase {
  connection: Connection
  drop(): Promise<void>
}

/** A fresh clone. Without the global setup (one file run by hand) a server of its own is started. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const shared = process.env[SERVER_VARIABLE]
  const own = shared === undefined ? await startTestServer() : undefined
  const server: Connection = own?.connection ?? (JSON.parse(shared ?? '{}') as Connection)
  const name = `t_${process.pid}_${Date.now().toString(36)}_${Math.random().toString(36).slice(2, 6)}`
  // Copying the files takes a fifth of what writing every page to the log takes.
  await query(server, `create database ${name} template ${TEMPLATE} strategy file_copy`)
  return {
    connection: { ...server, database: name },
    async drop() {
      if (own === undefined) await query(server, `drop database ${name} with (force)`)
      await own?.stop()
    },
  }
}

async function query(connection: Connection, sql: string): Promise<void> {
  await onDatabase(connection, (client) => client.query(sql))
}

/** Looks into a database past the service, as its owner. */
export async function onDatabase<T>(connection: pg.ClientConfig, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client(connection)
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}
