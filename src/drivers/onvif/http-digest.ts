// Digest credentials of HTTP and RTSP (RFC 7616): the challenge of a server, and the header that answers it.
import { createHash, randomBytes } from 'node:crypto'

export interface Login {
  username: string
  password: string
}

export interface DigestChallenge {
  realm: string
  nonce: string
  algorithm: 'MD5' | 'SHA-256'
  /** The server wants the session variant of the algorithm. */
  session: boolean
  opaque: string | undefined
  /** Whether the server knows `qop=auth`; older ones do not. */
  qop: boolean
}

/** The strongest Digest challenge of the header's values; undefined when there is none that we know. */
export function digestChallenge(values: readonly string[]): DigestChallenge | undefined {
  const known = values.flatMap(challengesIn).filter((one) => one !== undefined)
  return known.find(({ algorithm }) => algorithm === 'SHA-256') ?? known[0]
}

/** Whether one of the challenges asks for the password itself. */
export function asksForBasic(values: readonly string[]): boolean {
  return values.some((value) => /(^|,)\s*basic\b/i.test(value))
}

export interface DigestRequest {
  method: string
  /** As it stands in the request line. */
  uri: string
}

/** The value of the header `Authorization`. */
export function digestHeader(challenge: DigestChallenge, login: Login, { method, uri }: DigestRequest): string {
  const { realm, nonce, algorithm, session, opaque, qop } = challenge
  const hash = (text: string): string =>
    createHash(algorithm === 'MD5' ? 'md5' : 'sha256')
      .update(text, 'utf8')
      .digest('hex')
  const cnonce = randomBytes(8).toString('hex')
  const count = '00000001'
  const secret = hash(`${login.username}:${realm}:${login.password}`)
  const user = session ? hash(`${secret}:${nonce}:${cnonce}`) : secret
  const request = hash(`${method}:${uri}`)
  const response = hash(qop ? `${user}:${nonce}:${count}:${cnonce}:auth:${request}` : `${user}:${nonce}:${request}`)
  const members = [
    // Bytes of UTF-8, as header values are bytes to the HTTP client.
    `username=${quoted(Buffer.from(login.username, 'utf8').toString('latin1'))}`,
    `realm=${quoted(realm)}`,
    `nonce=${quoted(nonce)}`,
    `uri=${quoted(uri)}`,
    `algorithm=${algorithm}${session ? '-sess' : ''}`,
    `response="${response}"`,
    ...(qop || session ? [`cnonce="${cnonce}"`] : []),
    ...(qop ? ['qop=auth', `nc=${count}`] : []),
    ...(opaque === undefined ? [] : [`opaque=${quoted(opaque)}`]),
  ]
  return `Digest ${members.join(', ')}`
}

function quoted(text: string): string {
  return `"${text.replace(/[\\"]/g, '\\$&')}"`
}

const MEMBER = /([\w-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]*))/g

/** One header may hold several challenges. */
function challengesIn(value: string): (DigestChallenge | undefined)[] {
  return value
    .split(/(?:^|,)\s*(?=(?:digest|basic|bearer|negotiate|ntlm)\s)/i)
    .filter((part) => /^digest\s/i.test(part.trim()))
    .map(challengeOf)
}

function challengeOf(text: string): DigestChallenge | undefined {
  const members = new Map<string, string>()
  for (const [, name = '', inside, plain] of text.matchAll(MEMBER)) {
    members.set(name.toLowerCase(), inside?.replace(/\\(.)/g, '$1') ?? plain ?? '')
  }
  const nonce = members.get('nonce')
  const [, name, session] = /^(MD5|SHA-256)(-sess)?$/i.exec(members.get('algorithm') ?? 'MD5') ?? []
  const qops = members.get('qop')?.split(/[\s,]+/)
  // Another algorithm, or `auth-int` alone: nothing that can be answered.
  if (nonce === undefined || name === undefined || (qops !== undefined && !qops.includes('auth'))) return undefined
  return {
    realm: members.get('realm') ?? '',
    nonce,
    algorithm: name.toUpperCase() === 'MD5' ? 'MD5' : 'SHA-256',
    session: session !== undefined,
    opaque: members.get('opaque'),
    qop: qops !== undefined,
  }
}
