// The spool of the notify script: events that could not be sent wait there as one file each, named by their counter.
import { randomUUIDv7 } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import Value from 'typebox/value'
import { HaEventIngest } from '#src/contract/ha/ha.ts'
import { replaceFile } from '#src/kernel/durable-file.ts'
import { SYSTEM } from '#src/kernel/http/context.ts'
import { addressOf } from '#src/kernel/ip-address.ts'
import { ingestHaEvent } from '#src/store/ha-events.ts'
import { type HaDeps, spoolDir } from './deps.ts'
import { newEvent } from './events.ts'

const MAX_BYTES = 8192

/** Takes every waiting event in the order of its counter. One that was sent meanwhile is known by its counter. */
export async function drainSpool(deps: HaDeps): Promise<void> {
  const folder = spoolDir(deps.ha_dir)
  const names = await readdir(folder).catch(() => [])
  for (const name of names.filter((one) => /^\d{1,16}\.json$/.test(one)).sort(byCounter)) {
    const path = join(folder, name)
    const event = await readEvent(path)
    if (event === 'gone') continue
    if (event === 'unreadable') {
      deps.log.warn({ path }, 'failover event in the spool cannot be read')
      await rename(path, `${path}.rejected`)
      continue
    }
    await deps.database.transact((trx, publish) => ingestHaEvent(trx, publish, event))
    await rm(path, { force: true })
  }
}

const byCounter = (one: string, other: string): number => Number.parseInt(one, 10) - Number.parseInt(other, 10)

async function readEvent(path: string) {
  const text = await readFile(path, 'utf8').catch(() => undefined)
  if (text === undefined) return 'gone'
  try {
    const body: unknown = text.length > MAX_BYTES ? undefined : JSON.parse(text)
    if (!Value.Check(HaEventIngest, body)) return 'unreadable'
    if (body.occurred_at !== undefined && Number.isNaN(Date.parse(body.occurred_at))) return 'unreadable'
    const address = addressOf('resource_uuid', body.resource_uuid)
    return newEvent(body, address, randomUUIDv7(), SYSTEM)
  } catch {
    return 'unreadable'
  }
}

/** How the notify script calls this replica, as a configuration of curl: its secret stays out of the list of processes. */
export async function writeCallback({ config, ha_dir, listening }: HaDeps): Promise<void> {
  const { cluster_secret } = config.auth
  const port = listening()
  if (cluster_secret === undefined || port === undefined) return
  await mkdir(spoolDir(ha_dir), { recursive: true, mode: 0o750 })
  const any = ['0.0.0.0', '::', ''].includes(config.listen.host)
  const host = any ? '127.0.0.1' : config.listen.host
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}/internal/ha/events/ingest`
  const lines = [`url = ${quoted(url)}`, `header = ${quoted(`Authorization: Bearer ${cluster_secret}`)}`, '']
  await replaceFile(join(ha_dir, 'callback.curl'), lines.join('\n'), { mode: 0o600 })
}

function quoted(value: string): string {
  return `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`
}
