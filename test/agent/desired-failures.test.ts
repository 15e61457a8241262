// What an agent says of a node that does not become as ordered, over its HTTPS: the thing, the value and what is left as it was.
import assert from 'node:assert/strict'
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, beforeEach, suite, test } from 'node:test'
import type { DesiredDocuments, DesiredTask } from '#src/contract/nodes/agent-desired.ts'
import { agentFailover } from '#src/contract/nodes/agent-failover.ts'
import { documentHash } from '#src/kernel/document-hash.ts'
import type { Host, RunResult } from '#src/kernel/host.ts'
import type { NodeRow } from '#src/store/nodes.ts'
import { type DesiredNode, startDesiredNode } from '../support/desired-node.ts'
import { until } from '../support/until.ts'

/** What a command answers instead; undefined: as ever. */
type Fault = (line: string) => Partial<RunResult> | undefined

suite('a node that does not become as ordered', () => {
  let node: DesiredNode
  let fault: Fault = () => undefined
  /** Files of the machine as they read, and folders with what is in them. */
  let files: Record<string, string> = {}
  let refused_file: string | undefined
  const faulty = (machine: Host): Host => ({
    ...machine,
    read: async (path) => files[path] ?? machine.read(path),
    list: async (path) => (files[`${path}/UTC`] === undefined ? machine.list(path) : ['UTC']),
    write: (path, text) =>
      path === refused_file ? Promise.reject(new Error('Invalid argument')) : machine.write(path, text),
    async run(tool, args, options) {
      const found = fault([tool, ...args].join(' '))
      if (found === undefined) return machine.run(tool, args, options)
      return { outcome: 'exited', exit_code: 0, stdout: '', stderr: '', ...found }
    },
  })

  before(async () => {
    node = await startDesiredNode('kvm-01', faulty)
  })
  after(() => node?.close())
  beforeEach(() => {
    fault = () => undefined
    files = {}
    refused_file = undefined
  })

  const ended = (task: DesiredTask): Promise<DesiredTask> =>
    until('the task has ended', async () => {
      const now = await node.client().agentTaskGet({ params: { id: task.id } })
      return now.status === 'running' ? undefined : now
    })
  type Area = keyof DesiredDocuments
  const set = async <A extends Area>(area: A, document: DesiredDocuments[A]): Promise<DesiredTask> =>
    ended(await node.client().agentDesiredSet({ params: { area }, body: { document, hash: documentHash(document) } }))
  const remove = async (area: Area): Promise<DesiredTask> =>
    ended(await node.client().agentDesiredRemove({ params: { area }, query: {} }))
  const verdictOf = async (area: Area): Promise<string> =>
    (await node.client().agentDesiredGet({ params: { area } })).verdict
  const says = (task: DesiredTask, code: string, message: string): void =>
    assert.deepEqual([task.status, task.code, task.message], ['failed', code, message])

  const HYPERVISOR = { packages: ['qemu-system-x86'], libvirt: { listen_tls: true } }

  test('without dpkg nothing is installed, and the answer names the program and the packages', async () => {
    fault = (line) => (line.startsWith('dpkg-query') ? { outcome: 'missing', exit_code: null } : undefined)
    says(await set('hypervisor', HYPERVISOR), 'DESIRED_FAILED', 'dpkg-query does not answer on the node, so qemu-system-x86 cannot be installed; use a node with Debian or Ubuntu.') // biome-ignore format: one sentence
    assert.equal(await verdictOf('hypervisor'), 'empty')
  })

  test('a processor without virtualisation is refused with what to enable, and nothing is installed', async () => {
    files = { '/proc/cpuinfo': 'processor\t: 0\nflags\t\t: fpu vme sse2\n' }
    says(await set('hypervisor', HYPERVISOR), 'DESIRED_CONFLICT', 'The processor offers no virtualisation: enable VT-x (Intel) or SVM (AMD) in the BIOS settings.') // biome-ignore format: one sentence
    assert.equal(await verdictOf('hypervisor'), 'empty')
  })

  test('a service that does not run after its restart fails the task with its name and state', async () => {
    fault = (line) => (line === 'systemctl is-active libvirtd' ? { exit_code: 3, stdout: 'failed\n' } : undefined)
    says(await set('hypervisor', HYPERVISOR), 'DESIRED_FAILED', 'The node is not as ordered: libvirtd is failed.')
    fault = () => undefined
    assert.equal((await remove('hypervisor')).status, 'completed')
  })

  test('a time zone that the node does not know is a wrong field with its name, and nothing is changed', async () => {
    files = { '/usr/share/zoneinfo/UTC': 'TZif' }
    const task = await set('base', { hostname: 'kvm-07', time_zone: 'Europe/Atlantis' })
    assert.deepEqual([task.status, task.code], ['failed', 'INVALID_REQUEST'])
    assert.match(task.message, /the node does not know the time zone Europe\/Atlantis/)
    assert.equal(await verdictOf('base'), 'empty')
  })

  test('a folder where a file is ordered is refused with its path, and stays', async () => {
    const folder = join(node.root, 'etc/hostname')
    mkdirSync(folder, { recursive: true })
    says(await set('base', { hostname: 'kvm-07' }), 'DESIRED_CONFLICT', '/etc/hostname is no file; move it away first.')
    assert.equal(await verdictOf('base'), 'empty')
    // Throws unless it is an empty folder still.
    rmSync(folder, { recursive: true })
  })

  test('a value that the kernel does not take is named with the place where it was written', async () => {
    refused_file = '/proc/sys/net/core/somaxconn'
    const document = { hostname: 'kvm-07', sysctl: { 'net.core.somaxconn': '0' } }
    says(await set('base', document), 'DESIRED_FAILED', 'The kernel does not take 0 for /proc/sys/net/core/somaxconn; order another value.') // biome-ignore format: one sentence
    assert.equal(await verdictOf('base'), 'applying')
    refused_file = undefined
    assert.equal((await remove('base')).status, 'completed')
  })

  test('a standby of a PostgreSQL that is not installed is refused with its version, and no folder is made', async () => {
    const primary = { host: '10.0.0.5', port: 5432, user: 'replicator', password: 'secret-of-the-test' }
    const document = { version: '00', cluster: 'main', primary, slot: 'n1', system_identifier: '7000000000000000001', job_id: 'j1' } // biome-ignore format: one document
    says(await set('database', document), 'DESIRED_CONFLICT', 'PostgreSQL 00 is not installed on the node; install it first.') // biome-ignore format: one sentence
    assert.equal(await verdictOf('database'), 'empty')
  })

  test('a database that does not stop cleanly is named with its folder and its state', async () => {
    fault = (line) =>
      line.includes('pg_controldata')
        ? {
            stdout:
              'Database cluster state:               in crash recovery\nLatest checkpoint location:           0/3000060\n',
          }
        : undefined
    const client = node.agents.client({} as NodeRow, agentFailover.routes, { timeout_ms: 60_000 })
    const data_dir = join(node.root, 'var/lib/postgresql/15/main')
    await assert.rejects(client.agentDatabaseRun({ body: { version: '15', cluster: 'main', running: false } }), {
      code: 'DESIRED_FAILED',
      message: `The database in ${data_dir} did not stop cleanly: it is in crash recovery.`,
    })
  })

  const bridge = (segment_id: number, more: object = {}) =>
    ({ bridge: `gn${segment_id}`, kind: 'vlan', segment_id, nic: 'bond0', ...more }) as const

  test('a change of the network that the node refuses is named with its command, and what was begun is removed', async () => {
    fault = (line) =>
      line.startsWith('ip link add') ? { exit_code: 2, stderr: 'RTNETLINK answers: No buffer space available\n' } : undefined // biome-ignore format: one choice
    const task = await set('bridges', { bridges: [bridge(911)] })
    assert.deepEqual([task.status, task.code], ['failed', 'BRIDGE_FAILED'])
    assert.match(task.message, /^ip link add .*(gn911|bond0\.911).*: No buffer space available\.$/)
    fault = () => undefined
    assert.equal((await remove('bridges')).status, 'completed')
  })

  test('a bridge that somebody deletes while it is made is named as missing', async () => {
    let lists = 0
    fault = (line) => (line === 'ip -j -d link' && (lists += 1) > 2 ? { stdout: '[]' } : undefined)
    const task = await set('bridges', { bridges: [bridge(912)] })
    assert.deepEqual([task.status, task.code], ['failed', 'DESIRED_FAILED'])
    assert.match(task.message, /^The node is not as ordered: .*gn912/)
    fault = () => undefined
    assert.equal((await remove('bridges')).status, 'completed')
  })

  test('a bridge that outlives its deletion is named, and the area still counts as applied', async () => {
    assert.equal((await set('bridges', { bridges: [bridge(913)] })).status, 'completed')
    fault = (line) => (line.startsWith('ip link del') ? {} : undefined)
    says(await remove('bridges'), 'BRIDGE_FAILED', 'gn913 is still there after it was deleted.')
    assert.notEqual(await verdictOf('bridges'), 'empty')
    fault = () => undefined
    assert.equal((await remove('bridges')).status, 'completed')
  })

  test('a VLAN whose device would have too long a name is a wrong field with that name', async () => {
    const task = await set('bridges', { bridges: [bridge(914, { nic: 'enp129s0f1np1' })] })
    assert.deepEqual([task.status, task.code], ['failed', 'INVALID_REQUEST'])
    assert.match(task.message, /the name enp129s0f1np1\.914 is longer than 15 characters/)
    assert.equal((await remove('bridges')).status, 'completed')
  })

  test('two default gateways, and a node without a known network manager, are refused by name, and no network is changed', async () => {
    const two = (['10.3.0', '10.4.0'] as const).map((net, at) => ({ name: `cloudbr${at + 5}`, kind: 'bridge' as const, members: [`eth${at + 3}`], addresses: [`${net}.11/24`], gateway: `${net}.1` })) // biome-ignore format: one list
    const gateways = await set('network', { devices: two })
    assert.equal(gateways.code, 'INVALID_REQUEST')
    assert.match(gateways.message, /only one gateway of IPv4 is possible, not 10\.3\.0\.1 and 10\.4\.0\.1/)
    const [one] = two
    says(await set('network', { devices: one === undefined ? [] : [one] }), 'DESIRED_CONFLICT', 'The node has no network manager that is known: netplan, NetworkManager, systemd-networkd or ifupdown.') // biome-ignore format: one sentence
    assert.equal(await verdictOf('network'), 'empty')
  })

  test('a bridge below a VLAN of others is not removed, and the answer names both', async () => {
    node.put('etc/network/interfaces', 'auto lo\niface lo inet loopback\n')
    const document = { devices: [{ name: 'cloudbr5', kind: 'bridge' as const, members: ['eth3'] }] }
    assert.equal((await set('network', document)).status, 'completed')
    await node.client().agentDesiredConfirm({ params: { area: 'network' }, body: { hash: documentHash(document) } })
    const vlan = ['link', 'add', 'link', 'cloudbr5', 'name', 'cloudbr5.77', 'type', 'vlan', 'id', '77']
    assert.equal((await node.host.run('ip', vlan)).exit_code, 0)
    says(await remove('network'), 'DESIRED_CONFLICT', 'cloudbr5 cannot be removed: cloudbr5.77 stands on it; remove that first.') // biome-ignore format: one sentence
    assert.equal(await verdictOf('network'), 'in_sync')
  })
})
