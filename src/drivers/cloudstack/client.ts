// The compute platform as the rest of the service sees it: calls, lists, jobs.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Dispatcher } from 'undici'
import type { Log } from '#src/kernel/log.ts'
import { contentOf } from './answer.ts'
import { type Args, encodeArgs, type WireArgs } from './args.ts'
import { type FollowOptions, followJob, type PlatformJob, readJob } from './async-job.ts'
import type { Raw } from './fields.ts'
import type { AnswerCache } from './answer-cache.ts'
import { type ListItem, type ListOptions, listAll, listPage, listPages, type Page } from './lists.ts'
import { createLookups, type Lookups } from './lookups.ts'
import { CloudStackError } from './platform-error.ts'
import { type Algorithm, type Credentials, signedForm } from './sign.ts'
import { createTransport } from './transport.ts'

/** `compute` of the configuration. */
export interface CloudStackConfig {
  url?: string | undefined
  api_key?: string | undefined
  secret_key?: string | undefined
  algorithm: 'auto' | Algorithm
  timeout_ms: number
  read_timeout_ms: number
}

export interface CloudStackOptions {
  log: Log
  agent?: Dispatcher
  /** Factor on every pause before the platform is asked again; tests make it small. */
  wait_factor?: number
  /** Sees every call before it is sent; tests compare it with the platform's catalogue. */
  check?: (command: string, wire: WireArgs) => void
  /** Sees every call when it has ended. */
  observe?: (
    operation: string,
    seconds: number,
    outcome: 'ok' | 'refused' | 'error' | 'timeout' | 'unavailable' | 'aborted',
    traceparent: string | undefined,
  ) => void
}

export interface CallOptions extends ListOptions {
  /** Our id for the platform's job; the same id twice is refused, so a lost answer can be looked up. */
  job_id?: string | undefined
}

export interface CachedReading<T> {
  cache: AnswerCache<T>
  read(content: Raw): T
}

export interface CloudStack {
  /** False while URL or keys are not configured; every call then fails with `not_configured`. */
  readonly configured: boolean
  /** `open`: the last calls got no answer and new ones fail at once. */
  state(): 'closed' | 'open'
  /** Sends one command and answers the content of its envelope. */
  call(command: string, args: Args, options?: CallOptions): Promise<Raw>
  /** As `call`, for long lists that are asked for again and again: reads an answer only when it is not that of the last time. */
  callCached<T>(command: string, args: Args, reading: CachedReading<T>, options?: CallOptions): Promise<T>
  listPage<T>(
    command: string,
    args: Args,
    item: ListItem<T>,
    page: { page: number; page_size: number },
    options?: ListOptions,
  ): Promise<Page<T>>
  /** The raw rows, page by page; the next page is requested in advance. */
  listPages(command: string, args: Args, key: string, options?: ListOptions): AsyncGenerator<Raw[]>
  listAll<T>(command: string, args: Args, item: ListItem<T>, options?: ListOptions): AsyncGenerator<T>
  /** Undefined: the platform does not know the job. */
  queryJob(job_id: string, options?: ListOptions): Promise<PlatformJob | undefined>
  /** The result of the job; throws its rejection, LostJobError, or UnknownJobError. */
  followJob(job_id: string, options: FollowOptions): Promise<Raw>
  /** Before the platform is asked again for what takes its time there. */
  pause(ms: number, signal?: AbortSignal): Promise<void>
  readonly lookups: Lookups
  close(): Promise<void>
}

const READS = /^(list|get|query|find)/
const MAX_RATE_PAUSE_MS = 2000
const RATE_RETRIES = 3

