/** Snapshots, backups and restoring in the simulated compute platform. */
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, test } from 'node:test'
import { wellKnown } from '../../lab/site.ts'
import { errorOf, fields, startLab } from './cloudstack-client.ts'
import type { LabClient } from './cloudstack-client.ts'
import { stepsOf } from './cloudstack-steps.ts'

const { vms, templates } = wellKnown

let client: LabClient
before(async () => {
  client = await startLab()
})
after(() => client.lab.close())
beforeEach(() => {
  client.lab.reset()
})
const { vm, stop } = stepsOf(() => client)

describe('copies', () => {
  test('a stopped machine goes back to a disk snapshot, a running one only to one with memory', async () => {
    const { id } = await client.ok('createVMSnapshot', { virtualmachineid: vms['web-01'], name: 's' })
    client.lab.step()
    assert.match(
      errorOf(await client.job('revertToVMSnapshot', { vmsnapshotid: String(id) })).text,
      /revert not allowed/,
    )
    await stop(vms['web-01'])
    assert.equal((await client.job('revertToVMSnapshot', { vmsnapshotid: String(id) }))['jobstatus'], 1)
    assert.equal(
      (await client.rows('listVMSnapshot', { virtualmachineid: vms['web-01'], listall: true }))[0]?.['displayname'],
      's',
    )
    assert.ok(Array.isArray((await client.ok('listVMSnapshot', { listall: true }))['vmSnapshot']))
    assert.equal((await client.job('deleteVMSnapshot', { vmsnapshotid: String(id) }))['jobstatus'], 1)
  })

  test('a backup comes back onto a stopped machine', async () => {
    const [backup] = await client.rows('listBackups', { virtualmachineid: vms['db-01'], listall: true })
    await stop(vms['db-01'])
    const job = await client.job('restoreBackup', { id: String(backup?.['id']) })
    assert.deepEqual([job['jobstatus'], fields(job['jobresult'])['success']], [1, true])
    assert.equal((await vm(vms['db-01']))['state'], 'Stopped')
  })

  test('restoring from a template gives the machine a new root disk', async () => {
    const root = async (): Promise<unknown> =>
      (await client.rows('listVolumes', { virtualmachineid: vms['web-01'], type: 'ROOT', listall: true }))[0]?.['id']
    const before = await root()
    const answer = await client.send('restoreVirtualMachine', {
      virtualmachineid: vms['web-01'],
      templateid: templates['Rocky Linux 9'],
    })
    assert.equal(answer.wrapper, 'restorevmresponse')
    client.lab.step()
    assert.notEqual(await root(), before)
    assert.equal((await vm(vms['web-01']))['templatename'], 'Rocky Linux 9')
  })
})
