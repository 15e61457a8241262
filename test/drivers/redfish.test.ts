// The driver against what real services sent (test/fixtures/redfish), and against faults that no emulator has.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { after, before, test } from 'node:test'
import { selfSigned } from '../../lab/redfish/certificate.ts'
import { type RedfishLab, type SimulatedBmc, startRedfish } from '../../lab/redfish/server.ts'
import { checkBiosChange, readBios, submitBios } from '#src/drivers/redfish/bios.ts'
import type { Bmc } from '#src/drivers/redfish/bmc.ts'
import { createRedfish, type Redfish } from '#src/drivers/redfish/connections.ts'
import { linkAt, localPath, numberAt, textAt } from '#src/drivers/redfish/document.ts'
import { readInventory } from '#src/drivers/redfish/inventory.ts'
import { readMediaSlots, setBootOnce } from '#src/drivers/redfish/media.ts'
import { allowedNetworks } from '#src/drivers/allowed-networks.ts'
import { isReached, readPower, readResetTypes, sendReset } from '#src/drivers/redfish/power.ts'
import { messagesOf, RedfishError } from '#src/drivers/redfish/redfish-error.ts'
import { readTask } from '#src/drivers/redfish/tasks.ts'
import { createLog } from '#src/kernel/log.ts'
import { FAST } from '../support/bmc-site.ts'

const log = createLog({ level: 'silent' })
let redfish: Redfish
let lab: RedfishLab
let one: SimulatedBmc
before(async () => {
  redfish = createRedfish({ allowed_networks: ['127.0.80.0/24'], timeout_ms: 3000, retry_ms: 10, log })
  lab = await startRedfish({
    bmcs: [
      { name: 'weak', profile: 'idrac9-5', host: '127.0.80.1' },
      { name: 'strong', profile: 'generic-2023', host: '127.0.80.2' },
    ],
    speed: FAST,
  })
  const { weak } = lab.bmcs
  assert.ok(weak !== undefined)
  one = weak
})
after(async () => {
  await redfish.close()
  await lab.close()
})

function open({ host, port, username, password }: SimulatedBmc): Bmc {
  return redfish.open({
    bmc_ip: host,
    port,
    system_id: null,
    credentials: { username, password },
    tls: { mode: 'insecure' },
  })
}

function closeAll(server: ReturnType<typeof createServer>): Promise<unknown> {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(resolve))
}

interface Recorded {
  peer: string
  name: string
  method: string
  path: string
  status: number
  headers: Record<string, string>
  body: unknown
}

