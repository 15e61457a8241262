// A node program for the MTU tests: started inside a network namespace, does one request, and ends itself where told.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { readLinks } from '#src/node/mtu/links.ts'
import { createGuardedChanges } from '#src/node/guarded/changes.ts'
import { createNodeApply } from '#src/node/mtu/node-apply.ts'
import { linuxHost } from '#src/kernel/host.ts'
import type { MtuNodeApplyRequest } from '#src/contract/network/mtu.ts'

export interface NodeProgram {
  state_dir: string
  config_root: string
  window_ms: number
  request: MtuNodeApplyRequest | null
  /** End with SIGKILL after the nth time of this step. */
  crash?: { step: string; nth: number }
  /** Go on after this step only when the watchdog has restored everything. */
  late?: string
  /** Repeats the request this often, waiting up to so many milliseconds before the commit. */
  race?: { rounds: number; spread_ms: number }
}

async function untilReverted(run_folder: string): Promise<void> {
  while (!(await readdir(run_folder)).includes('reverted')) await new Promise((resolve) => setTimeout(resolve, 10))
}

async function main(program: NodeProgram): Promise<void> {
  let seen = 0
  const delay = { ms: 0 }
  const host = linuxHost()
  const changes = await createGuardedChanges({
    host,
    state_dir: program.state_dir,
    async after_step(step) {
      if (step === 'live' && delay.ms > 0) await new Promise((resolve) => setTimeout(resolve, delay.ms))
      if (step === program.late) await untilReverted(join(program.state_dir, 'mgmt0.run'))
      if (step !== program.crash?.step) return
      seen += 1
      if (seen === program.crash.nth) process.kill(process.pid, 'SIGKILL')
    },
  })
  const node = createNodeApply({
    host,
    changes,
    config_root: program.config_root,
    allowed_devices: ['mgmt0', 'eth1'],
    uplinks: ['eth1'],
    default_window_ms: program.window_ms,
    least_window_ms: program.window_ms,
  })
  if (program.race !== undefined && program.request !== null) {
    const outcomes: unknown[] = []
    for (let round = 0; round < program.race.rounds; round += 1) {
      for (const device of ['mgmt0', 'eth1']) await host.run('ip', ['link', 'set', 'dev', device, 'mtu', '1500'])
      delay.ms = (round * 7) % program.race.spread_ms
      const outcome = await node.apply(program.request).catch((error: unknown) => ({ error: String(error) }))
      const links = (await readLinks(host)) ?? []
      const live = ['mgmt0', 'eth1'].map((name) => links.find((link) => link.name === name)?.mtu)
      outcomes.push({ ...outcome, live })
    }
    process.stdout.write(JSON.stringify(outcomes))
    return
  }
  const answer =
    program.request === null
      ? await changes.reconcile()
      : await node.apply(program.request).catch((error: unknown) => ({ error: String(error) }))
  process.stdout.write(JSON.stringify(answer))
}

const [, , argument = '{}'] = process.argv
const program: NodeProgram = JSON.parse(argument)
await main(program)
