// Runs once before all test files: the one PostgreSQL that they share.
import { SERVER_VARIABLE, startTestServer, type TestServer } from './test-database.ts'

let server: TestServer | undefined

export async function globalSetup(): Promise<void> {
  server = await startTestServer()
  process.env[SERVER_VARIABLE] = JSON.stringify(server.connection)
}

export async function globalTeardown(): Promise<void> {
  await server?.stop()
}
