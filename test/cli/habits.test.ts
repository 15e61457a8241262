// What people expect of any command line: usual verbs, helpful errors, units, waiting, watching, nodes by name, completion.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, beforeEach, suite, test } from 'node:test'
import { tempFolder } from '../support/temp-folder.ts'
import { type CliResult, startCli, until } from './cli-process.ts'
import { type FakeService, problem, type Reply, type SeenRequest, startFakeService } from './fake-service.ts'
import { runHere } from './in-process.ts'

const VM_ID = '4d9ae3d4-1f1c-4a0e-8c1b-0d8d1a6a0001'
const NETWORK_ID = '4d9ae3d4-1f1c-4a0e-8c1b-0d8d1a6a0002'
const OLD = '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d10'
const NEW = '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d11'
const NODES = [
  { hostname: 'kvm-01', fqdn: 'kvm-01.x', bmc_ip: '10.1.0.11', node_ip: '10.0.0.11', status: 'online' },
  { hostname: 'kvm-02', fqdn: 'kvm-02.x', bmc_ip: '10.1.0.12', node_ip: '10.0.0.12', status: 'online' },
]
const RULE = '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d12'
const OFFLINE = { hostname: 'kvm-03', fqdn: 'kvm-03.x', bmc_ip: '10.1.0.13', node_ip: '10.0.0.13', status: 'offline' }

let service: FakeService
let nodes: Record<string, unknown>[] = NODES
let token = { url: '', token: 'gp_test' }
const program = join(import.meta.dirname, '../../bin/cli.ts')

const log = (texts: readonly string[], { after_seq = 0 }: { after_seq?: number } = {}) =>
  texts
    .map((text, index) => ({ seq: index + 1, at: '2026-11-20T03:12:45.000Z', step: 'submit', text }))
    .filter(({ seq }) => seq > after_seq)
    .slice(0, 200)
/** More than one answer shows. */
const LINES = Array.from({ length: 450 }, (_, index) => `Line ${index + 1}.`)
const WHOLE_LOG = ['Sent.', 'Seen.', ...LINES].map((text) => `2026-11-20 03:12:45Z submit ${text}\n`).join('')
const job = (id: string, more: Record<string, unknown>): Reply => ({
  body: { id, job_type: 'network', progress: 50, resource_type: 'GUEST_NETWORK', resource_id: NETWORK_ID, ...more },
})
const byNode =
  (answer: (ip: string) => unknown) =>
  (request: SeenRequest): Reply => {
    const ip = String(request.headers['x-target-node'] ?? 'none')
    return { body: answer(ip) }
  }

