// `groundplane control --config FILE`: the control plane in production; `groundplane control rotate-key` gives it a new key.
import closeWithGrace from 'close-with-grace'
import { type Config, ConfigError, loadConfig } from '#src/kernel/config.ts'
import { readArguments } from './arguments.ts'
import { startControlPlane } from './control-plane.ts'
import { releaseStartUpMemory } from './memory.ts'
import { RotationRefused, rotateControlKey } from './rotate-key.ts'

/** For requests to finish and jobs to be released to other replicas, once no more come. */
const STOP_MS = 15_000
const USAGE = 'Usage: groundplane control [rotate-key] --config FILE'

try {
  const { values, positionals } = readArguments(USAGE, {
    options: { config: { type: 'string', short: 'c' } },
    allowPositionals: true,
  })
  const config = loadConfig(values.config, process.env)
  const [command, ...more] = positionals
  if (command === undefined) await run(config)
  else if (command === 'rotate-key' && more.length === 0) await rotate(config)
  else throw new ConfigError([`${positionals.join(' ')}: there is no such command. ${USAGE}`])
} catch (error) {
  console.error(error instanceof ConfigError || error instanceof RotationRefused ? error.message : error)
  process.exit(1)
}

async function run(config: Config): Promise<void> {
  const stop = new AbortController()
  const starting = startControlPlane(config, { admin_token: 'first-start', signal: stop.signal })
  // From here on, because a start may wait for the database.
  closeWithGrace({ delay: STOP_MS + config.listen.drain_seconds * 1000, logger: false }, async ({ err }) => {
    stop.abort()
    const control = await starting.catch(() => undefined)
    if (err !== undefined) control?.log.error({ err }, 'stopping after an error that nobody caught')
    await control?.close()
  })
  const control = await starting.catch((error: unknown) => {
    // closeWithGrace ends the process.
    if (stop.signal.aborted) return undefined
    throw error
  })
  if (control === undefined) return
  releaseStartUpMemory()
  if (control.admin_token !== undefined) {
    console.error(`First start. Admin token, shown once and kept in the data folder: ${control.admin_token}`)
  }
}

async function rotate(config: Config): Promise<void> {
  const { reencrypted, unreadable } = await rotateControlKey(config)
  console.log(`A new key encrypts from now on; ${reencrypted} older texts were encrypted again.`)
  for (const { table, key } of unreadable)
    console.error(`No key of the file decrypts ${table} ${key}: it was left alone.`)
  if (unreadable.length > 0) process.exitCode = 2
}
