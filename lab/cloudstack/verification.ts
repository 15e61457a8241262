/** Who signed a request: the key's user, or null when anything about signature, expiry or account is wrong. */
import { ApiFault, unverified } from './api-fault.ts'
import type { Caller } from './call.ts'
import { parseDate } from './params.ts'
import { setting } from './settings.ts'
import { signature, signatureMatches } from './sign.ts'
import type { SignatureAlgorithm } from './sign.ts'
import type { SimulatorState } from './state.ts'

export function verifySignature(
  state: SimulatorState,
  raw: ReadonlyMap<string, string>,
  algorithm: SignatureAlgorithm,
): Caller | null {
  const lower = new Map([...raw].map(([name, value]) => [name.toLowerCase(), value]))
  const given = lower.get('signature')
  const apikey = lower.get('apikey')
  if (given === undefined || apikey === undefined || apikey === '') return null
  if (lower.get('signatureversion') === '3') {
    const expires = parseDate(lower.get('expires') ?? '')
    if (Number.isNaN(expires) || expires < Date.now()) return null
  }
  const user = state.tables.users.by('apikey', apikey)[0]
  if (user === undefined || user.secretkey === null || user.state !== 'enabled' || user.apikeyaccess === 'DISABLED')
    return null
  const account = state.tables.accounts.get(user.accountid)
  if (account === null || account.state !== 'enabled') return null
  return signatureMatches(given, signature(raw, user.secretkey, algorithm)) ? { user, account } : null
}

const READS = /^(get|list|query|find)/
const LONGEST_MS = 15 * 60_000

/** The setting enforce.post.requests.and.timestamps: changes by POST only, and every request short-lived. */
export function requireStrictForm(state: SimulatorState, raw: ReadonlyMap<string, string>, method: string): void {
  if (setting(state, 'enforce.post.requests.and.timestamps') !== 'true') return
  const command = raw.get('command') ?? ''
  if (method !== 'POST' && !READS.test(command))
    throw new ApiFault(400, `State changing command ${command} invoked using insecure GET request`, null)
  const expires = parseDate(raw.get('expires') ?? '')
  if (raw.get('signatureversion') !== '3' || Number.isNaN(expires) || expires > Date.now() + LONGEST_MS)
    throw unverified()
}
