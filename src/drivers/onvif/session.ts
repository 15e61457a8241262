// Calls to one camera. The login is sent in one way only, the one that the camera itself asks for, so that a wrong password
// costs one attempt: cameras count them and lock the account.
import { type Dispatcher, request } from 'undici'
import { type DigestChallenge, digestChallenge, digestHeader, type Login } from './http-digest.ts'
import { OnvifError } from './onvif-error.ts'
import { envelope, type Fault, parseSoap, passwordDigest, type XmlNode } from './soap.ts'
import { connectionReason } from '../transport-text.ts'

export interface SessionOptions {
  ip: string
  login: Login
  dispatcher: Dispatcher
  /** Ends everything: the deadline of the probe. */
  signal: AbortSignal
}

export interface Session {
  /** Clock of the camera minus ours. */
  skew_ms: number
  /** The element inside of the answer's body. Throws OnvifError. */
  call(url: string, operation: string, body: string): Promise<XmlNode>
  /** Without a login and without judging: what is there. */
  ask(url: string, body: string): Promise<Reply>
}

export interface Reply {
  status: number
  challenges: string[]
  /** By the header `Date`. */
  date: Date | undefined
  soap: ReturnType<typeof parseSoap>
}

const CALL_TIMEOUT_MS = 4000

type Scheme = 'none' | 'password_digest' | DigestChallenge

export function createSession({ ip, login, dispatcher, signal }: SessionOptions): Session {
  let scheme: Scheme = 'none'
  const send = (url: string, body: string) =>
    post(url, body, { scheme, login, skew_ms: session.skew_ms }, { dispatcher, signal })
  const session: Session = {
    skew_ms: 0,
    ask: (url, body) => post(url, body, { scheme: 'none', login, skew_ms: 0 }, { dispatcher, signal }),
    async call(url, operation, body) {
      try {
        let reply = await send(url, body)
        if (isRejected(reply) && scheme === 'none') {
          scheme = digestChallenge(reply.challenges) ?? 'password_digest'
          reply = await send(url, body)
        }
        return contentOf(reply, { ip, operation })
      } catch (error) {
        if (error instanceof OnvifError) throw error
        throw new OnvifError({ ip, operation, reason: 'unreachable', detail: connectionReason(error), cause: error })
      }
    },
  }
  return session
}

interface Credentials {
  scheme: Scheme
  login: Login
  skew_ms: number
}

async function post(
  url: string,
  body: string,
  { scheme, login, skew_ms }: Credentials,
  { dispatcher, signal }: Pick<SessionOptions, 'dispatcher' | 'signal'>,
): Promise<Reply> {
  const security = scheme === 'password_digest' ? passwordDigest(login, new Date(Date.now() + skew_ms)) : ''
  const { pathname, search } = new URL(url)
  const authorization =
    typeof scheme === 'object' ? digestHeader(scheme, login, { method: 'POST', uri: pathname + search }) : undefined
  const answer = await request(url, {
    method: 'POST',
    dispatcher,
    signal: AbortSignal.any([signal, AbortSignal.timeout(CALL_TIMEOUT_MS)]),
    headers: {
      'content-type': 'application/soap+xml; charset=utf-8',
      ...(authorization === undefined ? {} : { authorization }),
    },
    body: envelope(body, security),
  })
  const header = (name: string) => [answer.headers[name] ?? []].flat()
  const date = new Date(header('date')[0] ?? '')
  return {
    status: answer.statusCode,
    challenges: header('www-authenticate'),
    date: Number.isNaN(date.getTime()) ? undefined : date,
    soap: parseSoap(await answer.body.text()),
  }
}

const NOT_AUTHORIZED = /NotAuthorized|FailedAuthentication|InvalidSecurity/i
const NOT_AUTHORIZED_TEXT = /not authori[sz]ed|unauthori[sz]ed|authentication|locked/i

/** By the camera, for want of the right login. */
export function isRejected({ status, soap }: Reply): boolean {
  if (status === 401 || status === 403) return true
  const fault = soap?.fault
  return (
    fault !== undefined &&
    (fault.codes.some((code) => NOT_AUTHORIZED.test(code)) || NOT_AUTHORIZED_TEXT.test(fault.reason))
  )
}

function contentOf(reply: Reply, about: { ip: string; operation: string }): XmlNode {
  const { status, soap } = reply
  if (isRejected(reply)) {
    throw new OnvifError({ ...about, reason: 'credentials', status, detail: describe(status, soap?.fault) })
  }
  if (soap === undefined || soap.fault !== undefined || status !== 200) {
    throw new OnvifError({ ...about, reason: 'unsupported', status, detail: describe(status, soap?.fault) })
  }
  return soap.content
}

function describe(status: number, fault: Fault | undefined): string {
  return fault === undefined ? `HTTP ${status}` : `HTTP ${status}, fault ${fault.codes.join(' ')}: ${fault.reason}`
}
