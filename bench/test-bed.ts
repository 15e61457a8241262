// What most benchmarks stand on: an embedded database, the lab's platform, and the control plane, each a process of its own.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbeddedPostgres } from '#src/store/embedded/postgres.ts'
import { type Program, startProgram } from './processes.ts'

export interface TestBed {
  url: string
  token: string
  headers: Record<string, string>
  platform: Program
  control: Program
  /** Of the control plane. */
  data_dir: string
  connection: { host: string; port: number; user: string; database: string }
  /** Starts the control plane once more on the same database: a second replica, or a new start after `control.stop()`. */
  startControl(): Promise<Program>
  stop(): Promise<void>
}

const here = (name: string): string => join(import.meta.dirname, name)

export async function startTestBed(vms: number, settings: Record<string, string> = {}): Promise<TestBed> {
  const folder = mkdtempSync(join(tmpdir(), 'gp-bench-'))
  const state_dir = mkdtempSync(join(tmpdir(), 'gp-bench-db-'))
  const postgres = await startEmbeddedPostgres({ state_dir, log: () => {} })
  const platform = await startProgram(here('../lab/cloudstack/main.ts'), [
    '--loopback-webhooks',
    '--port',
    '0',
    '--vms',
    String(vms),
    '--time',
    'auto',
    '--state',
    join(folder, 'platform.journal'),
    '--exit-with-stdin',
  ])
  const startControl = (): Promise<Program> =>
    startProgram(here('control-process.ts'), [], {
      env: {
        BENCH_CONNECTION: JSON.stringify(postgres.connection),
        BENCH_LOG: join(folder, 'control.log'),
        BENCH_SPAWNED_AT: String(Date.now()),
        GROUNDPLANE_DATA_DIR: join(folder, 'control'),
        GROUNDPLANE_LISTEN_PORT: '0',
        GROUNDPLANE_RATE_LIMIT_PER_SECOND: '1000000',
        GROUNDPLANE_RATE_LIMIT_BURST: '1000000',
        GROUNDPLANE_COMPUTE_URL: platform.ready.url ?? '',
        GROUNDPLANE_COMPUTE_API_KEY: platform.ready.api_key ?? '',
        GROUNDPLANE_COMPUTE_SECRET_KEY: platform.ready.secret_key ?? '',
        ...settings,
      },
    })
  const control = await startControl()
  const token = control.ready.token ?? ''
  return {
    url: control.ready.url ?? '',
    token,
    headers: { authorization: `Bearer ${token}` },
    platform,
    control,
    connection: postgres.connection,
    data_dir: join(folder, 'control'),
    startControl,
    async stop() {
      await control.stop()
      await platform.stop()
      await postgres.stop()
      for (const used of [folder, state_dir]) rmSync(used, { recursive: true, force: true })
    },
  }
}
