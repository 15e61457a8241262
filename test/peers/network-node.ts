// A node program for tests of network configuration: started inside a network namespace, does one order of desired state, and
// ends itself where it is asked to.
import { linuxHost } from '#src/kernel/host.ts'
import type { NetworkDocument } from '#src/contract/nodes/desired-documents.ts'
import { documentHash } from '#src/kernel/document-hash.ts'
import { createNetworkArea } from '#src/node/desired/network/area.ts'
import { createGuardedChanges } from '#src/node/guarded/changes.ts'

export interface NetworkProgram {
  state_dir: string
  root: string
  order: 'apply' | 'remove' | 'confirm' | 'state' | 'reconcile'
  document?: NetworkDocument
  guard_seconds?: number
  /** End with SIGKILL after the nth time of this step. */
  crash?: { step: string; nth: number }
}

const program: NetworkProgram = JSON.parse(process.argv[2] ?? '{}')
const { state_dir, root, document, guard_seconds } = program
const host = linuxHost()
let seen = 0
const changes = await createGuardedChanges({
  host,
  state_dir: `${state_dir}/mtu`,
  after_step(step) {
    if (step !== program.crash?.step) return
    seen += 1
    if (seen === program.crash.nth) process.kill(process.pid, 'SIGKILL')
  },
})
const area = createNetworkArea({ host, changes, state_dir, root })
const hash = document === undefined ? null : documentHash(document)

async function carryOut(): Promise<unknown> {
  switch (program.order) {
    case 'apply':
      return area.apply(document, { hash: hash ?? '', guard_seconds })
    case 'remove':
      return area.remove({ guard_seconds })
    case 'confirm':
      return area.confirm?.(hash)
    case 'reconcile':
      return changes.reconcile()
    case 'state':
      return area.state()
  }
}

const answer = await carryOut().then(
  (value) => ({ value }),
  (error: Error & { code?: string }) => ({ error: error.message, code: error.code }),
)
process.stdout.write(JSON.stringify(answer))