export function createCloudStack(config: CloudStackConfig, options: CloudStackOptions): CloudStack {
  const { url, api_key, secret_key } = config
  if (url === undefined || api_key === undefined || secret_key === undefined) return notConfigured(config, options)
  const credentials = { api_key, secret_key }
  const transport = createTransport(url, options.agent)
  const send = createSender(config, credentials, transport, options)
  const cloudstack = assemble(send, options, {
    configured: true,
    state: transport.state,
    close: transport.close,
    onUnauthorised: (command) => reportUnauthorised(command, cloudstack.lookups, options.log),
  })
  return cloudstack
}

/** What is made of the content of an answer; `cache`: only when it is not that of the last time. */
interface Reading<T> {
  cache?: AnswerCache<T>
  read(content: Raw): T
}

const AS_IT_IS: Reading<Raw> = { read: (content) => content }

type Send = <T>(command: string, args: Args, options: CallOptions, reading: Reading<T>) => Promise<T>

interface Ends {
  configured: boolean
  state: () => 'closed' | 'open'
  close: () => Promise<void>
  onUnauthorised: (command: string) => Promise<void>
}

function assemble(send: Send, { log, wait_factor = 1 }: CloudStackOptions, ends: Ends): CloudStack {
  const callReading: Send = async (command, args, options, reading) => {
    try {
      return await repeated(send, command, args, options, reading)
    } catch (error) {
      if (error instanceof CloudStackError && error.status === 401 && command !== 'listApis')
        await ends.onUnauthorised(command)
      throw error
    }
  }
  const call: CloudStack['call'] = (command, args, options = {}) => callReading(command, args, options, AS_IT_IS)
  const pause: CloudStack['pause'] = (ms, signal) => sleep(ms * wait_factor, undefined, { signal })
  const queryJob: CloudStack['queryJob'] = async (job_id, options) => {
    try {
      return readJob(await call('queryAsyncJobResult', { jobid: job_id }, options), job_id)
    } catch (error) {
      if (error instanceof CloudStackError && error.status === 431) return undefined
      throw error
    }
  }
  return {
    configured: ends.configured,
    state: ends.state,
    call,
    callCached: (command, args, reading, options = {}) => callReading(command, args, options, reading),
    listPage: (command, args, item, page, options) => listPage(call, command, args, item, page, options),
    listPages: (command, args, key, options) => listPages(call, command, args, key, options),
    listAll: (command, args, item, options) => listAll(call, command, args, item, options),
    queryJob,
    followJob: (job_id, options) =>
      followJob({ query: (id, signal) => queryJob(id, { signal }), pause }, job_id, options, log),
    pause,
    lookups: createLookups(call),
    close: ends.close,
  }
}

/** Only what surely was not done is sent again: reads after a lost connection, and anything that met the rate limit. */
async function repeated<T>(
  send: Send,
  command: string,
  args: Args,
  options: CallOptions,
  reading: Reading<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await send(command, args, options, reading)
    } catch (error) {
      if (!(error instanceof CloudStackError) || options.signal?.aborted === true) throw error
      const limited = error.status === 429 && attempt <= RATE_RETRIES
      const dropped =
        error.failure === 'unavailable' && error.status === undefined && READS.test(command) && attempt === 1
      if (!limited && !dropped) throw error
      await delay(limited ? ratePause(error.detail) : 50, options.signal)
    }
  }
}

function ratePause(detail: string | undefined): number {
  const asked_ms = Number(/retry after \[?(\d+)/i.exec(detail ?? '')?.[1] ?? 250)
  return Math.min(asked_ms, MAX_RATE_PAUSE_MS)
}

async function delay(wait_ms: number, signal: AbortSignal | undefined): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, wait_ms)
  signal?.addEventListener('abort', () => resolve(), { once: true })
  await promise
  clearTimeout(timer)
}

