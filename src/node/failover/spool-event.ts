// What this node has to say of itself goes into the spool of the notify script, from where the control plane takes it, also when
// it was away meanwhile.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { HaEventIngest } from '#src/contract/ha/ha.ts'
import { replaceFile } from '#src/kernel/durable-file.ts'

export interface SpoolPlace {
  spool_dir: string | undefined
  node_ip: string | undefined
}

let last = 0

/** Nothing where no spool or no address is configured. */
export async function spoolEvent(
  { spool_dir, node_ip }: SpoolPlace,
  event: Omit<HaEventIngest, 'resource_uuid' | 'counter' | 'occurred_at'>,
): Promise<void> {
  if (spool_dir === undefined || node_ip === undefined) return
  // In microseconds, as the notify script counts: all events of a node are in one order.
  const now = Date.now()
  last = Math.max(now * 1000, last + 1)
  const whole: HaEventIngest = {
    ...event,
    resource_uuid: node_ip,
    counter: last,
    occurred_at: new Date(now).toISOString(),
  }
  await mkdir(spool_dir, { recursive: true, mode: 0o750 })
  await replaceFile(join(spool_dir, `${last}.json`), `${JSON.stringify(whole)}\n`, { mode: 0o644 })
}
