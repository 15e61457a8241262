// Reports restored scripts as a failover event: into the spool of the notify script, from where the control plane takes it.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { HaEventIngest, ScriptsReport } from '#src/contract/ha/ha.ts'
import { replaceFile } from '#src/kernel/durable-file.ts'

export async function reportRestored(
  spool_dir: string | undefined,
  node_ip: string | undefined,
  restored: ScriptsReport['restored'],
): Promise<void> {
  if (spool_dir === undefined || node_ip === undefined || restored.length === 0) return
  // In the same order as the notify script's own, which are microseconds, too.
  const counter = Date.now() * 1000
  const event: HaEventIngest = {
    action: 'SCRIPT_RESTORED',
    level: 'WARN',
    status: 'COMPLETED',
    message: `Restored ${restored.map(({ name, reason }) => `${name} (${reason})`).join(', ')}.`.slice(0, 1000),
    resource_uuid: node_ip,
    counter,
    occurred_at: new Date().toISOString(),
  }
  await mkdir(spool_dir, { recursive: true, mode: 0o750 })
  await replaceFile(join(spool_dir, `${counter}.json`), `${JSON.stringify(event)}\n`, { mode: 0o644 })
}
