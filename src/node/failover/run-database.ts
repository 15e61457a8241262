// Starts and stops the database server of this node, whoever made it, and says up to where its log goes.
import { join } from 'node:path'
import { ApiError } from '#src/kernel/errors.ts'
import type { Host } from '#src/kernel/host.ts'
import { runCommand } from '../desired/commands.ts'

interface DatabaseRun {
  version: string
  cluster: string
  running: boolean
}

const STOP_MS = 100_000

export async function runDatabase(
  host: Host,
  root: string,
  { version, cluster, running }: DatabaseRun,
): Promise<{ checkpoint: string }> {
  await runCommand(host, ['systemctl', running ? 'start' : 'stop', `postgresql@${version}-${cluster}`], STOP_MS)
  const data_dir = join(root, 'var/lib/postgresql', version, cluster)
  const { stdout } = await runCommand(host, [`/usr/lib/postgresql/${version}/bin/pg_controldata`, '-D', data_dir])
  const checkpoint = /^Latest checkpoint location:\s+([0-9A-F]+\/[0-9A-F]+)$/m.exec(stdout)?.[1]
  const state = /^Database cluster state:\s+(.+)$/m.exec(stdout)?.[1] ?? 'unknown'
  if (checkpoint === undefined || (!running && !state.startsWith('shut down')))
    throw new ApiError('DESIRED_FAILED', `The database in ${data_dir} did not stop cleanly: it is ${state}.`)
  return { checkpoint }
}
