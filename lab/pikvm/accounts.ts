/** Who may speak to a simulated KVM, in the order in which the device looks: headers, cookie, Basic. */
import type { IncomingHttpHeaders } from 'node:http'
import { invalid, Refused } from './answer.ts'
import type { KvmState } from './state.ts'

export function authenticate({ habits, username, password }: KvmState, headers: IncomingHttpHeaders): void {
  if (habits.auth_disabled) return
  const user = headers['x-kvmd-user']
  if (user !== undefined) return check(String(user), String(headers['x-kvmd-passwd'] ?? ''))
  if (/(^|; )auth_token=/.test(headers.cookie ?? '')) throw new Refused(403, 'ForbiddenError', 'Forbidden')
  const basic = headers.authorization
  if (basic === undefined) throw new Refused(401, 'UnauthorizedError', 'Unauthorized')
  const given = /^Basic (.+)$/.exec(basic)?.[1]
  const parts = given === undefined ? [] : Buffer.from(given, 'base64').toString().split(':')
  // The device splits on every colon, so a password with one breaks it.
  if (parts.length !== 2) throw new Refused(401, 'UnauthorizedError', 'Unauthorized')
  check(parts[0] ?? '', parts[1] ?? '')

  function check(name: string, secret: string): void {
    if (!/^[a-z_][a-z0-9_-]*$/.test(name)) throw invalid('The argument is not a valid username')
    if (!/^[\x20-\x7e]+$/.test(secret)) throw invalid('The argument is not a valid passwd characters')
    if (name !== username || secret !== password) throw new Refused(403, 'ForbiddenError', 'Forbidden')
  }
}
