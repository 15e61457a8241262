// Enrolment of the agent at its control plane: exchanges a one-time token for a certificate, renews it, and sends heartbeats
// (docs/decisions/0006-agent-trust.md).
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Static, Type } from 'typebox'
import Value from 'typebox/value'
import { ClientError } from '#src/contract/client.ts'
import type { IssuedNode, NodeFacts } from '#src/contract/nodes/registry.ts'
import { connectControl, type ControlAddress } from '#src/kernel/agent-uplink.ts'
import { caMark, createCertificateRequest } from '#src/kernel/certificates.ts'
import type { Log } from '#src/kernel/log.ts'
import { signRequest } from '#src/kernel/node-signature.ts'
import { writePrivateFile } from '#src/kernel/keyring.ts'

const Identity = Type.Object({
  node_id: Type.String(),
  bmc_ip: Type.String(),
  key: Type.String(),
  certificate: Type.String(),
  authority: Type.String(),
  control_name: Type.String(),
})
export type NodeIdentity = Static<typeof Identity>

const RETRY_MS = 5000

/** What the agent was certified as, or undefined when it never enrolled. One file, so that a renewal is whole or not at all. */
export function readIdentity(state_dir: string): NodeIdentity | undefined {
  const file = identityFile(state_dir)
  if (!existsSync(file)) return undefined
  const parsed: unknown = JSON.parse(readFileSync(file, 'utf8'))
  return Value.Parse(Identity, parsed)
}

export interface EnrolOptions extends ControlAddress {
  token: string
  state_dir: string
  facts: NodeFacts
}

/** Exchanges the token for a certificate. The token names the CA, so an impostor's certificate is not taken. */
export async function enrol({ token, state_dir, facts, ...control }: EnrolOptions): Promise<NodeIdentity> {
  const mark = token.split('.')[1]
  if (mark === undefined || !/^[0-9a-f]{40}$/.test(mark)) throw new Error('the enrolment token is not complete')
  const { key, request: certificate_request } = await createCertificateRequest(facts.hostname ?? 'node')
  const connection = connectControl(control)
  try {
    const issued = await connection.registry().nodeEnrol({ body: { token, certificate_request, facts } })
    if (caMark(issued.authority) !== mark) {
      throw new Error('the answer does not come from the control plane that made the token')
    }
    const identity = identityOf(issued, key)
    keep(state_dir, identity)
    return identity
  } finally {
    await connection.close()
  }
}

export interface HeartbeatOptions extends ControlAddress {
  identity: NodeIdentity
  state_dir: string
  agent: { address: string | null; port: number }
  facts: () => Promise<NodeFacts>
  /** Called with a renewed certificate before it is used. */
  renewed: (identity: NodeIdentity) => void
  log: Log
}

export interface Heartbeat {
  start(): void
  stop(): Promise<void>
}

export function createHeartbeat(options: HeartbeatOptions): Heartbeat {
  const { state_dir, log } = options
  const connection = connectControl(options)
  const stopping = new AbortController()
  let identity = options.identity
  let signed_ms = 0
  let timer: NodeJS.Timeout | undefined
  let beating: Promise<void> | undefined
  let silent = false

  const sign = (method: string, path: string, body: string): Record<string, string> => {
    // Grows even when two messages fall into one millisecond or the clock steps back a little.
    signed_ms = Math.max(Date.now(), signed_ms + 1)
    return signRequest({ method, path, body }, identity.node_id, signed_ms, identity.key)
  }
  const registry = connection.registry(sign, stopping.signal)
  const renew = async (): Promise<void> => {
    const { key, request: certificate_request } = await createCertificateRequest(identity.node_id)
    const next = identityOf(await registry.nodeCertificateRenew({ body: { certificate_request } }), key)
    keep(state_dir, next)
    options.renewed(next)
    identity = next
    log.info({ node_id: next.node_id }, 'certificate renewed')
  }
  const beat = async (): Promise<number> => {
    try {
      const body = { facts: await options.facts(), agent: options.agent }
      const answer = await registry.nodeHeartbeat({ body })
      if (silent) log.info({}, 'the control plane accepts heartbeats again')
      silent = false
      if (answer.renew) await renew()
      return answer.interval_ms
    } catch (err) {
      // Once for each outage: the next hundred lines would say the same.
      if (!silent && !stopping.signal.aborted) log.warn({ err, ...reasonOf(err) }, 'no heartbeat was accepted')
      silent = true
      return RETRY_MS
    }
  }
  const again = (): void => {
    beating = beat().then((pause_ms) => {
      if (!stopping.signal.aborted) timer = setTimeout(again, pause_ms).unref()
    })
  }
  return {
    start: again,
    async stop() {
      stopping.abort(new Error('the agent stops'))
      clearTimeout(timer)
      await beating
      await connection.close()
    },
  }
}

function identityOf(issued: IssuedNode, key: string): NodeIdentity {
  const { node_id, bmc_ip, certificate, authority, control_name } = issued
  return { node_id, bmc_ip, key, certificate, authority, control_name }
}

function keep(state_dir: string, identity: NodeIdentity): void {
  mkdirSync(state_dir, { recursive: true, mode: 0o700 })
  writePrivateFile(identityFile(state_dir), `${JSON.stringify(identity)}\n`)
}

function identityFile(state_dir: string): string {
  return join(state_dir, 'identity.json')
}

function reasonOf(error: unknown): { code?: string } {
  return error instanceof ClientError ? { code: error.code } : {}
}
