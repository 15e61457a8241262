// Asks the agents of the whole fleet, side by side and each within its own time. A node that is dead or slow is waited for
// once: until it answers again in the background, its error comes from memory.
import pLimit from 'p-limit'
import { forEachNode, type NodeOutcome } from '#src/kernel/agents.ts'
import { UpstreamError } from '#src/kernel/errors.ts'
import type { Log } from '#src/kernel/log.ts'
import type { NodeRow } from '#src/store/nodes.ts'

export interface Question<T> {
  name: string
  ask(row: NodeRow, signal: AbortSignal): Promise<unknown>
  /** Agents may be of another version, or broken: what does not fit is an error of that node. */
  fits(value: unknown): value is T
  /** Instead of the poll's own; 0: every look is a new one. */
  fresh_ms?: number
}

export type Ask<T> = (rows: readonly NodeRow[]) => Promise<NodeOutcome<NodeRow, T>[]>

export interface NodePoll {
  question<T>(question: Question<T>): Ask<T>
  close(): void
}

export interface NodePollOptions {
  log: Log
  concurrency?: number
  timeout_ms?: number
  /** Pages that follow one another share one answer of each node. */
  fresh_ms?: number
  /** How long a node that did not answer is left alone. */
  retry_ms?: number
}

interface Entry<T> {
  known?: { at: number; outcome: { value: T } | { error: string } } | undefined
  asking?: Promise<{ value: T } | { error: string }> | undefined
  /** Since when the node does not answer this question. */
  silent_at?: number | undefined
}

const DEFAULTS = { concurrency: 64, timeout_ms: 4000, fresh_ms: 2000, retry_ms: 15_000 }
const SWEEP_MS = 5000
const SILENT_SWEEPS = 4

export function createNodePoll(given: NodePollOptions): NodePoll {
  const options = { ...DEFAULTS, ...given }
  const limit = pLimit(options.concurrency)
  const closed = new AbortController()
  const sweeps: (() => void)[] = []
  const sweep = setInterval(() => {
    for (const forget of sweeps) forget()
  }, SWEEP_MS)
  sweep.unref()
  return {
    question<T>(question: Question<T>): Ask<T> {
      const entries = new Map<string, Entry<T>>()
      const fresh_ms = question.fresh_ms ?? options.fresh_ms
      sweeps.push(() => forgetOld(entries, options))
      const refresh = (row: NodeRow, entry: Entry<T>): Promise<{ value: T } | { error: string }> => {
        entry.asking ??= limit(() => look(question, row, entry, options, closed.signal)).finally(() => {
          entry.asking = undefined
        })
        return entry.asking
      }
      const ask = async (node: NodeRow): Promise<NodeOutcome<NodeRow, T>> => {
        // A node that restarted or moved is another one to us: what it failed to answer before says nothing.
        const key = [node.id, node.agent_address, node.agent_port, node.boot_id].join(' ')
        const entry = entries.get(key) ?? {}
        entries.set(key, entry)
        const { known, silent_at } = entry
        if (silent_at !== undefined && known !== undefined) {
          if (Date.now() - silent_at > options.retry_ms) refresh(node, entry).catch(() => {})
          return { node, ...known.outcome }
        }
        if (known !== undefined && Date.now() - known.at < fresh_ms) return { node, ...known.outcome }
        return { node, ...(await refresh(node, entry)) }
      }
      return (rows) => Promise.all(rows.map(ask))
    },
    close() {
      clearInterval(sweep)
      closed.abort(new Error('the service stops'))
    },
  }
}

async function look<T>(
  question: Question<T>,
  row: NodeRow,
  entry: Entry<T>,
  { timeout_ms, log }: Required<NodePollOptions>,
  closed: AbortSignal,
): Promise<{ value: T } | { error: string }> {
  let silent = true
  const work = async (_row: NodeRow, signal: AbortSignal): Promise<T> => {
    try {
      const value = await question.ask(row, signal)
      silent = false
      if (question.fits(value)) return value
      const detail = 'the answer has another shape'
      throw new UpstreamError({ upstream: 'AGENT', operation: question.name, failure: 'error', detail })
    } catch (error) {
      // An agent that answers nonsense answers at once: nobody waits for it.
      if (!signal.aborted) silent = error instanceof UpstreamError && error.failure !== 'error'
      log.debug({ err: error, bmc_ip: row.bmc_ip, question: question.name }, 'node gave no answer')
      throw error
    }
  }
  const [result] = await forEachNode([row], work, { timeout_ms, signal: closed })
  const answered = result !== undefined && 'value' in result
  const outcome = answered ? { value: result.value } : { error: result?.error ?? 'The node was not asked.' }
  entry.silent_at = !answered && silent ? Date.now() : undefined
  entry.known = { at: Date.now(), outcome }
  return outcome
}

/** Pictures of a thousand nodes are not kept while nobody looks. */
function forgetOld<T>(entries: Map<string, Entry<T>>, { fresh_ms, retry_ms }: Required<NodePollOptions>): void {
  const now = Date.now()
  for (const [key, { known, asking, silent_at }] of entries) {
    const keep_ms = silent_at === undefined ? fresh_ms : SILENT_SWEEPS * retry_ms
    if (asking === undefined && (known === undefined || now - known.at > keep_ms)) entries.delete(key)
  }
}