/** Answers of one service, as they were recorded. */
async function replay(peer: string, host: string): Promise<{ bmc: Bmc; close(): Promise<void> }> {
  const all = readFileSync(new URL('../fixtures/redfish/exchanges.ndjson', import.meta.url), 'utf8')
    .trim()
    .split('\n')
  const mine = all.map((line) => JSON.parse(line) as Recorded).filter((exchange) => exchange.peer === peer)
  const server = createServer(await selfSigned(peer), (request, response) => {
    const path = (request.url ?? '').replace(/\/$/, '')
    const found = mine.find(
      (exchange) => exchange.method === request.method && exchange.path.replace(/\/$/, '') === path,
    )
    const { status = 404, headers = {}, body = '' } = found ?? {}
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    response.writeHead(status, headers).end(text)
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  const credentials = { username: 'admin', password: 'example-pass' }
  const bmc = redfish.open({
    bmc_ip: host,
    port: address.port,
    system_id: null,
    credentials,
    tls: { mode: 'insecure' },
  })
  return {
    bmc,
    close: async () => void (await closeAll(server)),
  }
}

test('the recorded rack server: inventory complete, sessions answered with 204, virtual NICs told from real ones', async () => {
  const { bmc, close } = await replay('mockup', '127.0.80.10')
  const inventory = await readInventory(bmc)
  assert.deepEqual(
    inventory.branches.filter(({ status }) => status === 'unavailable'),
    [],
  )
  assert.deepEqual([inventory.cpu.length, inventory.memory.dimms.length, inventory.firmware.length], [1, 3, 3])
  assert.equal(inventory.memory.total_gib, 96)
  assert.ok(inventory.drives.length > 0)
  assert.equal(inventory.nics.find(({ id }) => id === 'VLAN1')?.virtual, true)
  assert.match(inventory.nics[0]?.mac ?? '', /^([0-9a-f]{2}:){5}[0-9a-f]{2}$/)
  assert.equal(bmc.client.login(), 'session')
  assert.equal(
    (await readMediaSlots(bmc)).every(({ insert }) => insert === null),
    true,
    'media without actions',
  )
  const bios = await readBios(bmc, { with_registry: true })
  assert.equal(bios.registry, null)
  assert.ok(Object.keys(bios.pending).includes('ProcTurboMode'))
  await close()
})

test('the recorded emulator with a BIOS: a registry under another name, full copies are nothing pending, Basic without sessions', async () => {
  const { bmc, close } = await replay('libvirt', '127.0.80.11')
  const bios = await readBios(bmc, { with_registry: true })
  assert.ok((bios.registry?.attributes.size ?? 0) > 0)
  assert.deepEqual(bios.pending, {})
  const [name = ''] = Object.keys(bios.current)
  assert.throws(() => checkBiosChange(bios, { [`${name}X`]: 1 }), /no BIOS setting/)
  assert.equal(bmc.client.login(), 'basic')
  const slots = await readMediaSlots(bmc)
  assert.ok(slots.some(({ types, insert }) => types.includes('CD') && insert !== null))
  const processors = (await readInventory(bmc)).cpu
  assert.ok(
    processors.every(({ cores }) => cores === null || typeof cores === 'number'),
    'numbers that came as text',
  )
  assert.equal((await readTask(bmc, '/redfish/v1/TaskService/Tasks/42')).state, 'succeeded')
  await close()
})

test('errors in every recorded form: extended, bare text, HTML, empty', () => {
  const extended = { error: { code: 'x', message: 'useless', '@Message.ExtendedInfo': [
    { MessageId: 'Base.1.0.Ok', Message: 'fine', Severity: 'OK' }, { MessageId: 'IDRAC.2.8.RAC0904', Message: 'No\nimage', Severity: 'Critical' },
  ] } } // biome-ignore format: a record
  assert.deepEqual(
    messagesOf(extended).map(({ id, text }) => [id, text]),
    [
      ['RAC0904', 'No image'],
      ['Ok', 'fine'],
    ],
  )
  assert.equal(messagesOf('Malformed request')[0]?.text, 'Malformed request')
  assert.deepEqual(messagesOf(''), [])
  assert.deepEqual(messagesOf(undefined), [])
  assert.ok((messagesOf(`<html>${'x'.repeat(9000)}`)[0]?.text.length ?? 0) <= 500)
})

test('only configured networks are contacted, and special addresses only where they are named', () => {
  const wide = allowedNetworks(['0.0.0.0/0', '::/0'])
  for (const address of [
    '127.0.0.1',
    '169.254.169.254',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
    '::1',
    'fe80::1',
    '::ffff:127.0.0.1',
    '::ffff:169.254.169.254',
    'fd00:ec2::254',
    '64:ff9b::7f00:1',
  ]) {
    assert.equal(wide.has(address), false, address)
  }
  for (const address of ['10.1.0.21', '2001:db8::21', '::ffff:10.1.0.21'])
    assert.equal(wide.has(address), true, address)
  assert.equal(allowedNetworks(['127.0.80.0/24']).has('127.0.80.9'), true)
  assert.equal(allowedNetworks(['127.0.80.0/24']).has('127.0.81.9'), false)
  assert.equal(allowedNetworks(['10.0.0.0/8']).has('bmc.example'), false)
  assert.throws(() => allowedNetworks(['everywhere']), /no network/)
})

test('documents that lie about types and hosts are read without harm', () => {
  assert.equal(numberAt({ TotalCores: '16' }, 'TotalCores'), 16)
  assert.equal(textAt({ PowerState: { On: 1 } }, 'PowerState'), null)
  assert.equal(linkAt({ Bios: { '@odata.id': 'https://192.0.2.1/redfish/v1' } }, 'Bios'), null)
  assert.equal(localPath('//192.0.2.1/x'), null)
})

const FAULTS = ['drop', 'garbage', 'cut', 'huge', 'wrong-type', 'redirect', 'silent'] as const

for (const kind of FAULTS) {
  test(`a read that meets ${kind} ends with an error of ours in bounded time, or with what is unknown`, async () => {
    const bmc = open(one)
    await readPower(bmc)
    one.faults.add({ kind, match: 'GET .*Systems/', times: 3 })
    const started = performance.now()
    const outcome = await readPower(bmc).catch((error: unknown) => error)
    assert.ok(performance.now() - started < 20_000)
    if (kind === 'wrong-type')
      assert.deepEqual(outcome, { power_state: null, power_on: null, last_reset_at: null, boot_progress: null })
    else assert.ok(outcome instanceof RedfishError, String(outcome))
    one.faults.clear()
    assert.equal((await readPower(bmc)).power_on, true)
  })
}

test('a read is repeated after a failure of the BMC, a write whose answer was lost is not', async () => {
  const bmc = open(one)
  one.faults.add({ kind: 'status', match: 'GET .*Systems/', status: 503 })
  assert.equal((await readPower(bmc)).power_on, true)
  lab.calls.clear()
  one.faults.add({ kind: 'lose-answer', match: 'POST .*Reset', times: 1 })
  await assert.rejects(sendReset(bmc, 'ForceRestart'), RedfishError)
  assert.equal(lab.calls.list().filter(({ command }) => /POST .*Reset/.test(command)).length, 1)
})

test('a busy BMC is asked again, a refused value is not', async () => {
  const bmc = open(one)
  one.faults.add({ kind: 'status', match: 'POST .*Reset', status: 503, message_id: 'IDRAC.2.8.SYS518', times: 2 })
  await sendReset(bmc, 'Nmi')
  one.faults.add({
    kind: 'status',
    match: 'POST .*Reset',
    status: 400,
    message_id: 'Base.1.12.ActionParameterNotSupported',
  })
  await assert.rejects(sendReset(bmc, 'Nmi'), (error) => error instanceof RedfishError && error.problem === 'rejected')
})

test('reads one after the other share one connection; those at the same time take a second, and never a third', async (t) => {
  let connections = 0
  const server = createServer(await selfSigned('busy'), (_request, response) => response.end('{}'))
  server.on('secureConnection', () => (connections += 1))
  server.keepAliveTimeout = 0
  t.after(() => closeAll(server))
  await new Promise<void>((resolve) => server.listen(0, '127.0.80.13', resolve))
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  const credentials = { username: 'admin', password: 'example-pass' }
  const bmc = redfish.open({ bmc_ip: '127.0.80.13', port: address.port, system_id: null, credentials, tls: { mode: 'insecure' } }) // biome-ignore format: one call
  for (let nth = 0; nth < 5; nth += 1) await bmc.client.get(`/redfish/v1/Systems/${nth}`)
  assert.equal(connections, 1)
  await Promise.all(Array.from({ length: 8 }, (_, nth) => bmc.client.get(`/redfish/v1/Systems/${nth}`)))
  assert.equal(connections, 2)
})

test('a session that a BMC is just making when its connection is dropped is ended there', async (t) => {
  const [asked, answer, ended] = [0, 1, 2].map(() => Promise.withResolvers<void>())
  assert.ok(asked !== undefined && answer !== undefined && ended !== undefined)
  const server = createServer(await selfSigned('slow'), (request, response) => {
    if (request.method === 'POST') {
      asked.resolve()
      const headers = { location: '/redfish/v1/Sessions/7', 'x-auth-token': 'token-7' }
      void answer.promise.then(() => response.writeHead(201, headers).end('{}'))
    } else if (request.method === 'DELETE') {
      if (request.url === '/redfish/v1/Sessions/7' && request.headers['x-auth-token'] === 'token-7') ended.resolve()
      response.writeHead(204).end()
    } else response.end(JSON.stringify({ Links: { Sessions: { '@odata.id': '/redfish/v1/Sessions' } } }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.80.12', resolve))
  t.after(() => closeAll(server))
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  const credentials = { username: 'admin', password: 'example-pass' }
  const bmc = redfish.open({ bmc_ip: '127.0.80.12', port: address.port, system_id: null, credentials, tls: { mode: 'insecure' } }) // biome-ignore format: one call
  const reading = bmc.client.get('/redfish/v1/Systems/1').catch(() => {})
  await asked.promise
  redfish.drop('127.0.80.12')
  answer.resolve()
  await ended.promise
  await reading
  await assert.rejects(bmc.client.get('/redfish/v1/Systems/1'), RedfishError)
})

test('a change names the ETag of what was read: weak ones are sent in their strong form, a lost race is no overwriting', async () => {
  const bmc = open(one)
  await setBootOnce(bmc)
  assert.equal(one.state.boot.target, 'Cd')
  const { strong } = lab.bmcs
  assert.ok(strong !== undefined)
  const other = open(strong)
  await setBootOnce(other)
  const matches = lab.calls.list().filter(({ command }) => command.startsWith('strong PATCH'))
  assert.ok(matches.every(({ params }) => (params.if_match ?? '') !== ''))
  // Between the reading and the writing somebody sets the same value to something else.
  strong.faults.add({ kind: 'status', match: 'PATCH .*Systems', status: 412, times: 1 })
  await setBootOnce(other)
  assert.equal(strong.state.boot.enabled, 'Once')
})

test('a BIOS change is one request, with the apply time that makes the job', async () => {
  const { strong } = lab.bmcs
  assert.ok(strong !== undefined)
  const bmc = open(strong)
  lab.calls.clear()
  const made = await submitBios(bmc, await readBios(bmc), { BootMode: 'Legacy' })
  assert.ok(made.remote_id !== null)
  assert.equal(lab.calls.list().filter(({ command }) => /PATCH/.test(command)).length, 1)
  assert.equal(strong.state.jobs.length, 1)
})

test('what a restart looks like: seen off, a new time of the last reset, or nobody can tell', () => {
  const before_reset = { power_on: true, last_reset_at: 'a', boot_progress: null }
  const now = { power_state: 'On', power_on: true, last_reset_at: 'a', boot_progress: null }
  assert.equal(isReached('restarted', before_reset, now), 'unknown')
  assert.equal(isReached('restarted', { ...before_reset, seen_off: true }, now), true)
  assert.equal(isReached('restarted', before_reset, { ...now, last_reset_at: 'b' }), true)
  assert.equal(isReached('off', before_reset, now), false)
})

test('reset types come from the resource or from its ActionInfo', async () => {
  const { strong } = lab.bmcs
  assert.ok(strong !== undefined)
  assert.deepEqual((await readResetTypes(open(strong))).types, [
    'On',
    'ForceOff',
    'GracefulShutdown',
    'GracefulRestart',
    'ForceRestart',
  ])
})
