// `groundplane control rotate-key --config FILE`: puts a new key in front of the key file and seals with it everything
// that older keys sealed. Replicas go on running: they read the file again when they meet the new key.
import { existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Config } from '#src/kernel/config.ts'
import { createLog } from '#src/kernel/log.ts'
import { KEY_FILE_LOOK_MS, openSecretBox, rotateKey } from '#src/kernel/secrets.ts'
import { type Db, openDatabase } from '#src/store/database.ts'
import { LOCKS } from '#src/store/locks.ts'
import { type Resealed, resealAll } from '#src/store/sealed-places.ts'
import { databaseUrl, keyFileOf } from './control-plane.ts'

/** Thrown when nothing was changed; the message says why. */
export class RotationRefused extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'RotationRefused'
  }
}

export async function rotateControlKey(config: Config): Promise<Resealed> {
  const key_file = keyFileOf(config)
  if (!existsSync(key_file)) {
    throw new RotationRefused(
      `${key_file} does not exist: run this where the control plane runs, after its first start.`,
    )
  }
  const log = createLog({ level: config.log.level })
  const database = openDatabase({ connection: databaseUrl(config), pool_size: 2, log })
  try {
    return await database.db.connection().execute((held) => rotateAlone(held, key_file))
  } finally {
    await database.close()
  }
}

/** The lock belongs to the connection: a command that is killed leaves none behind. */
async function rotateAlone(db: Db, key_file: string): Promise<Resealed> {
  const { rows } = await sql<{ held: boolean }>`select pg_try_advisory_lock(${LOCKS.key_rotation}) as held`.execute(db)
  if (rows[0]?.held !== true) throw new RotationRefused('Another rotation is under way; nothing was changed.')
  rotateKey(key_file)
  // From here on no replica seals with the old key; what was being written meanwhile is found by the next pass.
  await delay(2 * KEY_FILE_LOOK_MS)
  const secrets = openSecretBox(key_file)
  let resealed = 0
  for (;;) {
    const pass = await resealAll(db, secrets)
    resealed += pass.resealed
    if (pass.resealed === 0) return { resealed, unreadable: pass.unreadable }
  }
}
