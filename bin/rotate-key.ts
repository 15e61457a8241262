// `groundplane control rotate-key --config FILE`: puts a new key in front of the key file and encrypts with it
// everything that older keys encrypted. Replicas go on running: they read the file again when they meet the new key.
import { existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Config } from '#src/kernel/config.ts'
import { createLog } from '#src/kernel/log.ts'
import { KEY_FILE_POLL_MS, openKeyring, rotateKey } from '#src/kernel/keyring.ts'
import { type Db, openDatabase } from '#src/store/database.ts'
import { LOCKS } from '#src/store/locks.ts'
import { type Reencrypted, reencryptAll } from '#src/store/encrypted-places.ts'
import { databaseUrl, keyFileOf } from './control-plane.ts'

/** Thrown when nothing was changed; the message says why. */
export class RotationRefused extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'RotationRefused'
  }
}

export async function rotateControlKey(config: Config): Promise<Reencrypted> {
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
async function rotateAlone(db: Db, key_file: string): Promise<Reencrypted> {
  const { rows } = await sql<{ held: boolean }>`select pg_try_advisory_lock(${LOCKS.key_rotation}) as held`.execute(db)
  if (rows[0]?.held !== true) throw new RotationRefused('Another rotation is under way; nothing was changed.')
  rotateKey(key_file)
  // From here on no replica encrypts with the old key; what was being written meanwhile is found by the next pass.
  await delay(2 * KEY_FILE_POLL_MS)
  const keyring = openKeyring(key_file)
  let reencrypted = 0
  for (;;) {
    const pass = await reencryptAll(db, keyring)
    reencrypted += pass.reencrypted
    if (pass.reencrypted === 0) return { reencrypted, unreadable: pass.unreadable }
  }
}
