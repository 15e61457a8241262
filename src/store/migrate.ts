// Brings the database to the newest schema. Several processes may start at once: Kysely's lock lets one run and the
// others wait.
import { readdir, readFile } from 'node:fs/promises'
import { sql } from 'kysely'
import { type Migration, type MigrationProvider, Migrator } from 'kysely/migration'
import type { Db } from './database.ts'

const FOLDER = new URL('../../migrations/', import.meta.url)

export async function migrate(db: Db): Promise<string[]> {
  const migrator = new Migrator({ db, provider: sqlFiles, allowUnorderedMigrations: false })
  const { error, results } = await migrator.migrateToLatest()
  if (error !== undefined) throw error
  return (results ?? []).map((result) => result.migrationName)
}

/** Whether every migration of this version has run: `/readyz` asks. */
export async function pendingMigrations(db: Db): Promise<string[]> {
  const migrator = new Migrator({ db, provider: sqlFiles })
  const all = await migrator.getMigrations()
  return all.filter((migration) => migration.executedAt === undefined).map((migration) => migration.name)
}

/** Numbered SQL files, forward only. */
const sqlFiles: MigrationProvider = {
  async getMigrations() {
    const names = (await readdir(FOLDER)).filter((name) => name.endsWith('.sql')).sort()
    return Object.fromEntries(names.map((name) => [name.replace('.sql', ''), sqlFile(name)]))
  },
}

function sqlFile(name: string): Migration {
  return {
    async up(db) {
      await sql.raw(await readFile(new URL(name, FOLDER), 'utf8')).execute(db)
    },
  }
}
