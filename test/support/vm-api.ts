// What tests of machine operations share: requests that wait while the platform moves, rejections, records behind our back.
import assert from 'node:assert/strict'
import { afterEach, beforeEach } from 'node:test'
import type { Reply } from './http.ts'
import { assertNoUnknownParameters, callsOf, control, type EndedJob, ended, NOBODY } from './platform-calls.ts'
import type { Lab } from './start-lab.ts'

export { NOBODY }

export interface VmApi {
  post(path: string, body?: unknown, token?: string): Promise<Reply>
  /** Sends with `Prefer: wait` while the platform moves. */
  done(method: string, path: string, body: unknown, token?: string): Promise<Reply>
  /** 400 and this code; the sentence matches. */
  refused(reply: Reply, code: string, sentence?: RegExp): void
  /** A dry run says this, and cuts these off. */
  planned(method: string, path: string, body: unknown, sentence: RegExp, affected?: string[]): Promise<void>
  control(path: string, body: Record<string, unknown>): Promise<void>
  /** Changes a record behind the service's back. */
  put(kind: string, id: string, set: Record<string, unknown>): Promise<void>
  calls(command: string): Promise<Record<string, string>[]>
  /** The job of an accepted operation when it has ended. */
  ended(reply: Reply): Promise<EndedJob>
  tokenOf(tenant_id: string, role?: string): Promise<string>
}

/** Registers the reset before, and the check for parameters that the platform would ignore after every test. */
export function vmApi(lab: () => Lab): VmApi {
  beforeEach(() => lab().platform.reset())
  afterEach(() => assertNoUnknownParameters(lab()))
  return {
    post: (path, body, token) => lab().call('POST', path, body, token === undefined ? {} : { token }),
    async done(method, path, body, token) {
      const options = { headers: { prefer: 'wait=60' }, ...(token === undefined ? {} : { token }) }
      const timer = setInterval(() => lab().platform.step(), 40)
      return lab()
        .call(method, path, body, options)
        .finally(() => clearInterval(timer))
    },
    refused(reply, code, sentence) {
      assert.deepEqual([reply.status, reply.body.code], [400, code], reply.text)
      if (sentence !== undefined) assert.match(reply.text, sentence)
    },
    async planned(method, path, body, sentence, affected = []) {
      const plan = await lab().call(method, `${path}?dry_run=true`, body)
      assert.deepEqual([plan.status, plan.body.dry_run], [200, true], plan.text)
      assert.match(plan.body.message, sentence)
      const names = plan.body.affected.map(({ kind, name }: { kind: string; name: string }) => `${kind} ${name}`)
      assert.deepEqual(names, affected)
    },
    control: (path, body) => control(lab(), path, body),
    put: (kind, id, set) => control(lab(), 'mutate', { kind, id, set }),
    calls: (command) => callsOf(lab(), command),
    ended(reply) {
      assert.equal(reply.status, 200, reply.text)
      return ended(lab(), reply.body.job_id)
    },
    async tokenOf(tenant_id, role = 'operator') {
      const { body, status, text } = await lab().call('POST', '/auth/tokens', {
        name: `t-${tenant_id}-${role}`,
        role,
        tenant_id,
      })
      assert.ok(status < 300, text)
      return body.token
    },
  }
}