function createSender(
  config: CloudStackConfig,
  credentials: Credentials,
  transport: ReturnType<typeof createTransport>,
  options: CloudStackOptions,
): Send {
  const sendSigned = async <T>(
    command: string,
    wire: WireArgs,
    algorithm: Algorithm,
    call: CallOptions,
    { cache, read }: Reading<T>,
  ): Promise<T> => {
    const reads = READS.test(command)
    const form = signedForm(command, wire, credentials, algorithm, Date.now())
    const answer = await transport.send(form, {
      command,
      lane: reads ? 'read' : 'change',
      timeout_ms: call.timeout_ms ?? (reads ? config.read_timeout_ms : config.timeout_ms),
      signal: call.signal,
      traceparent: call.traceparent,
    })
    const make = () => read(contentOf(command, answer, wire))
    return cache === undefined ? make() : cache.of(JSON.stringify(wire), answer.text, make)
  }
  const algorithm = algorithmOf(
    config.algorithm,
    (candidate) => sendSigned('listCapabilities', {}, candidate, {}, AS_IT_IS),
    options.log,
  )
  return async (command, args, call, reading) => {
    const wire = encodeArgs(call.job_id === undefined ? args : { ...args, customjobid: call.job_id })
    options.check?.(command, wire)
    const started_ms = performance.now()
    const ended = (outcome: Parameters<NonNullable<CloudStackOptions['observe']>>[2]) =>
      options.observe?.(command, (performance.now() - started_ms) / 1000, outcome, call.traceparent)
    try {
      const content = await sendSigned(command, wire, await algorithm(), call, reading)
      ended('ok')
      return content
    } catch (error) {
      ended(outcomeOf(error))
      throw error
    }
  }
}

function outcomeOf(error: unknown): 'refused' | 'error' | 'timeout' | 'unavailable' | 'aborted' {
  if (!(error instanceof CloudStackError)) return 'aborted'
  if (error.failure === 'timeout' || error.failure === 'unavailable') return error.failure
  return error.status === undefined || error.status === 200 || error.status === 530 ? 'error' : 'refused'
}

/** Asks once with a read, never with a change; a probe without an answer decides nothing (cloudstack.md 1.2). */
function algorithmOf(
  setting: 'auto' | Algorithm,
  probe: (candidate: Algorithm) => Promise<unknown>,
  log: Log,
): () => Promise<Algorithm> {
  if (setting !== 'auto') return async () => setting
  let decided: Promise<Algorithm> | undefined
  const accepted = async (candidate: Algorithm) => {
    try {
      await probe(candidate)
      return true
    } catch (error) {
      if (error instanceof CloudStackError && error.status === 401) return false
      throw error
    }
  }
  const decide = async (): Promise<Algorithm> => {
    if (await accepted('hmac-sha512')) return 'hmac-sha512'
    if (await accepted('hmac-sha1')) return 'hmac-sha1'
    log.error('compute platform refuses our keys with either signature')
    throw new CloudStackError({
      operation: 'listCapabilities',
      failure: 'error',
      status: 401,
      detail: 'both signature algorithms are refused',
    })
  }
  return () => {
    decided ??= decide().catch((error: unknown) => {
      decided = undefined
      throw error
    })
    return decided
  }
}

/** The platform says "bad signature" for a command it does not have, too (cloudstack.md 10, 3): the log tells them apart. */
async function reportUnauthorised(command: string, lookups: Lookups, log: Log): Promise<void> {
  const known = await lookups.supports(command).catch(() => undefined)
  if (known === false)
    log.error({ command }, 'compute platform does not have this command, or our account may not call it')
  else log.error({ command }, 'compute platform refuses our keys')
}

function notConfigured(config: CloudStackConfig, options: CloudStackOptions): CloudStack {
  const missing = (['url', 'api_key', 'secret_key'] as const).filter((name) => config[name] === undefined)
  const send: Send = async (command) => {
    throw new CloudStackError({
      operation: command,
      failure: 'not_configured',
      detail: missing.map((name) => `compute.${name}`).join(', '),
    })
  }
  return assemble(send, options, {
    configured: false,
    state: () => 'closed',
    close: async () => {},
    onUnauthorised: async () => {},
  })
}
