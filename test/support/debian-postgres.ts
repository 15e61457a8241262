// A PostgreSQL of the distribution, as an operator runs one beside the service: TCP, a password, its own account.
import { spawnSync } from 'node:child_process'
import { chownSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createChildren } from './children.ts'
import { freeTcpPort } from './free-port.ts'
import { onDatabase } from './test-database.ts'
import { until } from './until.ts'
import { tempFolder } from './temp-folder.ts'

const PROGRAMS = '/usr/lib/postgresql/15/bin'
const USER = 'groundplane'
const PASSWORD = 'external-database-password'

export interface DebianPostgres {
  url: string
  close(): Promise<void>
}

/** Why it cannot run here; false when it can. */
export function debianPostgresMissing(): string | false {
  if (!existsSync(join(PROGRAMS, 'initdb'))) return `no PostgreSQL of the distribution in ${PROGRAMS}`
  if (process.geteuid?.() !== 0) return false
  return accountOf('postgres') === undefined ? 'there is no account postgres to run it as' : false
}

export async function startDebianPostgres(): Promise<DebianPostgres> {
  const folder = tempFolder('gp-external-db-')
  const account = process.geteuid?.() === 0 ? accountOf('postgres') : undefined
  if (account !== undefined) chownSync(folder, account.uid, account.gid)
  const children = createChildren()
  const close = async (): Promise<void> => {
    await children.close()
  }
  try {
    const password_file = join(folder, 'password')
    writeFileSync(password_file, PASSWORD)
    const data_dir = join(folder, 'data')
    const made = spawnSync(
      join(PROGRAMS, 'initdb'),
      [
        '-D',
        data_dir,
        '-U',
        USER,
        '--auth=scram-sha-256',
        `--pwfile=${password_file}`,
        '--no-sync',
        '--encoding=UTF8',
        '--locale=C',
      ],
      { ...account, cwd: folder, encoding: 'utf8', timeout: 60_000 },
    )
    if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`)
    const port = await freeTcpPort()
    const settings = ['listen_addresses=127.0.0.1', `port=${port}`, `unix_socket_directories=${folder}`, 'fsync=off']
    const server = children.start(
      join(PROGRAMS, 'postgres'),
      ['-D', data_dir, ...settings.flatMap((setting) => ['-c', setting])],
      { ...account, cwd: folder },
    )
    const base = { host: '127.0.0.1', port, user: USER, password: PASSWORD }
    await until('the external database answers', async () => {
      if (server.ended()) throw new Error(`the external database ended: ${server.errors()}`)
      return onDatabase({ ...base, database: 'postgres' }, (client) => client.query('select 1'))
    })
    await onDatabase({ ...base, database: 'postgres' }, (client) => client.query('create database service'))
    return { url: `postgres://${USER}:${PASSWORD}@127.0.0.1:${port}/service`, close }
  } catch (error) {
    await close()
    throw error
  }
}

function accountOf(name: string): { uid: number; gid: number } | undefined {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((one) => one.startsWith(`${name}:`))
  const [, , uid, gid] = line?.split(':') ?? []
  return uid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) }
}
