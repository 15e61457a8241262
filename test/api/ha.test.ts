// Failover over HTTP: what daemons report, what peers exchange, and who is turned away.
import assert from 'node:assert/strict'
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { CLUSTER_SECRET, FIRST, type HaSite, SECOND, startHaSite, VIP } from '../support/ha-site.ts'
import { enrolNode, registerNode, sendHeartbeat, serveAs } from '../support/fake-agent.ts'
import { answerOf, simulatedNode } from '../support/setup-node.ts'
import { openStream } from '../support/sse-client.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import { until } from '../support/until.ts'

const INGEST = '/internal/ha/events/ingest'
const UPDATE = '/internal/haconfig/update'
const PUBKEY = '/internal/ssh/filesync-pubkey'
const RECONCILE = '/internal/scripts/reconcile'

interface Event {
  event_id: string
  action: string
  status: string
  message: string
  occurred_at: string
}

suite('failover', () => {
  let site: HaSite
  let lab: Lab
  before(async () => {
    site = await startHaSite()
    lab = site.lab
    for (const { bmc_ip, ...fields } of [FIRST, SECOND]) {
      assert.equal((await registerNode(lab, bmc_ip, { role: 'management' })).status, 201)
      const set = await lab.call('PUT', `/ha/members/${bmc_ip}`, fields)
      assert.deepEqual([set.status, set.body.address], [200, fields.address], set.text)
    }
  })
  after(() => site?.close())

  const local = { token: CLUSTER_SECRET }
  const event = (action: string, more: object = {}) => ({ action, resource_uuid: FIRST.address, ...more })
  const ingest = (body: object, headers: Record<string, string> = {}) =>
    lab.call('POST', INGEST, body, { ...local, headers })
  const events = async (action: string): Promise<Event[]> =>
    (await lab.call('GET', `/ha/events?action=${action}`)).body.events
  const appEvent = async (id: string) => (await lab.call('GET', `/events/app-events/${id}`)).body.app_event
  const authorizedKeys = (): string => join(lab.data_dir, 'ha/authorized_keys')

  test('an event of this machine becomes an application event, and the channel ha carries the word that was sent', async () => {
    const stream = await openStream(`${lab.url}/events/sse?channels=ha`, lab.token)
    await until('the stream is open', () => stream.last_id !== undefined)
    const body = event('HA_STOPPED', { level: 'WARN', status: 'COMPLETED', message: 'VI is STOP' })
    const taken = await ingest(body)
    assert.deepEqual([taken.status, taken.body.duplicate], [200, false], taken.text)
    const { event_id } = taken.body
    const row = await appEvent(event_id)
    assert.deepEqual(
      [row.action, row.status, row.level, row.resource_type, row.resource_uuid, row.description],
      ['HA_STOPPED', 'SUCCESS', 'WARN', 'HA', FIRST.address, 'VI is STOP'],
    )
    const sent = await until('it is on the stream', () =>
      stream.messages.find(({ data }) => data.event_id === event_id),
    )
    assert.equal(sent.event, 'ha')
    const { at, ...data } = sent.data
    assert.ok(!Number.isNaN(Date.parse(at)))
    assert.deepEqual(data, { event_id, ...body })
    stream.close()
    await stream.ended
    const failed = await ingest(event('HA_FAULT', { status: 'FAILED', message: 'a check failed' }))
    const failure = await appEvent(failed.body.event_id)
    assert.deepEqual([failure.status, failure.level, failure.error_message], ['FAILED', 'ERROR', 'a check failed'])
  })

  test('what is no event is refused with 400', async () => {
    const wrong: object[] = [
      {}, { action: 'X' }, { resource_uuid: FIRST.address }, event(''), event('A'.repeat(65)), event('VIP ACQUIRED'), event('A\n'),
      event('A', { level: 'DEBUG' }), event('A', { status: 'SUCCESS' }), event('A', { message: 'm'.repeat(1001) }),
      event('A', { resource_uuid: 'mgmt-01' }), event('A', { resource_uuid: '10.0.0' }), event('A', { resource_uuid: '127.0.0.1' }),
      event('A', { counter: -1 }), event('A', { counter: 1.5 }), event('A', { occurred_at: 'yesterday' }), event('A', { more: 1 }),
    ] // biome-ignore format: one a case
    for (const body of wrong) {
      const { status, body: problem } = await ingest(body)
      assert.deepEqual([status, problem.code], [400, 'INVALID_REQUEST'], JSON.stringify(body))
    }
    const longest = await ingest(event('A'.repeat(64), { message: 'm'.repeat(1000) }))
    assert.equal(longest.status, 200, longest.text)
  })

  test('a node reports about itself alone, and neither people nor callers from outside report at all', async () => {
    const other = await ingest(event('HA_PROMOTED', { resource_uuid: '10.77.0.1' }))
    assert.deepEqual([other.status, other.body.code], [403, 'FORBIDDEN'], other.text)
    const admin = await lab.call('POST', INGEST, event('HA_PROMOTED'))
    assert.deepEqual([admin.status, admin.body.code], [403, 'FORBIDDEN'])
    assert.equal((await lab.call('POST', INGEST, event('HA_PROMOTED'), { token: null })).status, 401)
    const outside = [
      ['x-forwarded-for', '203.0.113.9'], ['x-forwarded-for', '127.0.0.1, 203.0.113.9'], ['x-real-ip', '203.0.113.9'],
      ['forwarded', 'for=203.0.113.9;proto=https'], ['forwarded', 'proto=https, for="[2001:db8::1]:4711"'], ['x-forwarded-for', 'unknown'],
    ] as const // biome-ignore format: one a case
    for (const [name, value] of outside) {
      const headers = { [name]: value }
      const replies = await Promise.all([
        ingest(event('HA_PROMOTED'), headers),
        lab.call('POST', UPDATE, undefined, { ...local, headers }),
        lab.call('POST', RECONCILE, undefined, { headers }),
        lab.call('GET', '/internal/scripts/notify.sh', undefined, { ...local, headers }),
        lab.call('GET', PUBKEY, undefined, { token: null, headers }),
      ])
      assert.deepEqual(
        replies.map(({ status, body }) => `${status} ${body.code}`),
        Array(5).fill('403 FORBIDDEN'),
        value,
      )
    }
    for (const value of ['127.0.0.1', '::1', '[::1]:80']) {
      assert.equal(
        (await lab.call('GET', PUBKEY, undefined, { token: null, headers: { 'x-forwarded-for': value } })).status,
        200,
      )
    }
    assert.deepEqual(await events('HA_PROMOTED'), [])
  })

  test('the same event is taken once: by its counter, or without one within five seconds', async () => {
    // At the same moment: a busy machine may take more than five seconds from one to the next.
    const two = await Promise.all(['once', 'once more'].map((message) => ingest(event('VIP_ACQUIRED', { message }))))
    assert.equal(new Set(two.map(({ body }) => body.event_id)).size, 1)
    assert.equal(two.filter(({ body }) => body.duplicate).length, 1)
    const failed = await ingest(event('VIP_ACQUIRED', { status: 'FAILED' }))
    assert.equal(failed.body.duplicate, false)
    const counted = await Promise.all([7, 7, 7].map((counter) => ingest(event('VIP_RELEASED', { counter }))))
    assert.equal(new Set(counted.map(({ body }) => body.event_id)).size, 1)
    assert.equal(counted.filter(({ body }) => body.duplicate === true).length, 2)
    assert.equal(
      (await ingest(event('VIP_RELEASED', { counter: 8 }))).body.duplicate,
      false,
      'flapping is no repetition',
    )
  })

  test('events that overtook each other stand in the order of their counter, and the state of a member is the last one', async () => {
    const [base, now] = [1_000_000, Date.now()]
    const at = (counter: number) => new Date(now - 60_000 + counter).toISOString()
    for (const [action, counter] of [
      ['HA_DEMOTED', 1],
      ['HA_PROMOTED', 3],
      ['HA_FAULT', 2],
    ] as const) {
      const sent = await ingest(event(action, { counter: base + counter, message: 'order', occurred_at: at(counter) }))
      assert.equal(sent.status, 200, sent.text)
    }
    const { body } = await lab.call('GET', `/ha/events?resource_uuid=${FIRST.address}&limit=500`)
    const listed: Event[] = body.events
    const ordered = listed.filter(({ message }) => message === 'order').map(({ action }) => action)
    assert.deepEqual(ordered, ['HA_PROMOTED', 'HA_FAULT', 'HA_DEMOTED'])
    const { members } = (await lab.call('GET', '/ha/members')).body
    assert.deepEqual(
      members.map((one: { address: string; state: string }) => [one.address, one.state]),
      [
        [FIRST.address, 'HA_PROMOTED'],
        [SECOND.address, null],
      ],
    )
    assert.equal((await lab.call('GET', '/ha/events?limit=0')).status, 400)
  })

  test('a beginning and its end are one application event, whichever arrives first', async () => {
    const promotion = (status: string, counter: number) => ingest(event('DB_PROMOTION', { status, counter }))
    const begun = await promotion('IN_PROGRESS', 2_000_001)
    assert.equal((await appEvent(begun.body.event_id)).status, 'IN_PROGRESS')
    const done = await promotion('COMPLETED', 2_000_002)
    assert.equal(done.body.event_id, begun.body.event_id)
    assert.equal((await appEvent(begun.body.event_id)).status, 'SUCCESS')
    const [end, beginning] = [await promotion('FAILED', 2_000_012), await promotion('IN_PROGRESS', 2_000_011)]
    assert.equal(beginning.body.event_id, end.body.event_id)
    assert.equal((await appEvent(end.body.event_id)).status, 'FAILED')
  })

  test('what waited in the spool is taken in order with the time when it happened, and what cannot be read is set aside', async () => {
    const spool = join(lab.data_dir, 'ha/spool')
    await until('the replica says how it is called', () => existsSync(join(lab.data_dir, 'ha/callback.curl')))
    const callback = join(lab.data_dir, 'ha/callback.curl')
    assert.equal(statSync(callback).mode & 0o777, 0o600)
    assert.match(
      readFileSync(callback, 'utf8'),
      new RegExp(`^url = "${lab.url}${INGEST}"\nheader = "Authorization: Bearer `),
    )
    const occurred_at = '2026-01-02T03:04:05.678Z'
    const put = (counter: number, text: string): void => {
      writeFileSync(join(spool, `.new.${counter}`), text)
      renameSync(join(spool, `.new.${counter}`), join(spool, `${counter}.json`))
    }
    const spooled = (counter: number, message: string) => event('SPOOLED', { counter, message, occurred_at })
    assert.equal((await ingest(spooled(3_000_002, 'sent and still in the spool'))).body.duplicate, false)
    put(3_000_010, JSON.stringify(spooled(3_000_010, 'third')))
    put(3_000_002, JSON.stringify(spooled(3_000_002, 'sent and still in the spool')))
    put(3_000_001, JSON.stringify(spooled(3_000_001, 'first')))
    put(3_000_003, '{"action":')
    put(3_000_004, JSON.stringify({ ...spooled(3_000_004, 'x'), resource_uuid: 'nobody' }))
    await until('the spool is empty', () => readdirSync(spool).every((name) => !name.endsWith('.json')))
    const listed = await events('SPOOLED')
    assert.deepEqual(
      listed.map(({ message }) => message),
      ['third', 'sent and still in the spool', 'first'],
    )
    assert.ok(listed.every((one) => one.occurred_at === occurred_at))
    assert.equal((await appEvent(listed[0]?.event_id ?? '')).created_at, occurred_at)
    const rejected = readdirSync(spool).filter((name) => name.endsWith('.rejected'))
    assert.deepEqual(rejected.sort(), ['3000003.json.rejected', '3000004.json.rejected'])
  })

  test('a peer is known by its certificate: it fetches what peers fetch, and others are turned away', async () => {
    const peer = await site.callAs(SECOND.address)
    await until('peers are served', () => lab.logs().includes('peers are served'))
    const answer = (await peer.call(FIRST.address, 'GET', PUBKEY)) as { node: string }
    assert.equal(answer.node, FIRST.address)
    await assert.rejects(peer.call(FIRST.address, 'GET', '/events/types'), /404/, 'nothing else is served there')
    // Whoever stands at the address must be who is meant.
    const stop = await site.servePeer('127.0.0.4', { node: '127.0.0.4' })
    assert.deepEqual(await peer.call('127.0.0.4', 'GET', PUBKEY), { node: '127.0.0.4' })
    await stop()
    const another = await site.servePeer('127.0.0.4', { node: '127.0.0.4' }, SECOND.address)
    await assert.rejects(peer.call('127.0.0.4', 'GET', PUBKEY), /shows the certificate of 127\.0\.0\.3/)
    await another()
  })

  test('an event of a peer is taken about that peer alone, and of members alone', async () => {
    const send = async (caller: string, address: string) => {
      const peer = await site.callAs(caller)
      return peer.call(FIRST.address, 'POST', INGEST, event('PEER_EVENT', { resource_uuid: address }))
    }
    const taken = (await send(SECOND.address, SECOND.address)) as { event_id: string }
    assert.equal((await appEvent(taken.event_id)).resource_uuid, SECOND.address)
    await assert.rejects(send(SECOND.address, FIRST.address), /403/)
    await assert.rejects(send('127.0.0.9', '127.0.0.9'), /403/)
  })

  test('keys of peers are fetched from each, written as one block with all restrictions, and lines of others stay', async () => {
    const own_line = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOther admin@desk'
    await until('the keys were exchanged', () => existsSync(authorizedKeys()))
    writeFileSync(authorizedKeys(), `${own_line}\n${readFileSync(authorizedKeys(), 'utf8')}# the end\n`)
    rmSync(join(site.second_config.data_dir, 'ha/filesync_ed25519.pub'), { force: true })
    const update = () => lab.call('POST', UPDATE, undefined, local)
    const updated = await update()
    assert.equal(updated.status, 200, updated.text)
    assert.deepEqual([updated.body.peers, updated.body.removed, updated.body.unreachable], [1, [], []])
    const { public_key } = (await (await site.callAs(FIRST.address)).call(SECOND.address, 'GET', PUBKEY)) as {
      public_key: string
    }
    const [, key = ''] = public_key.split(' ')
    assert.equal(
      readFileSync(authorizedKeys(), 'utf8'),
      [
        own_line,
        '# BEGIN groundplane: lines up to END are rewritten',
        `restrict,from="${SECOND.address}",command="/usr/bin/rrsync -wo /var/lib/groundplane/dhcp-scopes" ssh-ed25519 ${key} groundplane-filesync-${SECOND.address}`,
        '# END groundplane',
        '# the end',
        '',
      ].join('\n'),
    )
    assert.equal(statSync(authorizedKeys()).mode & 0o777, 0o600)
    assert.deepEqual((await update()).body, { peers: 1, updated: [], removed: [], unreachable: [] })
    const { members } = (await lab.call('GET', '/ha/members')).body
    assert.match(members[1].filesync_fingerprint, /^SHA256:/)
  })

  test('a peer that is away, or says a key of another node, is named and asked again; one that was removed loses its line', async () => {
    const third = { bmc_ip: '10.9.0.5', address: '127.0.0.5', interface: 'lo', priority: 10 }
    const { bmc_ip, ...fields } = third
    await registerNode(lab, bmc_ip)
    assert.equal((await lab.call('PUT', `/ha/members/${bmc_ip}`, fields)).status, 200)
    const away = await lab.call('POST', UPDATE, undefined, local)
    assert.deepEqual(
      [away.status, away.body.unreachable.map((one: { address: string }) => one.address)],
      [200, [third.address]],
    )
    const { public_key, fingerprint } = (await lab.call('GET', PUBKEY)).body
    const impostor = await site.servePeer(third.address, { public_key, fingerprint, node: FIRST.address })
    const wrong = await lab.call('POST', UPDATE, undefined, local)
    assert.match(wrong.body.unreachable[0].reason, /another node, 127\.0\.0\.2/)
    await impostor()
    assert.ok(!readFileSync(authorizedKeys(), 'utf8').includes(third.address))
    const honest = await site.servePeer(third.address, { public_key, fingerprint, node: third.address })
    await until('it was asked again', () => readFileSync(authorizedKeys(), 'utf8').includes(`from="${third.address}"`))
    await honest()
    const removed = await lab.call('DELETE', `/ha/members/${bmc_ip}`)
    assert.deepEqual([removed.status, removed.body], [200, { bmc_ip }])
    await until('its line is gone', () => !readFileSync(authorizedKeys(), 'utf8').includes(third.address))
    const gone = await lab.call('DELETE', `/ha/members/${bmc_ip}`)
    assert.deepEqual([gone.status, gone.body.code], [404, 'HA_MEMBER_NOT_FOUND'])
  })

  test('a block whose end somebody deleted is not guessed at', async () => {
    const text = readFileSync(authorizedKeys(), 'utf8')
    writeFileSync(authorizedKeys(), text.replace('# END groundplane\n', ''))
    const refused = await lab.call('POST', UPDATE, undefined, local)
    assert.deepEqual([refused.status, refused.body.code], [500, 'HA_KEYS_FAILED'], refused.text)
    writeFileSync(authorizedKeys(), text)
    assert.equal((await lab.call('POST', UPDATE, {}, local)).status, 200)
  })

  test('members are registered nodes, each at an address of its own', async () => {
    const { bmc_ip, ...fields } = SECOND
    const set = (which: string, body: object) => lab.call('PUT', `/ha/members/${which}`, body)
    const codes = async (reply: ReturnType<typeof set>) => [(await reply).status, (await reply).body.code]
    assert.deepEqual(await codes(set('10.9.9.9', { ...fields, address: '127.0.0.8' })), [404, 'NODE_NOT_FOUND'])
    assert.deepEqual(await codes(set(FIRST.bmc_ip, fields)), [409, 'HA_MEMBER_EXISTS'])
    assert.deepEqual(await codes(set(bmc_ip, { ...fields, address: 'mgmt-01' })), [400, 'INVALID_REQUEST'])
    assert.deepEqual(await codes(set(bmc_ip, { ...fields, interface: 'a b' })), [400, 'INVALID_REQUEST'])
    const same = await set(bmc_ip, fields)
    assert.match(same.body.filesync_fingerprint, /^SHA256:/, 'its key is still known')
  })

  test('a script is what the release has, for nodes alone, and not sent again to who has it', async () => {
    const get = (name: string, headers = {}) =>
      lab.call('GET', `/internal/scripts/${name}`, undefined, { ...local, headers })
    for (const name of ['check-api.sh', 'notify.sh', 'remove-vips.sh']) {
      const script = await get(name)
      assert.equal(script.status, 200)
      assert.match(script.headers.get('content-type') ?? '', /^text\/plain/)
      assert.equal(script.text, readFileSync(`deploy/failover/${name}`, 'utf8'))
      assert.equal((await get(name, { 'if-none-match': script.headers.get('etag') ?? '' })).status, 304)
    }
    for (const name of ['nosuch.sh', '..%2Fnotify.sh', 'NOTIFY.SH', 'notify.sh%20']) {
      const { status, body } = await get(name)
      assert.deepEqual([status, body.code], [404, 'HA_SCRIPT_NOT_FOUND'], name)
    }
    assert.equal((await lab.call('GET', '/internal/scripts/notify.sh')).status, 403)
  })

  test('managed scripts are restored whatever became of them, and a second run finds nothing to do', async () => {
    const reconcile = (options = {}) => lab.call('POST', RECONCILE, undefined, options)
    await reconcile()
    const at = (name: string): string => join(site.scripts_dir, name)
    writeFileSync(at('notify.sh'), 'tampered')
    rmSync(at('check-api.sh'))
    symlinkSync('/bin/true', at('check-api.sh'))
    rmSync(at('remove-vips.sh'))
    mkdirSync(at('remove-vips.sh'))
    writeFileSync(at('of-somebody-else'), 'x')
    const report = await reconcile(local)
    assert.equal(report.status, 200, report.text)
    assert.deepEqual(
      report.body.restored.map((one: { name: string; reason: string }) => [one.name, one.reason]),
      [['check-api.sh', 'symlink'], ['notify.sh', 'content'], ['remove-vips.sh', 'kind']],
    ) // biome-ignore format: pairs
    assert.deepEqual(report.body.unknown, ['of-somebody-else'])
    const second = (await reconcile()).body
    assert.deepEqual([second.ok.length, second.restored, second.checked, second.reloaded], [3, [], 3, false])
    const quarantine = `${site.scripts_dir}.quarantine`
    rmSync(quarantine, { recursive: true })
    writeFileSync(quarantine, 'a file where the folder was')
    writeFileSync(at('notify.sh'), 'tampered again')
    const held = await reconcile()
    assert.deepEqual([held.status, held.body.code], [500, 'HA_SCRIPTS_FAILED'], held.text)
    assert.match(held.body.detail, /^Not all scripts could be restored\. notify\.sh: EEXIST/)
    rmSync(quarantine)
    assert.equal((await reconcile()).status, 200)
    const saved = site.scripts_dir.concat('.saved')
    renameSync(site.scripts_dir, saved)
    writeFileSync(site.scripts_dir, 'a file where the folder was')
    const failed = await reconcile()
    assert.deepEqual([failed.status, failed.body.code], [500, 'HA_SCRIPTS_FAILED'], failed.text)
    rmSync(site.scripts_dir)
    renameSync(saved, site.scripts_dir)
  })

  test('an address that two nodes hold is one event until it is held once again', async () => {
    const held = new Map([
      [FIRST.bmc_ip, [VIP]],
      [SECOND.bmc_ip, [VIP]],
    ])
    const agents = await Promise.all(
      [FIRST, SECOND].map(async ({ bmc_ip }) => {
        const who = await enrolNode(lab, bmc_ip)
        const agent = await serveAs(who, (_request, response) => {
          response.end(JSON.stringify({ held: held.get(bmc_ip), answered_by_others: [], daemon_running: true }))
        })
        assert.equal((await sendHeartbeat(lab, who, agent.port)).status, 200)
        return agent
      }),
    )
    const [begun] = await until('it is noticed', async () => {
      const found = await events('VIP_DUPLICATE')
      return found.length > 0 ? found : undefined
    })
    assert.equal(begun?.message, `${VIP} is held by ${FIRST.address} and ${SECOND.address}.`)
    const open = await appEvent(begun?.event_id ?? '')
    assert.deepEqual([open.status, open.level], ['IN_PROGRESS', 'ERROR'])
    const holders = async () =>
      (await lab.call('GET', '/ha/members')).body.members.map((one: { holds_vip: boolean }) => one.holds_vip)
    assert.deepEqual(await holders(), [true, true])
    held.set(FIRST.bmc_ip, [])
    const ended = await until('it is over', async () => {
      const event_now = await appEvent(begun?.event_id ?? '')
      return event_now.status === 'SUCCESS' ? event_now : undefined
    })
    assert.equal(ended.id, begun?.event_id)
    assert.deepEqual(
      (await events('VIP_DUPLICATE')).map(({ status }) => status),
      ['COMPLETED', 'IN_PROGRESS'],
    )
    await until('the list says who holds it', async () => String(await holders()) === 'false,true')
    await Promise.all(agents.map((agent) => agent.close()))
  })

  test('a node that cannot join is told everything that is in its way, and no setup begins', async () => {
    const bmc_ip = '10.9.0.21'
    const facts = {
      hostname: 'mgmt-3',
      fqdn: 'mgmt-3.example.internal',
      node_ip: VIP,
      addresses: [VIP],
      boot_id: 'b',
      agent_version: '1',
    }
    const who = await enrolNode(lab, bmc_ip, facts)
    const agent = await serveAs(who, answerOf(simulatedNode(VIP, facts.fqdn)))
    await sendHeartbeat(lab, who, agent.port)
    const { status, body } = await lab.call('POST', `/configure/nodes/${bmc_ip}/setup`, {
      bmc_ip,
      role: 'management',
      assignments: { eth1: { untagged: 'storage' } },
    })
    assert.deepEqual(
      [status, body.errors],
      [
        400,
        [
          {
            path: 'body.assignments.eth1',
            message: 'storage: a management node carries no virtual machines and no disks of the store',
          },
          { path: 'body.bmc_ip', message: `${VIP} is a virtual address of the cluster` },
        ],
      ],
    )
    assert.equal((await lab.call('GET', `/configure/nodes/${bmc_ip}`)).body.provision_status, 'discovered')
    await agent.close()
  })
})

