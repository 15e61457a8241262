/** Checks logins as cameras do: a digest in the SOAP header with a time window, HTTP Digest, and a lock after too many failures. */
import { createHash, randomBytes } from 'node:crypto'
import type { CameraModel } from './model.ts'
import { unescaped } from './soap.ts'

const WINDOW_MS = 5 * 60_000
export const REALM = 'camera'

export interface Logins {
  /** Logins that came, and how many of them were wrong. */
  attempts: number
  failures: number
  /** Null: none came. */
  inSoap(text: string): boolean | null
  inHeader(authorization: string | undefined, method: string): boolean | null
  challenge(): string
}

export function createLogins(model: CameraModel): Logins {
  const nonce = randomBytes(8).toString('hex')
  const used = new Set<string>()
  const counted = (right: boolean): boolean => {
    logins.attempts++
    const locked = model.lock_after > 0 && logins.failures >= model.lock_after
    if (!right) logins.failures++
    return right && !locked
  }
  const logins: Logins = {
    attempts: 0,
    failures: 0,
    inSoap: (text) => {
      const field = (name: string): string | undefined =>
        new RegExp(`<(?:[\\w-]+:)?${name}(?: [^>]*)?>([^<]*)<`).exec(text)?.[1]
      const [name, given, once, created] = [field('Username'), field('Password'), field('Nonce'), field('Created')]
      if (name === undefined || given === undefined || once === undefined || created === undefined) return null
      const expected = createHash('sha1')
        .update(Buffer.concat([Buffer.from(once, 'base64'), Buffer.from(created), Buffer.from(model.password)]))
        .digest('base64')
      const late_ms = Math.abs(Date.parse(created) - (Date.now() + model.clock_skew_ms))
      const fresh = late_ms < WINDOW_MS && !used.has(once)
      used.add(once)
      return counted(unescaped(name) === model.username && given === expected && fresh)
    },
    inHeader: (authorization, method) => {
      const digest = /^Digest (.*)$/.exec(authorization ?? '')?.[1]
      const basic = /^Basic (.*)$/.exec(authorization ?? '')?.[1]
      if (basic !== undefined) {
        return counted(Buffer.from(basic, 'base64').toString('utf8') === `${model.username}:${model.password}`)
      }
      if (digest === undefined) return null
      const field = (name: string): string => new RegExp(`(?:^|[ ,])${name}="?([^",]*)`).exec(digest)?.[1] ?? ''
      const secret = md5(`${model.username}:${REALM}:${model.password}`)
      const request = md5(`${method}:${field('uri')}`)
      const middle = field('qop') === '' ? nonce : `${nonce}:${field('nc')}:${field('cnonce')}:${field('qop')}`
      return counted(field('response') === md5(`${secret}:${middle}:${request}`))
    },
    challenge: () => `Digest realm="${REALM}", nonce="${nonce}", algorithm=MD5, qop="auth"`,
  }
  return logins
}

function md5(text: string): string {
  return createHash('md5').update(text, 'utf8').digest('hex')
}
