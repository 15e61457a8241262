// An agent made of nothing but its identity and a TLS server that answers whatever a test wants.
import { createServer, type Server } from 'node:https'
import type { RequestListener } from 'node:http'
import { createCertificateRequest } from '#src/kernel/certificates.ts'
import { signRequest } from '#src/kernel/node-signature.ts'
import type { Lab } from './start-lab.ts'
import type { Reply } from './http.ts'

export const FACTS = {
  hostname: 'fake-01',
  fqdn: 'fake-01.example.internal',
  node_ip: '10.0.7.1',
  addresses: ['10.0.7.1'],
  boot_id: 'b1',
  agent_version: '9.9.9',
}

/** What the agent of this node reports: names and an address of its own. */
export function factsOf(bmc_ip: string): typeof FACTS {
  const hostname = `fake-${bmc_ip.replace(/[^0-9a-f]/g, '-')}`
  const node_ip = bmc_ip.replace(/^10\./, '10.1')
  return { ...FACTS, hostname, fqdn: `${hostname}.example.internal`, node_ip, addresses: [node_ip] }
}

export interface FakeIdentity {
  facts: typeof FACTS
  node_id: string
  key: string
  certificate: string
  authority: string
}

export async function registerNode(lab: Lab, bmc_ip: string, more: object = {}): Promise<Reply> {
  return lab.call('POST', '/configure/nodes', { bmc_ip, ...more })
}

export async function enrolmentToken(lab: Lab, bmc_ip: string): Promise<string> {
  const { status, body } = await lab.call('POST', '/configure/nodes/enrolment-tokens', { bmc_ip })
  if (status !== 201) throw new Error(`no token: ${status}`)
  return String(body.token)
}

/** Sends the enrolment alone; the answer may be a rejection. */
export async function sendEnrolment(
  lab: Lab,
  token: string,
  facts: object = FACTS,
): Promise<{ reply: Reply; key: string }> {
  const { key, request } = await createCertificateRequest('whatever')
  const reply = await lab.call(
    'POST',
    '/configure/nodes/enrol',
    { token, certificate_request: request, facts },
    { token: null },
  )
  return { reply, key }
}

/** Registers the node, makes a token and enrols. */
export async function enrolNode(lab: Lab, bmc_ip: string, facts = factsOf(bmc_ip)): Promise<FakeIdentity> {
  await registerNode(lab, bmc_ip)
  const { reply, key } = await sendEnrolment(lab, await enrolmentToken(lab, bmc_ip), facts)
  if (reply.status !== 200) throw new Error(`enrolment answered ${reply.status}: ${reply.text}`)
  const { node_id, certificate, authority } = reply.body
  return { node_id, certificate, authority, key, facts }
}

export interface SignedOptions {
  path?: string
  signed_ms?: number
  /** Sent instead of what was signed. */
  sent?: unknown
}

export async function sendSigned(
  lab: Lab,
  who: Pick<FakeIdentity, 'node_id' | 'key'>,
  path: string,
  body: unknown,
  options: SignedOptions = {},
): Promise<Reply> {
  const text = JSON.stringify(body)
  const signed = { method: 'POST', path: options.path ?? path, body: text }
  const headers = signRequest(signed, who.node_id, options.signed_ms ?? Date.now(), who.key)
  return lab.call('POST', path, options.sent === undefined ? text : JSON.stringify(options.sent), {
    token: null,
    headers: { ...headers, 'content-type': 'application/json' },
  })
}

export function sendHeartbeat(lab: Lab, who: FakeIdentity, port = 9, options: SignedOptions = {}): Promise<Reply> {
  const body = { facts: who.facts, agent: { address: '127.0.0.1', port } }
  return sendSigned(lab, who, '/configure/nodes/heartbeat', body, options)
}

export interface FakeAgent {
  port: number
  close(): Promise<void>
}

/** Serves under this identity's certificate; callers must show one of its CA. */
export async function serveAs(identity: Omit<FakeIdentity, 'facts'>, answer: RequestListener): Promise<FakeAgent> {
  const server: Server = createServer(
    {
      key: identity.key,
      cert: identity.certificate,
      ca: identity.authority,
      requestCert: true,
      rejectUnauthorized: true,
      // Callers decide how long connections stay.
      keepAliveTimeout: 0,
    },
    answer,
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the fake agent has no port')
  return {
    port: address.port,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
