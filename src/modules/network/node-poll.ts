// Asks the agents of the whole fleet, all side by side and each within its own time, and keeps of each answer what sums over
// the fleet need. Who asks again soon is answered from memory while the nodes are asked again; a node that is dead or slow
// is waited for once: until it answers again in the background, its error comes from memory.
import { LRUCache } from 'lru-cache'
import pLimit from 'p-limit'
import { type NodeOutcome, nodeErrorSentence } from '#src/kernel/agents.ts'
import { UpstreamError } from '#src/kernel/errors.ts'
import type { Log } from '#src/kernel/log.ts'
import type { NodeRow } from '#src/store/nodes.ts'

/** `T` is what agents answer, `D` what is kept of it for every node. */
export interface Question<T, D> {
  name: string
  read(row: NodeRow, timeout_ms: number): Promise<Buffer>
  /** Agents may be of another version, or broken: what does not fit is an error of that node. */
  fits(value: unknown): value is T
  digest(value: T): D
  /** Every poll asks the node, and waits. */
  no_cache?: boolean
}

export type Seen<D> = { node: NodeRow; value: D } | { node: NodeRow; error: string }

export interface View<T, D> {
  poll(rows: readonly NodeRow[], options?: PollOptions): Promise<Seen<D>[]>
  /** What was last known, however long ago; undefined for a node that never answered or was not asked about for long. */
  last(row: NodeRow): D | undefined
  /** The whole answers of the nodes that are shown. */
  whole(seen: readonly Seen<D>[]): Promise<NodeOutcome<NodeRow, T>[]>
}

export interface PollOptions {
  /** The next page of a list: never waits for a node that the first page did not wait for. */
  continuation?: boolean
}

export interface NodePoll {
  question<T, D>(question: Question<T, D>): View<T, D>
  close(): void
}

interface NodePollOptions {
  log: Log
  timeout_ms?: number
  /** How long a node that did not answer is left alone. */
  retry_ms?: number
  /** Tests bring a clock of their own. */
  now?: () => number
}

type Answer<D> = { value: D } | { error: string }

interface Entry<D> {
  /** Address and boot of the node that the answer belongs to. */
  life: string
  known?: { at: number; answer: Answer<D> } | undefined
  asking?: Promise<unknown> | undefined
  /** It did not answer in time. */
  silent?: boolean
}

/** Calls mostly wait for the network; a limit below the number of nodes would make them wait for one another. */
const CONCURRENCY = 1024
/** Limit of background calls started at once: a thousand would delay the answer to the present request. */
const BEGUN_A_TURN = 16
const DEFAULTS = { timeout_ms: 4000, retry_ms: 15_000, now: () => Date.now() }
/** Pages that follow one another, and people who ask at once, share one answer of each node. */
const FRESH_MS = 2000
/** Shown while the node is asked again: longer than consoles pause between two requests, short enough to be the present. */
const STALE_MS = 15_000
/** A node whose failure took longer is asked in the background until it answers. */
const QUICK_MS = 1000
const SWEEP_MS = 5000
/** After this long without a request, what is known of a node is dropped. */
const FORGOTTEN_MS = 300_000
/** Limit of cached whole answers, for all questions together: a thousand large nodes. */
const CACHE_BYTES = 32 * 1024 * 1024

export function createNodePoll(given: NodePollOptions): NodePoll {
  const options = { ...DEFAULTS, ...given }
  const limit = pLimit(CONCURRENCY)
  const turn = createStartLimiter()
  const shared: Shared = {
    retry_ms: options.retry_ms,
    now: options.now,
    wholes: new LRUCache({
      maxSize: CACHE_BYTES,
      sizeCalculation: ({ length }) => Math.max(length, 1),
      dispose: free,
    }),
    ask: (question, row, urgency) =>
      limit(async () => {
        if (urgency === 'background') await turn()
        return askNode(question, row, options)
      }),
  }
  const sweeps: (() => void)[] = []
  const sweep = setInterval(() => {
    for (const forget of sweeps) forget()
  }, SWEEP_MS)
  sweep.unref()
  return {
    question<T, D>(question: Question<T, D>): View<T, D> {
      const memory = createMemory(question, shared)
      sweeps.push(memory.forgetOld)
      return createView(question, shared, memory)
    },
    close: () => clearInterval(sweep),
  }
}

/** At once: replaced answers of a thousand nodes would otherwise wait for the garbage collector, which hardly sees them. */
function free(bytes: Buffer): void {
  // A small buffer may share its memory with others.
  if (bytes.length === bytes.buffer.byteLength && bytes.buffer instanceof ArrayBuffer) bytes.buffer.transfer(0)
}

type Urgency = 'awaited' | 'background'

interface Shared {
  retry_ms: number
  now: () => number
  /** Memory outside of the garbage-collected heap; above the limit the oldest answer is dropped. Freed when it leaves, so nothing else holds it. */
  wholes: LRUCache<object, Buffer>
  ask<T, D>(question: Question<T, D>, row: NodeRow, urgency: Urgency): Promise<Asked<D>>
}

interface Asked<D> {
  answer: { value: D; bytes: Buffer } | { error: string }
  silent: boolean
}

