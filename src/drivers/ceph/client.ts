// The distributed store (Ceph), spoken to by its own client `ceph` with a configuration file and a keyring: what it is made of, and
// the changes by which a machine comes to it and leaves it. Every change may be repeated.
import { UpstreamError, type UpstreamFailure } from '#src/kernel/errors.ts'
import type { Host, RunResult } from '#src/kernel/host.ts'
import { allClean, destroyable, keyIn, monitorsIn, parseState, type StoreMonitors, type StoreState } from './state.ts'

export interface CephConfig {
  /** Its configuration file; undefined: no distributed store is configured. */
  conf?: string | undefined
  keyring?: string | undefined
  /** Name of the key without `client.`. */
  client: string
  /** The program, by name or path. */
  tool: string
  timeout_ms: number
}

export interface CephOptions {
  signal?: AbortSignal
}

export interface Ceph {
  state(options?: CephOptions): Promise<StoreState>
  /**
   * Whether no copy of any data is on these daemons any more, and every piece of data has all its copies elsewhere. The store's own
   * `safe-to-destroy` says yes while copies are still being made, so it counts only together with placement groups that are all clean.
   */
  isDrained(osds: readonly number[], options?: CephOptions): Promise<boolean>
  /** Data moves off them, onto all others. */
  markOut(osds: readonly number[], options?: CephOptions): Promise<void>
  /** Without weight it counts for nothing where data is placed: removing it later moves nothing. */
  takeWeight(osd: number, options?: CephOptions): Promise<void>
  stop(osds: readonly number[], options?: CephOptions): Promise<void>
  /** Removes a daemon that is down, with its key. */
  purge(osd: number, options?: CephOptions): Promise<void>
  /** Of the tree in which data is placed; one that still holds something stays, with an error. */
  removeBucket(name: string, options?: CephOptions): Promise<void>
  /** False: the others would be no majority. */
  mayLoseMonitor(name: string, options?: CephOptions): Promise<boolean>
  removeMonitor(name: string, options?: CephOptions): Promise<void>
  /** Another manager takes over. */
  failManager(name: string, options?: CephOptions): Promise<void>
  /** What a client must know to find it. */
  monitors(options?: CephOptions): Promise<StoreMonitors>
  /** Key of this client; undefined: the store knows none. */
  clientKey(client: string, options?: CephOptions): Promise<string | undefined>
  /** Of a client that uses block devices and changes nothing of the store itself. */
  makeClient(client: string, options?: CephOptions): Promise<void>
  /** Whoever has its key can do nothing with it any more. */
  removeClient(client: string, options?: CephOptions): Promise<void>
}

/** Asked one after the other over one connection. */
const STATE = ['status', 'node ls', 'osd df tree', 'mgr stat', 'osd dump', 'osd crush rule dump'] as const
const ENOENT = 2
const EBUSY = 16
const BLOCK_CLIENT = ['mon', 'profile rbd', 'osd', 'profile rbd'] as const
/** It would wait for minutes for monitors that are gone. */
const CONNECT_TIMEOUT_S = 10

