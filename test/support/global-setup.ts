// Runs once before all test files: the one PostgreSQL that they share, and the recorder of answers where it is asked for.
import { ANSWERS_VARIABLE } from './answer-recorder.ts'
import { SERVER_VARIABLE, startTestServer, type TestServer } from './test-database.ts'

let server: TestServer | undefined

export async function globalSetup(): Promise<void> {
  server = await startTestServer()
  process.env[SERVER_VARIABLE] = JSON.stringify(server.connection)
  if (process.env[ANSWERS_VARIABLE] !== undefined) loadRecorder()
}

export async function globalTeardown(): Promise<void> {
  await server?.stop()
}

/** Into the test files and whatever programs of ours they start. */
function loadRecorder(): void {
  const { href } = new URL('answer-recorder.ts', import.meta.url)
  process.env.NODE_OPTIONS = `${process.env.NODE_OPTIONS ?? ''} --import=${href}`.trim()
}
