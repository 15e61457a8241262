// The scripts that the failover daemon runs, as this release has them: what stands on a node is compared with these.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'

export interface FailoverScript {
  name: string
  content: string
  sha256: string
}

const FOLDER = new URL('../../deploy/failover/', import.meta.url)
const NAMES = ['check-api.sh', 'notify.sh', 'remove-vips.sh'] as const

let known: readonly FailoverScript[] | undefined

/** Read once: a release changes with its process. */
export function failoverScripts(): readonly FailoverScript[] {
  known ??= NAMES.map((name) => {
    const content = readFileSync(new URL(name, FOLDER), 'utf8')
    return { name, content, sha256: createHash('sha256').update(content).digest('hex') }
  })
  return known
}