/** Undefined where none is configured. */
export function createCeph(config: CephConfig, { run }: Pick<Host, 'run'>): Ceph | undefined {
  const { conf, timeout_ms } = config
  if (conf === undefined) return undefined
  const place = [
    '--conf', conf, ...(config.keyring === undefined ? [] : ['--keyring', config.keyring]), '--name', `client.${config.client}`,
    '--connect-timeout', String(CONNECT_TIMEOUT_S), '--format', 'json',
  ] // biome-ignore format: arguments

  async function call(operation: string, words: readonly string[], { signal }: CephOptions, stdin?: string) {
    const ran = await run(config.tool, [...place, ...words], {
      timeout_ms,
      ...(signal === undefined ? {} : { signal }),
      ...(stdin === undefined ? {} : { stdin }),
    })
    signal?.throwIfAborted()
    const failure = failureOf(ran)
    if (failure !== undefined) throw errorOf(operation, failure, ran)
    return ran
  }

  /** Each answer is one line. A command that fails leaves its line out, and then nothing of the rest can be told apart. */
  async function ask(commands: readonly string[], options: CephOptions): Promise<unknown[]> {
    const ran = await call(commands.join(', '), [], options, `${commands.join('\n')}\n`)
    const lines = ran.stdout.split('\n').filter((line) => line.trim() !== '')
    const answers = lines.map(parsed)
    if (answers.length !== commands.length || answers.includes(undefined))
      throw errorOf(commands.join(', '), 'error', ran)
    return answers
  }

  async function change(words: readonly string[], options: CephOptions = {}): Promise<RunResult> {
    const ran = await call(words.slice(0, 3).join(' '), words, options)
    if (ran.exit_code !== 0) throw errorOf(words.slice(0, 3).join(' '), 'error', ran)
    return ran
  }

  const texts = (osds: readonly number[]): string[] => osds.map(String)
  return {
    state: async (options = {}) => {
      const answers = await ask(STATE, options)
      const state = parseState(answers)
      if (state === undefined)
        throw new UpstreamError({ upstream: 'CLUSTERSTORE', operation: 'state', failure: 'error' })
      return state
    },
    async isDrained(osds, options = {}) {
      // In this order: whoever says that a group has left these daemons has reported its state since.
      const [safe, status] = await ask([`osd safe-to-destroy ${texts(osds).join(' ')}`, 'status'], options)
      const may_go = destroyable(safe)
      return osds.every((id) => may_go.includes(id)) && allClean(status)
    },
    markOut: async (osds, options) => void (await change(['osd', 'out', ...texts(osds)], options)),
    takeWeight: async (osd, options) => void (await change(['osd', 'crush', 'reweight', `osd.${osd}`, '0'], options)),
    stop: async (osds, options) => void (await change(['osd', 'stop', ...texts(osds)], options)),
    purge: async (osd, options) =>
      void (await change(['osd', 'purge', String(osd), '--yes-i-really-mean-it'], options)),
    removeBucket: async (name, options) => void (await change(['osd', 'crush', 'rm', name], options)),
    async mayLoseMonitor(name, options = {}) {
      const ran = await call('mon ok-to-rm', ['mon', 'ok-to-rm', name], options)
      if (ran.exit_code !== 0 && ran.exit_code !== EBUSY) throw errorOf('mon ok-to-rm', 'error', ran)
      return ran.exit_code === 0
    },
    removeMonitor: async (name, options) => void (await change(['mon', 'remove', name], options)),
    failManager: async (name, options) => void (await change(['mgr', 'fail', name], options)),
    async monitors(options = {}) {
      const found = monitorsIn((await ask(['mon dump'], options))[0])
      if (found === undefined)
        throw new UpstreamError({ upstream: 'CLUSTERSTORE', operation: 'mon dump', failure: 'error' })
      return found
    },
    async clientKey(client, options = {}) {
      const ran = await call('auth get', ['auth', 'get', `client.${client}`], options)
      if (ran.exit_code === ENOENT) return undefined
      const key = ran.exit_code === 0 ? keyIn(parsed(ran.stdout)) : undefined
      if (key === undefined) throw errorOf('auth get', 'error', ran)
      return key
    },
    makeClient: async (client, options) =>
      void (await change(['auth', 'get-or-create', `client.${client}`, ...BLOCK_CLIENT], options)),
    removeClient: async (client, options) => void (await change(['auth', 'rm', `client.${client}`], options)),
  }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

const AWAY = /timed out|error connecting|Error initializing cluster client|Error EACCES|RADOS (timed out|permission)/i

/** Undefined: the store has answered, be it with an error. */
function failureOf({ outcome, exit_code, stderr }: RunResult): UpstreamFailure | undefined {
  if (outcome === 'timeout') return 'timeout'
  if (outcome !== 'exited') return 'unavailable'
  return exit_code !== 0 && AWAY.test(stderr) ? 'unavailable' : undefined
}

function errorOf(
  operation: string,
  failure: UpstreamFailure,
  { outcome, stderr, exit_code }: RunResult,
): UpstreamError {
  return new UpstreamError({
    upstream: 'CLUSTERSTORE',
    operation,
    failure,
    detail: outcome === 'missing' ? 'the program is not installed' : stderr.trim().slice(0, 1000),
    ...(exit_code === null ? {} : { status: exit_code }),
    retryable: failure !== 'error',
  })
}
