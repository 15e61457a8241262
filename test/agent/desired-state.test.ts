// Desired state of a node over the agent's HTTPS: what is applied, compared, removed, and refused.
import assert from 'node:assert/strict'
import { existsSync, lstatSync, readlinkSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import type { DesiredDocuments, DesiredTask } from '#src/contract/nodes/agent-desired.ts'
import type { BaseDocument } from '#src/contract/nodes/desired-documents.ts'
import { documentHash } from '#src/kernel/document-hash.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { JobClaim } from '#src/kernel/job-claim.ts'
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

  test('a document that arrives changed, an unknown area, an unknown task and a useless guard are refused', async () => {
    await assert.rejects(set('base', BASE, { hash: 'b'.repeat(64) }), rejected('DESIRED_HASH_MISMATCH'))
    await assert.rejects(set('base', BASE, { guard_seconds: 60 }), rejected('INVALID_REQUEST', /does not revert/))
    await assert.rejects(
      node.client().agentDesiredGet({ params: { area: 'failover' } }),
      rejected('DESIRED_AREA_UNSUPPORTED', /failover/),
    )
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
    assert.equal((await remove('base')).status, 'completed')
    assert.equal(node.text('srv/hosts'), HOSTS)
  })
})