suite('a machine without failover', () => {
  let lab: Lab
  before(async () => {
    lab = await startLab({ config: { auth: { cluster_secret: CLUSTER_SECRET } } })
  })
  after(() => lab?.close())

  test('it says what is not configured, and has a key of its own all the same', async () => {
    const update = await lab.call('POST', UPDATE, undefined, { token: CLUSTER_SECRET })
    assert.deepEqual([update.status, update.body.code], [500, 'HA_NOT_CONFIGURED'], update.text)
    const reconcile = await lab.call('POST', RECONCILE)
    assert.deepEqual([reconcile.status, reconcile.body.code], [500, 'HA_NOT_CONFIGURED'], reconcile.text)
    const folder = join(lab.data_dir, 'ha')
    rmSync(folder, { recursive: true, force: true })
    writeFileSync(folder, 'a file where the folder should be')
    const broken = await lab.call('GET', PUBKEY, undefined, { token: null })
    assert.deepEqual([broken.status, broken.body.code], [500, 'HA_KEYS_FAILED'], broken.text)
    rmSync(folder)
    const key = await lab.call('GET', PUBKEY, undefined, { token: null })
    assert.equal(key.status, 200)
    assert.match(key.body.public_key, /^ssh-ed25519 \S+ groundplane-filesync-/)
    assert.deepEqual((await lab.call('GET', PUBKEY, undefined, { token: null })).body, key.body)
  })
})
