// A node program for tests of network configuration: started inside a network namespace, does orders of desired state one
// after the other, and ends itself where it is asked to.
import { linuxHost } from '#src/kernel/host.ts'
import type { NetworkDocument } from '#src/contract/nodes/desired-documents.ts'
import { documentHash } from '#src/kernel/document-hash.ts'
import { createNetworkArea } from '#src/node/desired/network/area.ts'
import { createGuardedChanges } from '#src/node/guarded/changes.ts'

export interface NetworkOrder {
  order: 'apply' | 'remove' | 'confirm' | 'state' | 'reconcile'
  document?: NetworkDocument
}

export interface NetworkProgram {
  state_dir: string
  root: string
  orders: NetworkOrder[]
  /** End with SIGKILL after the nth time of this step. */
  crash?: { step: string; nth: number }
}

const program: NetworkProgram = JSON.parse(process.argv[2] ?? '{}')
const { state_dir, root } = program
/** Long enough for a slow machine to apply it; where the end of the window matters, the test sets it. */
const guard_seconds = 60
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

async function carryOut({ order, document }: NetworkOrder): Promise<unknown> {
  const hash = document === undefined ? null : documentHash(document)
  switch (order) {
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

const answers: unknown[] = []
for (const order of program.orders) {
  answers.push(
    await carryOut(order).then(
      (value) => ({ value }),
      (error: Error & { code?: string }) => ({ error: error.message, code: error.code }),
    ),
  )
}
process.stdout.write(JSON.stringify(answers))
