/** Log files of the lab: appended to at each start, and put aside once they are large. */
import { renameSync, statSync } from 'node:fs'

const LARGE_BYTES = 20 * 2 ** 20

/** To be called before the file is opened; what was put aside before is overwritten. */
export function rotateLog(path: string): void {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  if (size > LARGE_BYTES) renameSync(path, `${path}.1`)
}
