// Failover as this node sees it: its managed scripts are kept as the release has them, and it says which virtual addresses it
// holds.
import type { ha, ScriptsReport } from '#src/contract/ha/ha.ts'
import type { agentFailover, FailoverState } from '#src/contract/nodes/agent-failover.ts'
import type { Handlers, NodeRoutes } from '#src/contract/route.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { Host } from '#src/kernel/host.ts'
import type { RequestContext } from '#src/kernel/http/context.ts'
import type { Log } from '#src/kernel/log.ts'
import type { NodeSettings } from '../config.ts'
import { addressesOf, answeredByOthers } from './held-addresses.ts'
import { reconcileScripts } from './reconcile.ts'
import { reportRestored } from './report-restored.ts'

export interface FailoverOptions {
  host: Host
  settings: NodeSettings
  log: Log
}

export interface Failover {
  handlers: Handlers<NodeRoutes<typeof ha.routes & typeof agentFailover.routes>, RequestContext>
  start(): void
  stop(): Promise<void>
}

const RECONCILE_MS = 5 * 60_000

export function createFailover(options: FailoverOptions): Failover {
  const { host, settings, log } = options
  const reconcile = oneAtATime(() => reconcileNow(options))
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()
  const round = (): void => {
    running = reconcile().then(
      ({ failed }) => {
        if (failed.length > 0) log.error({ failed }, 'managed scripts could not be restored')
      },
      (err: unknown) => log.error({ err }, 'managed scripts could not be checked'),
    )
  }
  return {
    handlers: {
      async haScriptsReconcile() {
        const report = await reconcile()
        if (report.failed.length === 0) return report
        const sentences = report.failed.map(({ name, error }) => `${name}: ${error}`)
        throw new ApiError('HA_SCRIPTS_FAILED', `Not all scripts could be restored. ${sentences.join(' ')}`)
      },
      agentFailoverRead: ({ query: { addresses } }) => failoverState(host, settings, addresses.split(',')),
    },
    start() {
      if (settings.failover === undefined) return
      round()
      timer = setInterval(round, RECONCILE_MS)
    },
    async stop() {
      clearInterval(timer)
      await running
    },
  }
}

async function reconcileNow({ host, settings, log }: FailoverOptions): Promise<ScriptsReport> {
  const { failover } = settings
  if (failover === undefined) {
    throw new ApiError(
      'HA_NOT_CONFIGURED',
      'This node has no failover scripts: its settings have no `failover`. Name a management node in X-Target-Node.',
    )
  }
  const { unsafe, ...report } = await reconcileScripts(failover.scripts_dir)
  for (const { name, reason } of report.restored) log.warn({ name, reason }, 'managed script restored')
  await reportRestored(failover.spool_dir, settings.net.node_ip, report.restored)
  // It reads permissions when it starts alone, and has switched off what was unsafe then.
  const reloaded = unsafe && (await reload(host, failover.pid_file))
  return { ...report, reloaded }
}

async function reload(host: Host, pid_file: string): Promise<boolean> {
  const pid = (await host.read(pid_file))?.trim() ?? ''
  if (!/^\d+$/.test(pid)) return false
  const { outcome, exit_code } = await host.run('kill', ['-HUP', pid])
  return outcome === 'exited' && exit_code === 0
}

async function failoverState(host: Host, settings: NodeSettings, asked: readonly string[]): Promise<FailoverState> {
  const own = await addressesOf(host)
  const held = asked.filter((address) => own.has(address))
  const pid = settings.failover === undefined ? null : await host.read(settings.failover.pid_file)
  const daemon_running = pid !== null && (await host.read(`/proc/${pid.trim()}/comm`)) !== null
  return { held, answered_by_others: await answeredByOthers(host, held, own), daemon_running }
}

/** Whoever asks while it runs gets the result of that run. */
function oneAtATime<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined
  return () => {
    running ??= work().finally(() => {
      running = undefined
    })
    return running
  }
}