before(async () => {
  service = await startFakeService({
    'GET /configure/nodes': () => ({ body: { nodes, count: nodes.length, page: 1, page_size: 500 } }),
    'GET /configure/nodes/10.1.0.12': () => ({ body: NODES[1] }),
    'GET /storage/host/disks': byNode((ip) => ({
      disks: [{ device: `sda-of-${ip}`, type: 'ssd', size_mb: 953_869, is_healthy: true, model: '' }],
      readings: [],
      count: 1,
    })),
    'POST /api/v2/storage/benchmark/disk': byNode((ip) => ({ id: 'b1', target: ip, duration_seconds: 90 })),
    'POST /compute/vms/stop': () => ({ body: { id: VM_ID } }),
    'POST /compute/vms/list': () => ({
      body: {
        virtual_machines: [
          { id: VM_ID, name: 'web-1', memory_mb: 1536, state: 'Running', tenant_name: 'acme', ip_address: '' },
          { id: NETWORK_ID, name: 'two words', memory_mb: 512, state: null, tenant_name: null, ip_address: null },
        ],
        count: 2,
      },
    }),
    'POST /network/guest-networks/list': () => ({
      body: { guest_networks: [{ id: NETWORK_ID, name: 'lan', received_bytes: 3 * 2 ** 40 }], count: 1 },
    }),
    'GET /jobs': ({ query }) => {
      const ids = query.get('node_ip') === '10.1.0.13' ? [] : [NEW, OLD]
      return { body: { jobs: ids.map((id) => ({ id, resource_name: 'lan', job_type: 'setup' })), count: ids.length } }
    },
    [`GET /jobs/${NEW}`]: ({ query }) => {
      const part = { after_seq: Number(query.get('after_seq')) }
      const asked = service.to('GET', `/jobs/${NEW}`).length
      return asked < 2
        ? job(NEW, { job_status: 'running', status: 'Working.', log: log(['Sent.'], part) })
        : job(NEW, {
            job_status: 'completed',
            status: 'Network lan is ready.',
            log: log(['Sent.', 'Seen.', ...LINES], part),
          })
    },
    'POST /network/firewall-rules': () => ({ status: 201, body: { job_id: RULE, status: 'IN_PROGRESS' } }),
    [`GET /jobs/${RULE}`]: () =>
      job(RULE, { job_status: 'completed', resource_type: 'FIREWALL_RULE', resource_id: RULE, status: 'Created.' }),
    'POST /network/firewall-rules/list': ({ body }) => ({
      body: { firewall_rules: [{ id: RULE, of: (body as { public_ip_id: string }).public_ip_id }], count: 1 },
    }),
    'GET /healthz': () => ({ body: { status: 'ok' } }),
    'GET /auth/me': ({ headers }) =>
      headers.authorization === 'Bearer gp_test'
        ? { body: { username: 'mira', role: 'operator', tenant_id: null, expires_at: null } }
        : problem(401, 'UNAUTHENTICATED', 'unknown token'),
    'GET /version': () => ({ body: { version: '9.9.9', node: 'v24', replica_id: 'r' } }),
    'GET /readyz': () => ({
      body: {
        status: 'ready',
        checks: [
          { name: 'database', ok: true, detail: '' },
          { name: 'compute', ok: false, detail: 'no answer' },
        ],
      },
    }),
  })
  token = { url: service.url, token: 'gp_test' }
})
after(() => service.close())
beforeEach(() => {
  nodes = NODES
  service.seen.length = 0
})

const run = (line: string): Promise<CliResult> => runHere(token, line.split(' '))

suite('nodes', () => {
  test('a node is an argument, by its name, its address or that of its BMC', async () => {
    for (const name of ['kvm-02', 'kvm-02.x', '10.0.0.12', '10.1.0.12']) {
      const { code, stdout, stderr } = await run(`node disks ${name}`)
      assert.equal(code, 0, stderr)
      assert.match(stdout, /sda-of-10\.0\.0\.12/)
      assert.equal((await run(`node show ${name}`)).code, 0, name)
    }
    assert.equal((await run('node disks kvm-09')).code, 4)
  })

  test('without a node a read asks all of them, each row says whose it is, and who did not answer is named', async () => {
    const { code, stdout } = await run('node disks')
    assert.equal(code, 0)
    const lines = stdout.trimEnd().split('\n')
    assert.match(lines[0] ?? '', /^NODE +DEVICE +TYPE +SIZE /)
    assert.deepEqual(
      lines.slice(1).map((line) => line.split(/ {2,}/).slice(0, 4)),
      [
        ['kvm-01', 'sda-of-10.0.0.11', 'ssd', '931.5 GiB'],
        ['kvm-02', 'sda-of-10.0.0.12', 'ssd', '931.5 GiB'],
      ],
    )
    nodes = [...NODES, OFFLINE]
    const partial = await run('node disks')
    assert.equal(partial.code, 7)
    assert.equal(partial.stdout.trimEnd().split('\n').length, 3)
    assert.match(partial.stderr, /1 of 3 nodes did not answer[^]*kvm-03: is offline/)
    const json = JSON.parse((await run('node disks --json')).stdout) as { nodes: Record<string, unknown>[] }
    assert.deepEqual(
      json.nodes.map(({ node, error }) => [node, error]),
      [['kvm-01', undefined], ['kvm-02', undefined], ['kvm-03', 'is offline']],
    ) // biome-ignore format: pairs
  })

  test('what changes or loads a node is never done to one that was not named', async () => {
    const { code, stderr } = await run('benchmark disk-run')
    assert.equal(code, 2)
    assert.match(stderr, /missing: <node>; "groundplane node list" shows the nodes/)
    assert.equal(service.seen.length, 0)
    assert.match((await run('benchmark disk-run kvm-01')).stdout, /10\.0\.0\.11[^]*1 min 30 s/)
  })
})

