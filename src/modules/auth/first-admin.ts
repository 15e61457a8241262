// The way in before anybody can sign in: one admin token in a private file of the data folder.
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { writePrivateFile } from '#src/kernel/keyring.ts'
import { findLiveToken, insertToken, TOKEN_FORM } from '#src/store/api-tokens.ts'
import { anyCallerExists, credentialHash, lockAdmins } from '#src/store/credentials.ts'
import type { Database, Trx } from '#src/store/database.ts'
import { insertSignInCode } from '#src/store/tickets.ts'

export interface FirstAdminDeps {
  database: Database
}

const FILE_NAME = 'admin-token'

/**
 * Makes the token when neither token nor user exists, and answers it so that it can be printed once. Replicas that start
 * together make one. The file is written before the row is committed: a crash in between leaves a file whose token does
 * not work, and the next start, which still finds no caller, replaces it.
 */
export async function ensureFirstAdminToken(deps: FirstAdminDeps, data_dir: string): Promise<string | undefined> {
  return deps.database.transact(async (trx) => {
    await lockAdmins(trx)
    return (await anyCallerExists(trx)) ? undefined : writeNewToken(trx, data_dir)
  })
}

/** For the lab, which prints its token at every start: the token of the file if it still works as admin, or a new one. */
export async function readOrCreateAdminToken(deps: FirstAdminDeps, data_dir: string): Promise<string> {
  return deps.database.transact(async (trx) => {
    await lockAdmins(trx)
    const stored = readToken(join(data_dir, FILE_NAME))
    if (stored !== undefined) {
      const found = await findLiveToken(trx, credentialHash(stored))
      if (typeof found !== 'string' && found.caller.role === 'admin' && found.caller.tenant_id === null) return stored
    }
    return writeNewToken(trx, data_dir)
  })
}

/** For the sign-in link that the lab prints: it opens one session with the rights of this token. */
export async function createSignInCode({ database }: FirstAdminDeps, token: string): Promise<string> {
  return database.transact(async (trx) => {
    const found = await findLiveToken(trx, credentialHash(token))
    if (typeof found === 'string') throw new Error(`no sign-in link for an admin token that is ${found}`)
    return insertSignInCode(trx, found.caller, credentialHash(token))
  })
}

async function writeNewToken(trx: Trx, data_dir: string): Promise<string> {
  const { token } = await insertToken(trx, {
    name: 'first admin token',
    role: 'admin',
    tenant_id: null,
    user_id: null,
    created_by: 'system',
    expires_at: null,
  })
  mkdirSync(data_dir, { recursive: true, mode: 0o700 })
  writePrivateFile(join(data_dir, FILE_NAME), `${token}\n`)
  return token
}

function readToken(path: string): string | undefined {
  try {
    const text = readFileSync(path, 'utf8').trim()
    return TOKEN_FORM.test(text) ? text : undefined
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
