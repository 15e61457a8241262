// Desired state of a node over the agent's HTTPS: what is applied, compared, removed, and refused.
import assert from 'node:assert/strict'
import { chmodSync, existsSync, lstatSync, readlinkSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import type { DesiredDocuments, DesiredTask } from '#src/contract/nodes/agent-desired.ts'
import { agentFailover } from '#src/contract/nodes/agent-failover.ts'
import type { BaseDocument } from '#src/contract/nodes/desired-documents.ts'
import { createServicesArea } from '#src/node/desired/services.ts'
import { documentHash } from '#src/kernel/document-hash.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { JobClaim } from '#src/kernel/job-claim.ts'
import { applyDesired, desiredHolds, removeDesired } from '#src/modules/lifecycle/desired.ts'
import type { NodeRow } from '#src/store/nodes.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { type DesiredNode, startDesiredNode } from '../support/desired-node.ts'
import { until } from '../support/until.ts'

const HOSTS = '127.0.0.1 localhost\n10.0.0.9 mine # by hand\n'
const BASE: BaseDocument = {
  hostname: 'kvm-07',
  fqdn: 'kvm-07.example.internal',
  hosts: [{ address: '10.0.0.5', names: ['mgmt-01.example.internal', 'mgmt-01'] }],
  time_zone: 'Europe/Berlin',
  time_servers: ['10.0.0.5', 'ntp.example.internal'],
  sysctl: { 'net.core.somaxconn': '8192' },
}

/** Which node it is decides nothing here: the test has one. */
const ROW = { bmc_ip: '10.1.0.11' } as NodeRow

suite('desired state of a node', () => {
  let node: DesiredNode
  before(async () => {
    node = await startDesiredNode('kvm-01')
    node.put('etc/hosts', HOSTS)
    node.put('etc/hostname', 'installed\n')
  })
  after(() => node?.close())

  async function set<A extends keyof DesiredDocuments>(
    area: A,
    document: DesiredDocuments[A],
    more: { hash?: string; guard_seconds?: number; job?: JobClaim } = {},
  ): Promise<DesiredTask> {
    const { job, ...rest } = more
    const task = await node.client(job).agentDesiredSet({
      params: { area },
      body: { document, hash: documentHash(document), ...rest },
    })
    return ended(task)
  }
  const ended = (task: DesiredTask): Promise<DesiredTask> =>
    until('the task has ended', async () => {
      const now = await node.client().agentTaskGet({ params: { id: task.id } })
      return now.status === 'running' ? undefined : now
    })
  const get = (area: keyof DesiredDocuments) => node.client().agentDesiredGet({ params: { area } })
  const remove = async (area: keyof DesiredDocuments) =>
    ended(await node.client().agentDesiredRemove({ params: { area }, query: {} }))
  const rejected =
    (code: string, message = /./) =>
    (error: unknown) =>
      error instanceof ApiError && error.code === code && message.test(error.message)

  test('the base of a node becomes as its document says, others’ lines stay, and once more changes nothing', async () => {
    assert.equal((await get('base')).verdict, 'empty')
    const task = await set('base', BASE)
    assert.deepEqual([task.status, task.message], ['completed', 'Applied.'])
    const state = await get('base')
    assert.deepEqual([state.verdict, state.hash, state.differences], ['in_sync', documentHash(BASE), []])
    assert.equal(node.text('etc/hostname'), 'kvm-07\n')
    assert.equal(
      node.text('etc/hosts'),
      `${HOSTS}# Begin of what groundplane writes
127.0.1.1 kvm-07.example.internal kvm-07
10.0.0.5 mgmt-01.example.internal mgmt-01
# End of what groundplane writes
`,
    )
    assert.equal(readlinkSync(join(node.root, 'etc/localtime')), '/usr/share/zoneinfo/Europe/Berlin')
    assert.equal(node.text('etc/sysctl.d/90-groundplane.conf'), 'net.core.somaxconn = 8192\n')
    assert.equal((await set('base', BASE)).message, 'Everything is so already.')
    await node.restart()
    assert.equal((await get('base')).verdict, 'in_sync')
  })

  test('what somebody changes by hand is named without its contents, and applying it again puts it right', async () => {
    node.put('etc/hostname', 'other\n')
    const { verdict, differences } = await get('base')
    assert.deepEqual([verdict, differences], ['differs', ['/etc/hostname differs']])
    assert.equal((await set('base', BASE)).status, 'completed')
    assert.equal(node.text('etc/hostname'), 'kvm-07\n')
  })

  test('a document without some of it restores what that had changed; removal restores the rest and leaves others alone', async () => {
    assert.equal((await set('base', { hostname: 'kvm-08' })).status, 'completed')
    assert.equal(existsSync(join(node.root, 'etc/sysctl.d/90-groundplane.conf')), false)
    assert.equal(existsSync(join(node.root, 'etc/localtime')), false)
    assert.equal(node.text('etc/hosts'), HOSTS)
    node.put('etc/hosts', `${HOSTS}10.0.0.8 later # by hand\n`)
    assert.equal((await remove('base')).status, 'completed')
    assert.equal(node.text('etc/hostname'), 'installed\n')
    assert.equal(node.text('etc/hosts'), `${HOSTS}10.0.0.8 later # by hand\n`)
    assert.equal((await get('base')).verdict, 'empty')
    assert.equal((await remove('base')).message, 'Nothing is applied.')
  })

  test('a file of others is never replaced, whatever it is', async () => {
    const path = 'etc/chrony/sources.d/groundplane.sources'
    node.put(path, 'server by-hand\n')
    const task = await set('base', BASE)
    assert.deepEqual([task.status, task.code], ['failed', 'DESIRED_CONFLICT'])
    assert.match(task.message, /groundplane\.sources was made by others/)
    assert.equal(node.text(path), 'server by-hand\n')
    assert.equal(node.text('etc/hostname'), 'installed\n', 'nothing is begun that cannot be finished')
    assert.equal((await get('base')).verdict, 'empty')
  })

  test('hostile values are refused before anything is touched', async () => {
    const { mtimeMs } = lstatSync(join(node.root, 'etc/hostname'))
    const hostile: unknown[] = [
      { hostname: 'a\nroot::0:0::/:/bin/sh' },
      { hostname: '-f' },
      { hostname: 'kvm-01', hosts: [{ address: '10.0.0.1\n', names: ['a'] }] },
      { hostname: 'kvm-01', hosts: [{ address: 'not-an-ip', names: ['a'] }] },
      { hostname: 'kvm-01', time_zone: '../../etc/shadow' },
      { hostname: 'kvm-01', sysctl: { 'kernel.../../../etc/passwd': 'x' } },
      { hostname: 'kvm-01', sysctl: { 'net.core.somaxconn': '1\nkernel.core_pattern = |/bin/sh' } },
      { hostname: 'kvm-01', time_servers: ['a\nallow all'] },
      { hostname: 'kvm-01', repositories: [{ uri: 'http://m/\nTrusted: yes', suites: ['a'], components: ['main'] }] },
      { hostname: 'kvm-01', unknown: true },
      { hostname: ['kvm-01'] },
      null,
    ]
    for (const document of hostile) {
      const sent = node.client().agentDesiredSet({
        params: { area: 'base' },
        body: { document, hash: documentHash(document) },
      })
      const task = await sent.catch((error: unknown) => error)
      const code = task instanceof ApiError ? task.code : (task as DesiredTask).code
      assert.equal(code, 'INVALID_REQUEST', JSON.stringify(document))
    }
    assert.equal(lstatSync(join(node.root, 'etc/hostname')).mtimeMs, mtimeMs)
    const areas = ['../../etc', 'base/../network', 'base%2f..', 'BASE', '']
    for (const area of areas) {
      await assert.rejects(node.client().agentDesiredGet({ params: { area: area as 'base' } }), (error: Error) =>
        error instanceof ApiError ? error.code === 'INVALID_REQUEST' : /AGENT/.test(error.message),
      )
    }
    await assert.rejects(
      node.client().agentTaskGet({ params: { id: '../../../../etc/passwd' } }),
      rejected('INVALID_REQUEST'),
    )
  })

  test('a document that arrives changed, an unknown task and a useless guard are refused', async () => {
    await assert.rejects(set('base', BASE, { hash: 'b'.repeat(64) }), rejected('DESIRED_HASH_MISMATCH'))
    await assert.rejects(set('base', BASE, { guard_seconds: 60 }), rejected('INVALID_REQUEST', /does not revert/))
    const id = '0193a3c1-7f3a-7d5e-9a52-0a4f5a0c1d11'
    await assert.rejects(node.client().agentTaskGet({ params: { id } }), rejected('TASK_NOT_FOUND'))
    await assert.rejects(
      node.client().agentDesiredConfirm({ params: { area: 'base' }, body: { hash: null } }),
      rejected('DESIRED_NOTHING_PENDING', /need no confirmation/),
    )
  })

  test('a process that lost the job changes nothing any more', async () => {
    const claim = { job_id: 'job-desired-1', epoch: 2, step: 'base-system' }
    const document = { hostname: 'kvm-09' }
    assert.equal((await set('base', document, { job: claim })).status, 'completed')
    const late = { ...claim, epoch: 1 }
    await assert.rejects(set('base', BASE, { job: late }), rejected('JOB_SUPERSEDED'))
    await assert.rejects(
      node.client(late).agentDesiredRemove({ params: { area: 'base' }, query: {} }),
      rejected('JOB_SUPERSEDED'),
    )
    assert.equal(node.text('etc/hostname'), 'kvm-09\n')
    assert.equal((await remove('base')).status, 'completed')
  })

  test('a linked shared file is changed where it really stands', async () => {
    node.put('srv/hosts', HOSTS)
    const at = join(node.root, 'etc/hosts')
    rmSync(at)
    symlinkSync('../srv/hosts', at)
    assert.equal((await set('base', { hostname: 'kvm-10', fqdn: 'kvm-10.example.internal' })).status, 'completed')
    assert.ok(lstatSync(at).isSymbolicLink())
    assert.match(node.text('srv/hosts'), /127\.0\.1\.1 kvm-10\.example\.internal kvm-10\n/)
    const addressed = { address: '10.0.0.11', names: ['kvm-10.example.internal', 'kvm-10'] }
    await set('base', { hostname: 'kvm-10', fqdn: 'kvm-10.example.internal', hosts: [addressed] })
    assert.equal(node.text('srv/hosts').includes('127.0.1.1'), false, 'a name with an address is no loopback')
    assert.equal((await remove('base')).status, 'completed')
    assert.equal(node.text('srv/hosts'), HOSTS)
  })

  test('a network is applied, answers as pending, is confirmed, and its removal leads back to what was there', async () => {
    node.put('etc/network/interfaces', 'auto lo\niface lo inet loopback\n')
    const document = {
      devices: [
        { name: 'eth3', kind: 'physical' as const, mtu: 9000 },
        { name: 'cloudbr3', kind: 'bridge' as const, members: ['eth3'], addresses: ['10.3.0.11/24'], mtu: 9000 },
      ],
    }
    const hash = documentHash(document)
    const task = await set('network', document, { guard_seconds: 600 })
    assert.deepEqual([task.status, task.code], ['completed', null], task.message)
    const state = await get('network')
    assert.deepEqual([state.verdict, state.hash, state.pending?.hash, state.differences], ['in_sync', hash, hash, []])
    assert.ok((state.pending?.left_ms ?? 0) > 60_000)
    assert.match(node.text('etc/network/interfaces'), /iface cloudbr3 inet static\n/)
    const wrong = { params: { area: 'network' as const }, body: { hash: 'b'.repeat(64) } }
    await assert.rejects(node.client().agentDesiredConfirm(wrong), rejected('DESIRED_NOTHING_PENDING'))
    const other = await set('network', { devices: [{ name: 'eth3', kind: 'physical' }] })
    assert.deepEqual([other.status, other.code], ['failed', 'DESIRED_AREA_BUSY'], other.message)
    const confirmed = await node.client().agentDesiredConfirm({ params: { area: 'network' }, body: { hash } })
    assert.deepEqual([confirmed.verdict, confirmed.pending], ['in_sync', null])
    await node.restart()
    assert.equal((await get('network')).verdict, 'in_sync')
    assert.equal((await remove('network')).status, 'completed')
    await node.client().agentDesiredConfirm({ params: { area: 'network' }, body: { hash: null } })
    assert.equal((await get('network')).verdict, 'empty')
    assert.equal(node.text('etc/network/interfaces'), 'auto lo\niface lo inet loopback\n')
  })

  test('a network that nobody confirms is rolled back by the watchdog’s own process', async () => {
    const document = { devices: [{ name: 'cloudbr4', kind: 'bridge' as const, members: ['eth4'] }] }
    assert.equal((await set('network', document)).status, 'completed')
    node.endNetworkWindow()
    await until('the old network is back', async () => (await get('network')).hash === null)
    assert.equal(node.text('etc/network/interfaces'), 'auto lo\niface lo inet loopback\n')
    await until('the watchdog has ended', () => !existsSync(join(node.network_run, 'reverting')))
    await assert.rejects(
      node.client().agentDesiredConfirm({ params: { area: 'network' }, body: { hash: documentHash(document) } }),
      rejected('DESIRED_NOTHING_PENDING', /may have reverted/),
    )
  })

  const HYPERVISOR = {
    packages: ['qemu-system-x86', 'libvirt-daemon-system'],
    libvirt: { listen_tls: true, tcp_port: 16509, vnc_listen: '0.0.0.0' },
  }

  test('a hypervisor gets its packages and settings, and loses nothing but those again', async () => {
    const before_it = '# of the distribution\nlisten_tls = 0\nmax_clients = 5\n'
    node.put('etc/libvirt/libvirtd.conf', before_it)
    assert.equal((await set('hypervisor', HYPERVISOR)).status, 'completed')
    assert.deepEqual((await get('hypervisor')).verdict, 'in_sync')
    assert.equal(
      node.text('etc/libvirt/libvirtd.conf'),
      '# of the distribution\nlisten_tls = 1\nmax_clients = 5\ntcp_port = "16509"\n',
    )
    assert.equal(node.text('etc/libvirt/qemu.conf'), 'vnc_listen = "0.0.0.0"\n')
    assert.equal((await remove('hypervisor')).status, 'completed')
    assert.equal(node.text('etc/libvirt/libvirtd.conf'), before_it)
    assert.equal(existsSync(join(node.root, 'etc/libvirt/qemu.conf')), false)
  })

  test('packages that cannot be had fail the task, and the next order begins where it ended', async () => {
    const task = await set('hypervisor', { packages: ['no-such-package'], libvirt: {} })
    assert.deepEqual([task.status, task.code], ['failed', 'DESIRED_FAILED'])
    assert.match(task.message, /Unable to locate package no-such-package/)
    const { verdict, differences } = await get('hypervisor')
    assert.deepEqual([verdict, differences[0]], ['applying', 'package no-such-package is not installed'])
    assert.equal((await set('hypervisor', HYPERVISOR)).status, 'completed')
    assert.equal((await remove('hypervisor')).status, 'completed')
  })

  test('the platform’s agent keeps what it wrote itself; the key of the storage is readable by root alone', async () => {
    const written = 'resource=com.cloud.hypervisor.kvm.resource.LibvirtComputingResource\nhost=localhost\nworkers=5\n'
    node.put('etc/cloudstack/agent/agent.properties', written)
    const platform: DesiredDocuments['platform-agent'] = {
      packages: ['cloudstack-agent'],
      management_hosts: ['10.0.0.5', '10.0.0.6'],
      zone: 'Frankfurt-1',
      pod: 'Pod 1',
      cluster: 'kvm-a',
      guid: '0f4b3c1e-0000-4000-8000-000000000000',
      private_device: 'cloudbr0',
      public_device: 'cloudbr1',
      guest_device: 'cloudbr1',
    }
    assert.equal((await set('platform-agent', platform)).status, 'completed')
    assert.match(
      node.text('etc/cloudstack/agent/agent.properties'),
      /^resource=com\.cloud.*\nhost=10\.0\.0\.5,10\.0\.0\.6\nworkers=5\nport=8250\nzone=Frankfurt-1\npod=Pod 1\n/,
    )
    const twice = await set('platform-agent', { ...platform, properties: { host: '10.9.9.9' } })
    assert.equal(twice.code, 'INVALID_REQUEST')
    assert.equal((await remove('platform-agent')).status, 'completed')
    assert.equal(node.text('etc/cloudstack/agent/agent.properties'), written)

    const storage = {
      fsid: 'e8b25934-f13e-474b-af68-c860fd49b1be',
      monitors: ['10.2.0.11', '10.2.0.12'],
      client: 'cloudstack',
      key: 'AQDsecretsecretsecretsecretsecretsecret==',
    }
    assert.equal((await set('storage', storage)).status, 'completed')
    const keyring = 'etc/ceph/ceph.client.cloudstack.keyring'
    assert.equal(lstatSync(join(node.root, keyring)).mode & 0o777, 0o600)
    assert.match(node.text(keyring), /key = AQDsecret/)
    chmodSync(join(node.root, keyring), 0o644)
    const open = await get('storage')
    assert.deepEqual(open.differences, [`/${keyring} has mode 0644, not 0600`])
    assert.equal(JSON.stringify(open).includes('AQDsecret'), false)
    assert.equal((await set('storage', storage)).status, 'completed')
    assert.equal(lstatSync(join(node.root, keyring)).mode & 0o777, 0o600)
    assert.equal((await remove('storage')).status, 'completed')
    assert.equal(existsSync(join(node.root, keyring)), false)
  })

  test('a node becomes a leaf of the fabric, loses that again, and is left alone where it is a router already', async () => {
    const fabric = { packages: ['frr'], as_number: 65_000, address: '10.40.0.7', route_reflectors: ['10.40.0.1'] }
    const brought = 'log syslog informational\n'
    node.put('etc/frr/frr.conf', brought)
    node.put('etc/frr/daemons', 'bgpd=no\nospfd=no\n')
    assert.equal((await set('fabric', fabric)).status, 'completed')
    assert.equal((await get('fabric')).verdict, 'in_sync')
    assert.match(node.text('etc/frr/frr.conf'), /^router bgp 65000\n bgp router-id 10\.40\.0\.7\n/m)
    assert.equal(node.text('etc/frr/daemons'), 'bgpd=yes\nospfd=no\n')
    const more = { ...fabric, route_reflectors: ['10.40.0.1', '10.40.0.2'] }
    assert.equal((await set('fabric', more)).status, 'completed')
    assert.match(node.text('etc/frr/frr.conf'), /neighbor 10\.40\.0\.2 peer-group/)
    assert.equal((await remove('fabric')).status, 'completed')
    assert.equal(node.text('etc/frr/frr.conf'), brought)
    assert.equal(node.text('etc/frr/daemons'), 'bgpd=no\nospfd=no\n')
    node.put('etc/frr/frr.conf', 'router bgp 64999\n')
    const task = await set('fabric', fabric)
    assert.deepEqual([task.code, /a router already/.test(task.message)], ['DESIRED_CONFLICT', true])
    assert.equal(node.text('etc/frr/frr.conf'), 'router bgp 64999\n')
  })

  test('the control plane runs in the version of the cluster or not at all, with its secrets quoted', async () => {
    const services = {
      version: packageJson.version,
      control_config: 'listen:\n  port: 8080\n',
      environment: { DATABASE_URL: 'postgres://groundplane:pa"ss$word@10.0.0.5/groundplane' },
    }
    const other = await set('services', { ...services, version: '99.0.0' })
    assert.deepEqual([other.code, /install that first/.test(other.message)], ['DESIRED_CONFLICT', true])
    assert.equal((await set('services', { ...services, control_config: 'a: [' })).code, 'INVALID_REQUEST')
    const task = await set('services', services)
    assert.equal(task.status, 'completed', task.message)
    assert.equal(
      node.text('etc/groundplane/control.env'),
      'DATABASE_URL="postgres://groundplane:pa\\"ss\\$word@10.0.0.5/groundplane"\n',
    )
    assert.match(node.text('etc/systemd/system/groundplane-control.service'), /^\[Service\]$/m)
    const path = '/var/lib/groundplane/control/keys'
    assert.equal((await set('services', { ...services, keys: { path, text: 'v1 secret\n' } })).status, 'completed')
    assert.equal(lstatSync(join(node.root, 'etc/groundplane/keys')).mode & 0o777, 0o600)
    const upgraded = createServicesArea({ host: node.host, root: node.root }, node.state_dir, '99.0.0')
    assert.match((await upgraded.state()).differences.join(), /The node has version 99\.0\.0/)
    await upgraded.remove({})
    for (const file of ['control.env', 'keys'])
      assert.equal(existsSync(join(node.root, 'etc/groundplane', file)), false)
    const { stdout } = await node.host.run('systemctl', ['is-active', 'groundplane-control'])
    assert.equal(stdout, 'inactive\n', 'a service of another version is stopped, too')
    assert.equal((await get('services')).verdict, 'empty')
  })

  test('failover brings scripts, configuration and unit of the daemon, repairs them, and leaves those of others alone', async () => {
    const failover: DesiredDocuments['failover'] = {
      address: '10.60.0.1', interface: 'bond0', priority: 130, peers: ['10.60.0.2'], virtual_addresses: ['10.60.0.100/24'], virtual_router_id: 51,
      check_url: 'http://127.0.0.1:8080/readyz', ha_dir: '/var/lib/groundplane/control/ha', script_user: 'groundplane',
    } // biome-ignore format: one document
    const [config, script] = ['etc/keepalived/keepalived.conf', 'usr/local/lib/groundplane/failover/notify.sh']
    node.put(config, '# of somebody else\n')
    assert.equal((await set('failover', failover)).code, 'DESIRED_CONFLICT')
    rmSync(join(node.root, config))
    const task = await set('failover', failover)
    assert.equal(task.status, 'completed', task.message)
    assert.equal((await get('failover')).verdict, 'in_sync')
    assert.match(node.text(config), /unicast_peer \{\n {4}10\.60\.0\.2\n/)
    assert.equal(lstatSync(join(node.root, script)).mode & 0o777, 0o755)
    assert.match(
      node.text('etc/systemd/system/keepalived.service.d/groundplane.conf'),
      /^ExecStopPost=.*remove-vips\.sh bond0 10/m,
    )
    chmodSync(join(node.root, script), 0o777)
    assert.deepEqual((await get('failover')).differences, [`/${script} has mode 0777, not 0755`])
    assert.equal((await set('failover', { ...failover, peers: ['10.60.0.2', '10.60.0.3'] })).status, 'completed')
    assert.deepEqual((await get('failover')).differences, [])
    assert.equal((await set('failover', { ...failover, peers: ['2001:db8::1'] })).code, 'INVALID_REQUEST')
    for (const wrong of [{ address: '10.60.0.1\n}' }, { priority: 255 }])
      await assert.rejects(set('failover', { ...failover, ...wrong }), rejected('INVALID_REQUEST'))
    assert.equal((await remove('failover')).status, 'completed')
    for (const path of [config, script]) assert.equal(existsSync(join(node.root, path)), false)
  })

  test('the database of a node is stopped and started as often as it is told, and says up to where its log goes', async () => {
    const client = node.agents.client(ROW, agentFailover.routes, { timeout_ms: 60_000 })
    for (const running of [true, true, false, false]) {
      const { checkpoint } = await client.agentDatabaseRun({ body: { version: '15', cluster: 'main', running } })
      assert.equal(checkpoint, '0/3000060')
      const { stdout } = await node.host.run('systemctl', ['is-active', 'postgresql@15-main'])
      assert.equal(stdout, running ? 'active\n' : 'inactive\n')
    }
    const wrong = { version: '15', cluster: '../x', running: true }
    await assert.rejects(client.agentDatabaseRun({ body: wrong }), rejected('INVALID_REQUEST'))
  })

  test('bridges of guest networks are made, a later document drops some, and those of others are a conflict', async () => {
    const bridge = (id: number) => ({ bridge: `gn${id}`, kind: 'vlan' as const, segment_id: id, nic: 'bond0' })
    assert.equal((await set('bridges', { bridges: [bridge(901), bridge(902)] })).status, 'completed')
    assert.equal((await set('bridges', { bridges: [bridge(902), bridge(903)] })).status, 'completed')
    assert.deepEqual([(await get('bridges')).verdict, (await get('bridges')).differences], ['in_sync', []])
    const taken = await set('bridges', { bridges: [{ ...bridge(904), bridge: 'cloudbr0' }] })
    assert.equal(taken.code, 'BRIDGE_EXISTS')
    assert.equal((await set('bridges', { bridges: [bridge(902), bridge(902)] })).code, 'INVALID_REQUEST')
    assert.equal((await remove('bridges')).status, 'completed')
    assert.equal((await get('bridges')).verdict, 'empty')
  })

  test('a job applies a document, follows its task, confirms it from its side, verifies it, and removes it', async () => {
    const job = { job_id: 'job-desired-2', epoch: 1, step: 'network-apply', signal: new AbortController().signal }
    const repeat = new Error('the act begins again')
    const run = { ...job, repeatAfter: () => Promise.reject(repeat) }
    const target = { agents: node.agents, node: () => Promise.resolve(ROW) }
    const again = async (act: () => Promise<void>): Promise<void> =>
      until('the act ends', () =>
        act().then(
          () => true,
          (error: unknown) => {
            if (error !== repeat) throw error
            return false
          },
        ),
      ).then(() => {})
    const network = { devices: [{ name: 'cloudbr5', kind: 'bridge' as const, members: ['eth3'] }] }
    assert.equal(await desiredHolds(target, run, 'network', network), false)
    await again(() => applyDesired(target, run, 'network', network))
    assert.equal(await desiredHolds(target, run, 'network', network), true)
    assert.equal((await get('network')).pending, null)
    await again(() => applyDesired(target, run, 'base', { hostname: 'kvm-11' }))
    await assert.rejects(
      applyDesired(target, run, 'services', { version: '99.0.0', control_config: '', environment: {} }),
      rejected('DESIRED_CONFLICT', /^services: The node has version/),
    )
    for (const area of ['network', 'base', 'services'] as const) await again(() => removeDesired(target, run, area))
    assert.equal((await get('network')).verdict, 'empty')
    await assert.rejects(
      applyDesired(target, { ...run, epoch: 0 }, 'base', { hostname: 'kvm-12' }),
      rejected('INVALID_REQUEST'),
    )
  })
})