suite('words', () => {
  test('a wrong word changes nothing and is answered with the words there are, never with a guess', async () => {
    const verb = await run('vm destory web-1')
    assert.equal(verb.code, 2)
    assert.match(verb.stderr, /vm has no "destory"; it has: .*start, stop/)
    assert.doesNotMatch(verb.stderr, /did you mean/i)
    const noun = await run('vms list')
    assert.match(noun.stderr, /there is no "vms"; groundplane --help lists the nouns/)
    assert.match((await run('list vm')).stderr, /a command is a noun, then a verb: groundplane vm --help/)
    const option = await run('vm destroy web-1 --expung')
    assert.equal(option.code, 2)
    assert.doesNotMatch(option.stderr, /did you mean/i)
    assert.equal(service.seen.length, 0)
  })

  test('a column that no record has is refused before anything is changed, with those there are', async () => {
    for (const line of ['vm list --columns name,colour', `vm stop ${VM_ID} --wait --columns colour`]) {
      const { code, stderr } = await run(line)
      assert.equal(code, 2, stderr)
      assert.match(stderr, /there is no column "colour"; there are: .*memory_mb/)
    }
    assert.equal(service.seen.length, 0)
    assert.equal((await run('vm list --columns NAME,memory')).stdout.split('\n')[1], 'web-1      1.5 GiB')
  })

  test('a table shows the tenant, sizes with their unit and one sign for what is not there; --json is as it came', async () => {
    const [head, first, second] = (await run('vm list')).stdout.split('\n')
    assert.match(head ?? '', /^NAME +STATE +TENANT_NAME +IP_ADDRESS +ID$/)
    assert.match(first ?? '', /^web-1 +Running +acme +- +4d9/)
    assert.match(second ?? '', /^two words +- +- +- +4d9/)
    assert.match((await run('vm list --json')).stdout, /"memory_mb":1536,.*"ip_address":""/)
    assert.match((await run('network list --columns received')).stdout, /^RECEIVED\n3 TiB\n$/)
  })
})

suite('time', () => {
  test('job wait ends with the thing, by the name of which the newest job is found', async () => {
    const { code, stdout, stderr } = await run('job wait lan')
    assert.equal(code, 0, stderr)
    assert.match(stdout, /name +lan/)
    assert.match(stderr, /Network lan is ready\./)
    assert.equal(service.to('GET', `/jobs/${OLD}`).length, 0)
    assert.equal((await run('job wait nothing')).code, 4)
  })

  test('--wait ends with the rule that was made, read from the list of its address', async () => {
    const { code, stdout, stderr } = await run(
      `firewall create tcp --public-ip-id ${NETWORK_ID} --start-port 443 --wait --json`,
    )
    assert.deepEqual([code, JSON.parse(stdout)], [0, { id: RULE, of: NETWORK_ID }], stderr)
  })

  test('job follow prints each line of the job once, however many there are, then the thing', async () => {
    const { code, stdout, stderr } = await run(`job follow ${NEW} --utc`)
    assert.equal(code, 0, stderr)
    const [before = '', after = ''] = stdout.split(/(?=^id )/m)
    assert.equal(before, WHOLE_LOG)
    assert.match(after, /name +lan/)
  })

  test('node jobs lists the jobs of a node, node log prints the log of its newest one, --follow to its end', async () => {
    const listed = await run('node jobs kvm-02')
    assert.match(listed.stdout, new RegExp(NEW))
    const [asked] = service.to('GET', '/jobs')
    assert.equal(asked?.query.get('node_ip'), '10.1.0.12', 'jobs know a node by the address of its BMC')
    const so_far = await run('node log 10.0.0.12 --utc')
    assert.equal(so_far.stdout, WHOLE_LOG, so_far.stderr)
    service.seen.length = 0
    const followed = await run('node log kvm-02.x --follow --utc')
    assert.equal(followed.code, 0, followed.stderr)
    assert.match(followed.stdout, /Sent\.\n.*Seen\.\n[^]*Line 450\.\nid /)
    assert.equal((await run('node log kvm-09')).code, 4)
    assert.equal((await run('node log 10.1.0.13')).code, 4, 'no job')
  })

  test('--watch shows an answer again when it has changed, and ends with Ctrl-C', async () => {
    const environment = { GROUNDPLANE_URL: service.url, GROUNDPLANE_TOKEN: 'gp_test' }
    const cli = startCli(['node', 'list', '--watch', '0.05'], { program, env: environment })
    const asked = (): number => service.to('GET', '/configure/nodes').length
    await until(() => asked() > 2)
    nodes = [...NODES, OFFLINE]
    await until(() => cli.stdout().includes('kvm-03'))
    cli.child.kill('SIGINT')
    const { code, stdout, stderr } = await cli.done
    assert.equal(code, 130, stderr)
    assert.equal(stdout.match(/FQDN/g)?.length, 2, 'what stayed the same is not printed again')
  })
})

