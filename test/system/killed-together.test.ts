// The control plane and the platform die together, as when the power fails: what was ordered is finished once both are back.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { type CloudStackLab, startCloudStack } from '../../lab/cloudstack/server.ts'
import { wellKnown } from '../../lab/site.ts'
import { type ControlProcess, type Production, startProduction } from '../support/control-process.ts'
import { freeTcpPort } from '../support/free-port.ts'
import { createTestDatabase, type TestDatabase } from '../support/test-database.ts'
import { until } from '../support/until.ts'

const DISKS = 8
const folder = mkdtempSync(join(tmpdir(), 'gp-killed-'))
let database: TestDatabase | undefined
let platform: CloudStackLab | undefined
let production: Production | undefined
after(async () => {
  await production?.close()
  await platform?.close()
  await database?.drop()
  rmSync(folder, { recursive: true, force: true })
})

function startPlatform(port: number): Promise<CloudStackLab> {
  return startCloudStack({ time: 'step', port, state_file: join(folder, 'platform.journal') })
}

test('disks whose attaching was under way when everything died are attached once', { timeout: 300_000 }, async () => {
  database = await createTestDatabase()
  const platform_port = await freeTcpPort()
  const first = await startPlatform(platform_port)
  platform = first
  const { host, port, user, database: name } = database.connection
  const database_url = `postgres://${user}@localhost:${port}/${name}?host=${encodeURIComponent(host)}`
  production = await startProduction({ database_url, platform: first })
  const replica = await production.startReplica()
  const { vms, vmsnapshots } = first.state.tables
  const plain = vms.filter((vm) => vm.state === 'Running' && vmsnapshots.by('vm', vm.id).length === 0)
  const orders = await Promise.all(
    plain.slice(0, DISKS).map(async ({ id }) => {
      const order = { virtual_machine_id: id, disk_offering_id: wellKnown.disk_offerings['ssd-20'] }
      const reply = await replica.call('POST', '/compute/vms/create-and-attach-disk', order)
      assert.equal(reply.status, 200, reply.text)
      const { job_id, resource_id }: Record<string, string> = reply.body
      return { job_id: job_id ?? '', volume_id: resource_id ?? '', vm_id: id }
    }),
  )
  assert.equal(orders.length, DISKS)
  const volume = (lab: CloudStackLab, id: string) => lab.state.tables.volumes.get(id)
  // Only then time passes there: of disks that come one after the other never half would be at the same point.
  await until('all disks are being made', () => orders.every(({ volume_id }) => volume(first, volume_id) !== null))
  await until('half of the disks are being attached', () => {
    const attaching = orders.filter(({ volume_id }) => volume(first, volume_id)?.state === 'Attaching').length
    if (attaching >= DISKS / 2) return true
    if (attaching === 0) first.step()
    return false
  })
  await Promise.all([replica.end('SIGKILL'), first.close()])
  const second = await startPlatform(platform_port)
  platform = second
  const next = await production.startReplica()
  for (const { job_id, volume_id, vm_id } of orders) {
    const job = await ended(second, next, job_id)
    assert.equal(job.job_status, 'completed', job.failure_reason)
    const row = volume(second, volume_id)
    assert.deepEqual([row?.virtualmachineid, row?.state], [vm_id, 'Ready'])
  }
})

function ended(lab: CloudStackLab, replica: ControlProcess, job_id: string) {
  return until(`job ${job_id} ends`, async () => {
    lab.step()
    const { status, body } = await replica.call('GET', `/jobs/${job_id}`)
    return status === 200 && body.job_status !== 'running' && body
  })
}
