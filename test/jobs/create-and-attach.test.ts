// Creating and attaching a disk through every crash, failure and repetition: afterwards there is exactly one volume, attached
// to its machine, or none at all.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { CloudStackLab } from '../../lab/cloudstack/server.ts'
import { wellKnown } from '../../lab/site.ts'
import { encodeArgs } from '#src/drivers/cloudstack/args.ts'
import { bindJob } from '#src/jobs/define.ts'
import type { JobRow } from '#src/jobs/job-row.ts'
import { vmDiskCreateJob } from '#src/modules/compute/disk-create.job.ts'
import { crashEverywhere, failEverywhere, repeatEverywhere, type Walk } from '../support/job-harness.ts'
import { NOBODY } from '../support/platform-calls.ts'
import { startWalkPlatform, type WalkPlatform } from '../support/walk-platform.ts'

const VM = wellKnown.vms['db-01']
const VOLUME_ID = '5d1f4a38-0b5c-4b0e-9a65-0d4d3f2b7a11'
let site: WalkPlatform
before(async () => {
  site = await startWalkPlatform()
})
after(() => site.close())

interface Fixture {
  platform: CloudStackLab
  count: number
}

async function makeFixture(): Promise<{ fixture: Fixture; bound: ReturnType<typeof bindJob>; input: unknown }> {
  const { platform, cloudstack } = site
  platform.reset()
  const create = encodeArgs({
    name: 'more',
    zoneid: wellKnown.zone,
    diskofferingid: wellKnown.disk_offerings['ssd-20'],
    account: platform.state.tables.accounts.get(platform.state.tables.vms.get(VM)?.accountid)?.name,
    domainid: platform.state.tables.accounts.get(platform.state.tables.vms.get(VM)?.accountid)?.domainid,
  })
  const input = {
    name: 'more',
    volume_id: VOLUME_ID,
    virtual_machine_id: VM,
    virtual_machine_name: 'db-01',
    device_id: null,
    create,
  }
  return {
    fixture: { platform, count: platform.state.tables.volumes.size },
    bound: bindJob(vmDiskCreateJob, { cloudstack }),
    input,
  }
}

function attachedOnce({ platform, count }: Fixture, job: JobRow, where: string): void {
  const { volumes } = platform.state.tables
  assert.equal(job.job_status, 'completed', `${where}: ${job.failure_reason}`)
  assert.equal(volumes.size, count + 1, where)
  assert.deepEqual([volumes.get(VOLUME_ID)?.virtualmachineid, volumes.get(VOLUME_ID)?.state], [VM, 'Ready'], where)
}

function noneLeft({ platform, count }: Fixture, job: JobRow, where: string): void {
  const { volumes } = platform.state.tables
  // An attached volume holds data of a guest that may use it already: it stays, and the job says so.
  const attached = volumes.get(VOLUME_ID)?.virtualmachineid === VM
  assert.equal(volumes.size, attached ? count + 1 : count, `${where}: ${job.failure_reason}`)
  if (attached) assert.match(job.status, /is attached and was left alone/, where)
}

const walk: Walk<Fixture> = { make: makeFixture, completed: attachedOnce, failed: noneLeft }

test('a process killed at any point is followed by one that ends with exactly one volume, attached', async () => {
  const points = await crashEverywhere(walk)
  for (const command of ['createVolume', 'attachVolume']) assert.ok(points.includes(`${command}:sent`), command)
})

test('a failure of any step leaves no volume behind, unless the guest has it', async () => {
  assert.equal(await failEverywhere(walk), 3)
})

test('every step may run twice', async () => {
  await repeatEverywhere(walk)
})

for (const command of ['createVolume', 'attachVolume']) {
  test(`a lost answer of ${command} makes no second volume`, async () => {
    const { fixture, bound, input } = await makeFixture()
    const body = JSON.stringify({ command, times: 1 })
    await fetch(`${fixture.platform.control_url}/lose-answer`, { method: 'POST', body })
    await repeatOnce({ fixture, bound, input }, attachedOnce)
  })
}

test('a volume that the platform refuses is none', async () => {
  const { fixture, bound, input } = await makeFixture()
  const refused = { ...(input as object), create: { name: 'more', zoneid: wellKnown.zone, diskofferingid: NOBODY } }
  await repeatOnce({ fixture, bound, input: refused }, (after, job, where) => {
    assert.deepEqual([job.job_status, job.failure_code], ['failed', 'RESOURCE_NOT_FOUND'], where)
    noneLeft(after, job, where)
  })
})

/** One clean run. */
async function repeatOnce(
  made: Awaited<ReturnType<typeof makeFixture>>,
  check: (fixture: Fixture, job: JobRow, where: string) => void,
): Promise<void> {
  await repeatEverywhere({ make: async () => ({ ...made, bound: { ...made.bound } }), completed: check, failed: check })
}