suite('the way to the service', () => {
  test('an address of this machine needs no scheme', async () => {
    const bare = { ...token, url: service.url.replace('http://', '') }
    assert.equal((await runHere(bare, ['vm', 'list'])).code, 0)
    assert.equal((await runHere({ ...bare, url: bare.url.replace('127.0.0.1', 'localhost') }, ['vm', 'list'])).code, 0)
  })

  test('doctor says what works and what does not: address, connection, clock, token, versions, parts', async () => {
    const { code, stdout } = await run('doctor')
    assert.equal(code, 0, stdout)
    for (const line of [/address +ok +http.*GROUNDPLANE_URL/, /connection +ok +answers in \d+ ms/, /clock +ok/, /token +ok +mira \(operator\)/, /versions +warning +this program 0\.0\.1, the service 9\.9\.9/, /service +warning +compute: no answer/]) assert.match(stdout, line) // biome-ignore format: a list
    const wrong = await runHere({ ...token, token: 'gp_old' }, ['doctor'])
    assert.equal(wrong.code, 3)
    assert.match(wrong.stdout, /token +failed/)
    const away = await runHere({ ...token, url: 'http://127.0.0.1:9' }, ['doctor', '--json'])
    assert.equal(away.code, 7)
    const { findings } = JSON.parse(away.stdout) as { findings: { check: string; result: string }[] }
    assert.deepEqual(findings.at(-1)?.check, 'connection')
  })

  test('completion offers the names of things, asks the service once and keeps them privately', async (t) => {
    const folder = tempFolder('groundplane-completion-')
    const complete = (...words: string[]): string[] => {
      const script =
        'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _groundplane; printf "%s\\n" "${COMPREPLY[@]}"'
      return execFileSync('bash', ['-c', script, 'bash', join(folder, 'completion'), join(folder, 'groundplane'), ...words], {
        encoding: 'utf8',
      }).trim().split('\n') // biome-ignore format: one call
    }
    const names = await runHere(token, ['complete-names', 'virtual machine'])
    // A name with a blank would need quotes.
    assert.equal(names.stdout, 'web-1\n')
    assert.equal((await runHere({ ...token, url: 'http://127.0.0.1:9' }, ['complete-names', 'node'])).stdout, '')
    // The program is slow to start a hundred times: a file in its place says what it would be asked.
    writeFileSync(
      join(folder, 'groundplane'),
      '#!/bin/sh\n[ "$1 $2" = "complete-names virtual machine" ] && echo web-1 web-2\n',
    )
    chmodSync(join(folder, 'groundplane'), 0o755)
    writeFileSync(join(folder, 'completion'), (await run('completion bash')).stdout)
    assert.deepEqual(complete('vm', 'stop', 'web'), ['web-1', 'web-2'])
    assert.deepEqual(complete('vm', 'nic-list', 'web-2'), ['web-2'])
    assert.deepEqual(complete('ip', 'list', '--vm-id', ''), ['web-1', 'web-2'])
    const cache = join(folder, 'cache')
    const env = { GROUNDPLANE_URL: service.url, GROUNDPLANE_TOKEN: 'gp_test', XDG_CACHE_HOME: cache }
    service.seen.length = 0
    for (const _again of [1, 2]) {
      const { stdout } = await startCli(['complete-names', 'node'], { program, env }).done
      assert.equal(stdout, 'kvm-01\nkvm-02\n')
    }
    assert.equal(service.to('GET', '/configure/nodes').length, 1)
    const cached = join(cache, 'groundplane', 'names')
    const [file = ''] = readdirSync(cached)
    t.diagnostic(file)
    assert.equal(statSync(join(cached, file)).mode & 0o077, 0)
  })
})