/** What is known of each node about one question. */
function createMemory<T, D>(question: Question<T, D>, { wholes, ask, now }: Shared) {
  const entries = new Map<string, Entry<D>>()
  const entryOf = (row: NodeRow): Entry<D> => {
    const life = lifeOf(row)
    const known = entries.get(row.id)
    if (known?.life === life) return known
    if (known !== undefined) wholes.delete(known)
    const entry = { life }
    entries.set(row.id, entry)
    return entry
  }
  return {
    entryOf,
    refresh(row: NodeRow, entry: Entry<D>, urgency: Urgency): Promise<unknown> {
      entry.asking ??= ask(question, row, urgency).then(({ answer, silent }) => {
        entry.asking = undefined
        entry.silent = silent
        if ('error' in answer) {
          wholes.delete(entry)
          entry.known = { at: now(), answer }
        } else {
          wholes.set(entry, answer.bytes)
          entry.known = { at: now(), answer: { value: answer.value } }
        }
      })
      return entry.asking
    },
    /** The whole answer of what was last known; undefined when there was no room for it. */
    wholeOf: (row: NodeRow): Buffer | undefined => wholes.get(entryOf(row)),
    /** Drops whole answers while nobody asks, and everything about nodes that left. */
    forgetOld(): void {
      const at = now()
      for (const [id, entry] of entries) {
        const age_ms = entry.asking === undefined ? at - (entry.known?.at ?? 0) : 0
        if (age_ms > STALE_MS) wholes.delete(entry)
        if (age_ms > FORGOTTEN_MS) entries.delete(id)
      }
    },
  }
}

function createView<T, D>(
  question: Question<T, D>,
  { retry_ms, ask, now }: Shared,
  { entryOf, refresh, wholeOf }: ReturnType<typeof createMemory<T, D>>,
): View<T, D> {
  /** Resolves when this request may use what is known of the node. */
  const due = (node: NodeRow, entry: Entry<D>, continuation: boolean): Promise<unknown> | undefined => {
    const { known, asking, silent } = entry
    if (known === undefined) return refresh(node, entry, 'awaited')
    const age_ms = now() - known.at
    if (silent === true) {
      if (age_ms > retry_ms) void refresh(node, entry, 'background')
      return undefined
    }
    // What is under way may have been answered before the change that this request is to show.
    if (question.no_cache === true && asking !== undefined) return asking.then(() => refresh(node, entry, 'awaited'))
    if (question.no_cache === true || age_ms > STALE_MS) return refresh(node, entry, 'awaited')
    if (age_ms < FRESH_MS) return undefined
    // The next request waits for the poll that this one began, so the second request shows every change.
    if (asking !== undefined && !continuation) return asking
    void refresh(node, entry, 'background')
    return undefined
  }
  const seen = async (node: NodeRow, continuation: boolean): Promise<Seen<D>> => {
    const entry = entryOf(node)
    const wait = due(node, entry, continuation)
    if (wait !== undefined) await wait
    const answer = entry.known?.answer ?? { error: 'The node was not asked.' }
    return { node, ...answer }
  }
  const whole = async (one: Seen<D>): Promise<NodeOutcome<NodeRow, T>> => {
    const { node } = one
    if ('error' in one) return { node, error: one.error }
    const known = wholeOf(node)
    if (known !== undefined) return { node, value: parsed(question, known) }
    const { answer } = await ask(question, node, 'awaited')
    return 'error' in answer ? { node, ...answer } : { node, value: parsed(question, answer.bytes) }
  }
  return {
    poll: (rows, { continuation = false } = {}) => Promise.all(rows.map((node) => seen(node, continuation))),
    last(row) {
      const answer = entryOf(row).known?.answer
      return answer !== undefined && 'value' in answer ? answer.value : undefined
    },
    whole: (shown) => Promise.all(shown.map(whole)),
  }
}

/** A restart or a new address of a node makes earlier failures meaningless. */
function lifeOf({ agent_address, agent_port, boot_id }: NodeRow): string {
  return `${agent_address} ${agent_port} ${boot_id}`
}

async function askNode<T, D>(
  question: Question<T, D>,
  row: NodeRow,
  { timeout_ms, log }: Required<NodePollOptions>,
): Promise<Asked<D>> {
  const started = performance.now()
  try {
    const bytes = await question.read(row, timeout_ms)
    return { answer: { value: question.digest(parsed(question, bytes)), bytes }, silent: false }
  } catch (error) {
    log.debug({ err: error, bmc_ip: row.bmc_ip, question: question.name }, 'node gave no answer')
    // An agent that answers nonsense, or refuses the connection, does so at once.
    return { answer: { error: nodeErrorSentence(error) }, silent: performance.now() - started > QUICK_MS }
  }
}

function parsed<T, D>(question: Question<T, D>, bytes: Buffer): T {
  const broken = (detail: string, cause?: unknown): UpstreamError =>
    new UpstreamError({ upstream: 'AGENT', operation: question.name, failure: 'error', detail, cause })
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch (cause) {
    throw broken('the answer is not JSON', cause)
  }
  if (question.fits(value)) return value
  throw broken('the answer has another shape')
}

function createStartLimiter(): () => Promise<void> {
  const waiting: (() => void)[] = []
  const turn = (): void => {
    for (const go of waiting.splice(0, BEGUN_A_TURN)) go()
    if (waiting.length > 0) setImmediate(turn)
  }
  return () =>
    new Promise((resolve) => {
      if (waiting.push(resolve) === 1) setImmediate(turn)
    })
}
