/** Who signed a request: the key's user, or null when anything about signature, expiry or account is wrong. */
import type { Caller } from './call.ts'
import { parseDate } from './params.ts'
import { signature, signatureMatches } from './sign.ts'
import type { SignatureAlgorithm } from './sign.ts'
import type { World } from './state.ts'

export function verifySignature(
  world: World,
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
  const user = world.tables.users.by('apikey', apikey)[0]
  if (user === undefined || user.secretkey === null || user.state !== 'enabled' || user.apikeyaccess === 'DISABLED')
    return null
  const account = world.tables.accounts.get(user.accountid)
  if (account === null || account.state !== 'enabled') return null
  return signatureMatches(given, signature(raw, user.secretkey, algorithm)) ? { user, account } : null
}
