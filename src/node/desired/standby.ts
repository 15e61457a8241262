// The folder of a standby on this node, and the primary that it is copied from. A folder without a mark of ours beside it, and one
// that has become a primary, is never emptied.
import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Type } from 'typebox'
import Value from 'typebox/value'
import type { DatabaseDocument } from '#src/contract/nodes/desired-documents.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { Host } from '#src/kernel/host.ts'
import { writeDurably } from '#src/kernel/durable-file.ts'
import { parseJson } from '../untrusted-json.ts'
import { type Command, type Effect, runCommand, serviceRuns } from './commands.ts'
import type { Place } from './managed-files.ts'

const Mark = Type.Object({ job_id: Type.String(), system_identifier: Type.String(), copied: Type.Boolean() })
const COPY_TIMEOUT_MS = 6 * 3_600_000

export interface Standby {
  readonly host: Host
  readonly document: DatabaseDocument
  readonly data_dir: string
  readonly mark_file: string
  readonly password_file: string
  readonly config_dir: string
  readonly programs: string
  readonly unit: string
  readonly service: readonly Effect[]
}

export function standbyOf({ host, root }: Place, document: DatabaseDocument): Standby {
  const { version, cluster } = document
  const data_dir = join(root, document.data_dir ?? `/var/lib/postgresql/${version}/${cluster}`)
  const unit = `postgresql@${version}-${cluster}`
  return {
    host,
    document,
    data_dir,
    mark_file: `${data_dir}.groundplane`,
    password_file: `${data_dir}.pgpass`,
    config_dir: `/etc/postgresql/${version}/${cluster}`,
    programs: `/usr/lib/postgresql/${version}/bin`,
    unit,
    service: serviceRuns(host, unit, []),
  }
}

/** Throws when the folder holds what no copy may replace. */
export async function checkFolder(standby: Standby): Promise<void> {
  const { data_dir, programs, document } = standby
  if ((await stat(`${programs}/pg_basebackup`).catch(() => null)) === null)
    throw new ApiError(
      'DESIRED_CONFLICT',
      `PostgreSQL ${document.version} is not installed on the node; install it first.`,
    )
  if (!(await isFilled(standby))) return
  const mark = await readMark(standby)
  if (mark === null) throw new ApiError('DESIRED_CONFLICT', `${data_dir} holds a database that was not made here.`)
  if (mark.copied && !(await isStandby(standby)))
    throw new ApiError('DESIRED_CONFLICT', `${data_dir} is a primary now; it is neither copied over nor removed.`)
}

export async function isCopied(standby: Standby): Promise<boolean> {
  const mark = await readMark(standby)
  const is_of_primary = mark?.system_identifier === standby.document.system_identifier
  return mark?.copied === true && is_of_primary && (await isStandby(standby))
}

/** A copy that was interrupted begins again from nothing. */
export async function copyPrimary(standby: Standby): Promise<void> {
  const { host, data_dir, document } = standby
  await mkdir(dirname(data_dir), { recursive: true })
  await runCommand(host, ['install', '-d', '-m', '0700', '-o', 'postgres', '-g', 'postgres', data_dir])
  await writePassword(standby)
  await checkPrimary(standby)
  // From here on the folder is ours.
  await writeMark(standby, false)
  if ((await host.list(standby.config_dir)) === null)
    await runCommand(host, ['pg_createcluster', document.version, document.cluster, '-d', data_dir])
  await empty(standby)
  const args = ['-D', data_dir, '-X', 'stream', '-S', document.slot, '-R', '-c', 'fast']
  const address = `${connectionOf(standby)} application_name=${document.slot}`
  await runCommand(host, asPostgres(standby, 'pg_basebackup', ...args, '-d', address), COPY_TIMEOUT_MS)
  await writeMark(standby, true)
}

/** The standby reads it each time that it connects. */
export async function writePassword({ document, data_dir, password_file }: Standby): Promise<void> {
  const { host, port, user, password } = document.primary
  const escaped = (text: string): string => text.replaceAll(/[\\:]/g, '\\$&')
  const { uid, gid } = await stat(data_dir)
  const text = `${escaped(host)}:${port}:*:${user}:${escaped(password)}\n`
  await writeDurably(password_file, `${password_file}.new`, text, { mode: 0o600, uid, gid })
}

export async function standbyDifferences(standby: Standby): Promise<string[]> {
  const { host, data_dir, programs, document, service } = standby
  const run = await host.run(`${programs}/pg_controldata`, ['-D', data_dir], { timeout_ms: 30_000 })
  const found = /^Database system identifier:\s+(\d+)$/m.exec(run.stdout)?.[1] ?? 'none'
  const states = await Promise.all(service.map(async ({ differs }) => (await differs?.()) ?? null))
  return [
    (await readMark(standby))?.copied === true ? null : 'the copy of the primary is not complete',
    (await isStandby(standby)) ? null : `${data_dir} is no standby`,
    found === document.system_identifier ? null : `the database has the system identifier ${found}`,
    ...states,
  ].filter((one) => one !== null)
}

/** Only what has a mark of ours. */
export async function removeStandby(standby: Standby): Promise<void> {
  if ((await isFilled(standby)) && (await readMark(standby)) !== null) {
    await checkFolder(standby)
    await empty(standby)
    await runCommand(standby.host, ['systemctl', 'disable', standby.unit])
  }
  for (const file of [standby.password_file, standby.mark_file]) await rm(file, { force: true })
}

/** Asked before anything is emptied. */
async function checkPrimary(standby: Standby): Promise<void> {
  const question = ['-X', '-A', '-t', '-d', `${connectionOf(standby)} replication=1`, '-c', 'IDENTIFY_SYSTEM']
  const { stdout } = await runCommand(standby.host, asPostgres(standby, 'psql', ...question))
  const [found = ''] = stdout.trim().split('|')
  const wanted = standby.document.system_identifier
  if (found === wanted) return
  throw new ApiError('DESIRED_CONFLICT', `The primary has the system identifier ${found}, not ${wanted}.`)
}

async function empty({ host, unit, data_dir }: Standby): Promise<void> {
  await runCommand(host, ['systemctl', 'stop', unit])
  for (const name of await readdir(data_dir)) await rm(join(data_dir, name), { recursive: true })
}

/** The password is read from its file: the list of processes shows arguments. */
function asPostgres({ programs, password_file }: Standby, program: string, ...args: string[]): Command {
  const env = `PGPASSFILE=${password_file}`
  return ['runuser', '-u', 'postgres', '--', 'env', env, `${programs}/${program}`, '-w', ...args]
}

function connectionOf({ document: { primary } }: Standby): string {
  return `host=${primary.host} port=${primary.port} user=${primary.user}`
}

async function readMark({ mark_file }: Standby) {
  const value = parseJson(await readFile(mark_file, 'utf8').catch(() => ''))
  return Value.Check(Mark, value) ? value : null
}

function writeMark({ mark_file, document: { job_id, system_identifier } }: Standby, copied: boolean): Promise<void> {
  return writeDurably(mark_file, `${mark_file}.new`, `${JSON.stringify({ job_id, system_identifier, copied })}\n`)
}

function isStandby({ data_dir }: Standby): Promise<boolean> {
  return stat(join(data_dir, 'standby.signal')).then(
    () => true,
    () => false,
  )
}

async function isFilled({ data_dir }: Standby): Promise<boolean> {
  return (await readdir(data_dir).catch(() => [])).length > 0
}
