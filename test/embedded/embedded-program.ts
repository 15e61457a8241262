// A program that runs the embedded database, for tests that kill programs: prints one JSON line, then only lives.
import { startEmbeddedPostgres } from '../../src/store/embedded/postgres.ts'

const [, , state_dir = '', setpriv] = process.argv
try {
  const postgres = await startEmbeddedPostgres({
    state_dir,
    log: (line) => process.stderr.write(`${line}\n`),
    ...(setpriv === undefined ? {} : { setpriv }),
  })
  process.stdout.write(`${JSON.stringify(postgres.connection)}\n`)
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
