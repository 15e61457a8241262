// Promotes the database standby of this node when its primary is gone for good, and only then. Two primaries cost data, a
// database that waits for a person costs time: whatever is not certain is reported and left to a person.
import { type Static, Type } from 'typebox'
import type { Host } from '#src/kernel/host.ts'
import type { Log } from '#src/kernel/log.ts'
import { parseJson } from '../untrusted-json.ts'
import { addressesOf } from './held-addresses.ts'
import { spoolEvent, type SpoolPlace } from './spool-event.ts'
import { type DatabasePlace, promoteDatabase, standbyState, type StandbyState } from './standby.ts'

const Address = Type.String({ pattern: '^[0-9a-fA-F.:]{2,39}$' })

export const PromotionSettings = Type.Object(
  {
    virtual_addresses: Type.Array(Address, {
      minItems: 1,
      description: 'Only the node that holds all of them promotes its database.',
    }),
    peers: Type.Array(Type.Array(Address, { minItems: 2 }), {
      minItems: 1,
      description: 'Addresses of each other member, in two networks at least: all of them must be silent.',
    }),
    witnesses: Type.Array(Address, {
      minItems: 1,
      description: 'Gateways, for example: one must answer, because a node that is cut off itself promotes nothing.',
    }),
    max_lag_bytes: Type.Integer({ default: 16_777_216, minimum: 0, description: 'Received and not yet replayed.' }),
    account: Type.String({
      default: 'postgres',
      pattern: '^[a-z_][a-z0-9_-]*$',
      description: 'That the database runs under.',
    }),
    socket_dir: Type.String({ default: '/var/run/postgresql', pattern: '^/', description: 'Folder of its socket.' }),
    port: Type.Integer({ default: 5432, minimum: 1, maximum: 65_535 }),
  },
  { additionalProperties: false, description: 'Promote the database standby by itself; left out: a person does.' },
)
export type PromotionSettings = Static<typeof PromotionSettings>

/** `wait`: all is well, or not enough is known yet. `person`: the primary is gone, and something else forbids it. */
export type Verdict = { act: 'wait' } | { act: 'person'; reason: string } | { act: 'promote' }

export interface PromotionOptions {
  host: Host
  settings: PromotionSettings
  spool: SpoolPlace
  log: Log
  /** So many rounds in a row before anything is done: a restart of the primary is no loss of it. 3 when left out. */
  silent_rounds?: number
}

/** One round; the caller repeats it. */
export function createPromotion(options: PromotionOptions): () => Promise<Verdict> {
  const { host, settings, spool, log, silent_rounds = 3 } = options
  let silent = 0
  let reported = ''
  let tried: Verdict | undefined
  return async () => {
    const verdict = await judge(host, settings)
    if (verdict.act === 'wait') {
      silent = 0
      reported = ''
      tried = undefined
      return verdict
    }
    silent += 1
    if (silent < silent_rounds) return { act: 'wait' }
    // Once: what did not work is not repeated blindly.
    if (verdict.act === 'promote') return (tried ??= await promote(options))
    if (verdict.reason !== reported) {
      reported = verdict.reason
      log.error({ reason: verdict.reason }, 'database is not promoted')
      await report(spool, 'FAILED', `Not promoted: ${verdict.reason} A person must decide.`)
    }
    return verdict
  }
}

async function promote({ host, settings, spool, log }: PromotionOptions): Promise<Verdict> {
  log.warn({}, 'database is being promoted')
  await report(spool, 'IN_PROGRESS', 'The primary is gone: the database of this node is being promoted.')
  if (await promoteDatabase(host, placeOf(settings))) {
    await report(spool, 'COMPLETED', 'The database of this node is the primary now.')
    return { act: 'promote' }
  }
  const reason = 'The database did not become a primary.'
  await report(spool, 'FAILED', reason)
  return { act: 'person', reason }
}

const LEVELS = { IN_PROGRESS: 'WARN', COMPLETED: 'INFO', FAILED: 'ERROR' } as const

function report(spool: SpoolPlace, status: keyof typeof LEVELS, message: string): Promise<void> {
  return spoolEvent(spool, { action: 'DB_PROMOTION', status, level: LEVELS[status], message })
}

function placeOf({ account, socket_dir, port }: PromotionSettings): DatabasePlace {
  return { account, socket_dir, port }
}

async function judge(host: Host, settings: PromotionSettings): Promise<Verdict> {
  const database = await standbyState(host, placeOf(settings))
  if (database === null || !database.in_recovery || database.streaming) return { act: 'wait' }
  const own = await addressesOf(host)
  if (!settings.virtual_addresses.every((address) => own.has(address))) return { act: 'wait' }
  return judgeLoss(host, settings, database)
}

/** The primary is gone and this node has the virtual addresses: is it safe? */
async function judgeLoss(
  host: Host,
  { peers, witnesses, max_lag_bytes, port }: PromotionSettings,
  { primary_host, lag_bytes }: StandbyState,
): Promise<Verdict> {
  const addresses = peers.find((peer) => peer.includes(primary_host))
  if (addresses === undefined)
    return person(`the primary ${primary_host || '(unknown)'} is none of the peers that are configured.`)
  const devices = new Set(await Promise.all(addresses.map((address) => deviceTowards(host, address))))
  if (devices.size < 2) return person(`the addresses of the primary ${primary_host} are all reached over one network.`)
  const answering = await answeringOf(addresses, (address) => isAlive(host, address, port))
  if (answering.length > 0) return person(`the primary ${primary_host} still answers at ${answering.join(' and ')}.`)
  if ((await answeringOf(witnesses, (address) => pings(host, address))).length === 0)
    return person('no witness answers, so this node may be cut off itself.')
  if (lag_bytes > max_lag_bytes) return person(`${lag_bytes} bytes are not replayed yet, more than ${max_lag_bytes}.`)
  return { act: 'promote' }
}

function person(reason: string): Verdict {
  return { act: 'person', reason }
}

async function answeringOf(
  addresses: readonly string[],
  ask: (address: string) => Promise<boolean>,
): Promise<string[]> {
  const answers = await Promise.all(addresses.map(ask))
  return addresses.filter((_address, at) => answers[at] === true)
}

/** A machine that refuses connections is alive, and may start its database again. */
async function isAlive(host: Host, address: string, port: number): Promise<boolean> {
  if (await pings(host, address)) return true
  const { outcome, exit_code } = await host.run('pg_isready', ['-q', '-h', address, '-p', String(port), '-t', '2'])
  if (outcome === 'missing') throw new Error('pg_isready is not installed')
  return outcome === 'exited' && (exit_code === 0 || exit_code === 1)
}

/** A tool that is missing proves no silence. */
async function pings(host: Host, address: string): Promise<boolean> {
  const { outcome, exit_code } = await host.run('ping', ['-n', '-q', '-c', '2', '-i', '0.3', '-W', '1', address])
  if (outcome === 'missing') throw new Error('ping is not installed')
  return outcome === 'exited' && exit_code === 0
}

async function deviceTowards(host: Host, address: string): Promise<string> {
  const { stdout } = await host.run('ip', ['-j', 'route', 'get', address])
  const routes = parseJson(stdout)
  const [first]: unknown[] = Array.isArray(routes) ? routes : []
  const device = typeof first === 'object' && first !== null && 'dev' in first ? first.dev : undefined
  return typeof device === 'string' ? device : ''
}
