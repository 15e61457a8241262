// An agent's enrolment and heartbeats against a control plane made for the test: renewal, outages.
import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import {
  caMark,
  CONTROL_NAME,
  createCa,
  issueNodeCertificate,
  type KeyedCertificate,
} from '#src/kernel/certificates.ts'
import { createLog } from '#src/kernel/log.ts'
import { isSignedBy, readClaim } from '#src/kernel/node-signature.ts'
import { createHeartbeat, enrol, type NodeIdentity, readIdentity } from '#src/node/enrolment.ts'
import { FACTS } from '../support/fake-agent.ts'
import { until } from '../support/until.ts'
import { tempFolder } from '../support/temp-folder.ts'

suite('enrolment and heartbeats of an agent', () => {
  const folder = tempFolder('gp-enrolment-')
  const lines: string[] = []
  const log = createLog({ level: 'info', destination: { write: (line: string) => lines.push(line) } })
  let ca: KeyedCertificate
  let control_url: string
  /** What the control plane of the test does and saw. */
  const control = { renew: false, down: false, beats: [] as string[], certificate: '', refused: 0 }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => void answer(request.url ?? '', Buffer.concat(chunks)))
    const answer = async (path: string, body: Buffer): Promise<void> => {
      if (control.down) return void response.destroy()
      const sent = JSON.parse(body.toString()) as { certificate_request: string }
      if (path !== '/configure/nodes/enrol') {
        const claim = readClaim(request.headers)
        if (claim === undefined || !isSignedBy(control.certificate, { method: 'POST', path, body }, claim)) {
          control.refused += 1
          return void response.writeHead(401).end('{"code":"NODE_CREDENTIAL_REJECTED"}')
        }
      }
      if (path === '/configure/nodes/heartbeat') {
        control.beats.push(control.certificate)
        return void response.end(JSON.stringify({ interval_ms: 20, renew: control.renew }))
      }
      control.renew = false
      const issued = await issueNodeCertificate(ca, sent.certificate_request, 'n-1')
      control.certificate = issued.certificate
      response.end(
        JSON.stringify({
          node_id: '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d11', bmc_ip: '10.1.0.1', certificate: issued.certificate,
          authority: ca.certificate, control_name: CONTROL_NAME, expires_at: issued.expires_at.toISOString(),
        }),
      ) // biome-ignore format: one answer
    }
  })
  before(async () => {
    ca = await createCa()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    if (address === null || typeof address === 'string') throw new Error('no port')
    control_url = `http://127.0.0.1:${address.port}`
  })
  after(async () => {
    await new Promise((resolve) => server.close(resolve))
  })

  test('an answer from another CA than the token names is not taken', async () => {
    const token = `gpe_x.${caMark((await createCa()).certificate)}`
    const state_dir = join(folder, 'impostor')
    await assert.rejects(enrol({ token, state_dir, control_url, facts: FACTS }), /does not come from the control plane/)
    assert.equal(readIdentity(state_dir), undefined)
  })

  test('the identity is kept whole, for its owner alone', async () => {
    const token = `gpe_x.${caMark(ca.certificate)}`
    const identity = await enrol({ token, state_dir: join(folder, 'a'), control_url, facts: FACTS })
    assert.deepEqual(readIdentity(join(folder, 'a')), identity)
    assert.equal(statSync(join(folder, 'a', 'identity.json')).mode & 0o777, 0o600)
  })

  test('at half life the certificate is renewed with a new key, kept, and used from then on', async () => {
    const identity = readIdentity(join(folder, 'a'))
    assert.ok(identity !== undefined)
    const renewed: NodeIdentity[] = []
    const heartbeat = createHeartbeat({
      control_url, identity, state_dir: join(folder, 'a'), agent: { address: null, port: 1 },
      facts: () => Promise.resolve(FACTS), renewed: (next) => renewed.push(next), log,
    }) // biome-ignore format: one member
    heartbeat.start()
    try {
      await until('it sends heartbeats', () => control.beats.length > 1)
      control.renew = true
      await until(
        'it signs with the new key',
        () => control.beats.at(-1) !== identity.certificate && control.beats.length,
      )
      const [next] = renewed
      assert.equal(renewed.length, 1)
      assert.notEqual(next?.key, identity.key)
      assert.deepEqual(readIdentity(join(folder, 'a')), next)
      assert.equal(control.refused, 0)
      control.down = true
      const before_outage = control.beats.length
      await until('the outage is logged', () => lines.some((line) => line.includes('no heartbeat')))
      control.down = false
      await until('it comes back', () => control.beats.length > before_outage + 1)
      assert.equal(lines.filter((line) => line.includes('no heartbeat')).length, 1)
      assert.equal(
        lines.some((line) => line.includes('PRIVATE')),
        false,
      )
    } finally {
      await heartbeat.stop()
    }
  })
})
