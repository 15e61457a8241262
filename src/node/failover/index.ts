// Failover as this node sees it: its managed scripts are restored to what the release has, its standby is promoted where that is
// configured, and it says which virtual addresses it holds.
import { setTimeout as pause } from 'node:timers/promises'
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
import { runDatabase } from './run-database.ts'
import { createPromotion } from './promotion.ts'
import { spoolEvent, type SpoolPlace } from './spool-event.ts'

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
const PROMOTION_MS = 5000

export function createFailover(options: FailoverOptions): Failover {
  const { host, settings, log } = options
  const reconcile = oneAtATime(() => reconcileNow(options))
  const rounds: Round[] = []
  const checkScripts = async (): Promise<void> => {
    const { failed } = await reconcile()
    if (failed.length > 0) log.error({ failed }, 'managed scripts could not be restored')
  }
  return {
    handlers: {
      async haScriptsReconcile() {
        const report = await reconcile()
        if (report.failed.length === 0) return report
        const sentences = report.failed.map(({ name, error }) => `${name}: ${error}`)
        throw new ApiError('HA_SCRIPTS_FAILED', `Not all scripts could be restored. ${sentences.join(' ')}`)
      },
      agentDatabaseRun: ({ body }) => runDatabase(host, settings.root ?? '/', body),
      agentFailoverRead: ({ query: { addresses } }) => failoverState(host, settings, addresses.split(',')),
    },
    start() {
      const { failover } = settings
      if (failover === undefined) return
      const failed = (err: unknown): void => log.error({ err }, 'a round of failover failed')
      rounds.push(repeat(RECONCILE_MS, checkScripts, failed))
      if (failover.promotion === undefined) return
      const promotion = createPromotion({ host, settings: failover.promotion, spool: spoolOf(settings), log })
      rounds.push(repeat(PROMOTION_MS, promotion, failed))
    },
    async stop() {
      await Promise.all(rounds.map((round) => round.stop()))
    },
  }
}

interface Round {
  stop(): Promise<void>
}

/** At once and then with a pause after each. */
function repeat(pause_ms: number, work: () => Promise<unknown>, failed: (error: unknown) => void): Round {
  const ending = new AbortController()
  const running = (async () => {
    while (!ending.signal.aborted) {
      await work().catch(failed)
      await pause(pause_ms, undefined, { signal: ending.signal }).catch(() => {})
    }
  })()
  return {
    stop() {
      ending.abort()
      return running
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
  const { scripts_dir } = failover
  const { unsafe, ...report } = await reconcileScripts(scripts_dir).catch((cause: unknown) => {
    throw new ApiError('HA_SCRIPTS_FAILED', `The folder of the scripts, ${scripts_dir}, cannot be used.`, { cause })
  })
  for (const { name, reason } of report.restored) log.warn({ name, reason }, 'managed script restored')
  if (report.restored.length > 0) {
    const names = report.restored.map(({ name, reason }) => `${name} (${reason})`)
    const message = `Restored ${names.join(', ')}.`
    await spoolEvent(spoolOf(settings), { action: 'SCRIPT_RESTORED', level: 'WARN', status: 'COMPLETED', message })
  }
  // It reads permissions when it starts alone, and has switched off what was unsafe then.
  const reloaded = unsafe && (await reload(host, failover.pid_file))
  return { ...report, reloaded }
}

function spoolOf({ failover, net }: NodeSettings): SpoolPlace {
  return { spool_dir: failover?.spool_dir, node_ip: net.node_ip }
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
