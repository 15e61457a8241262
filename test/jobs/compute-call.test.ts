// One call of the platform through every crash, failure and repetition: it is sent once, and done only when it is seen.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { CloudStackLab } from '../../lab/cloudstack/server.ts'
import { seededId, wellKnown } from '../../lab/site.ts'
import { type BoundJob, bindJob } from '#src/jobs/define.ts'
import type { JobRow } from '#src/jobs/job-row.ts'
import { type CallInput, computeCall } from '#src/modules/compute/call.job.ts'
import type { Database } from '#src/store/database.ts'
import { crashEverywhere, failEverywhere, repeatEverywhere, type Walk } from '../support/job-harness.ts'
import { startWalkPlatform, type WalkPlatform } from '../support/walk-platform.ts'

const VM = wellKnown.vms['db-01']
const VOLUME = seededId('volume', `${VM}/DATADISK`)
let site: WalkPlatform
before(async () => {
  site = await startWalkPlatform()
})
after(() => site.close())

const detach: CallInput = {
  command: 'detachVolume',
  args: { id: VOLUME },
  creates: false,
  slow: false,
  postcondition: { thing: 'volume', args: { id: VOLUME }, expect: { virtualmachineid: null } },
  resource_type: 'VOLUME',
  done: 'Detached.',
}

const nicOf = (platform: CloudStackLab) => platform.state.tables.vms.get(VM)?.nics[0]

/** The platform makes the address before it queues the job. */
function addAddress(platform: CloudStackLab): CallInput {
  return {
    command: 'addIpToNic',
    args: { nicid: nicOf(platform)?.id ?? '' },
    creates: true,
    slow: false,
    postcondition: { thing: 'secondary_ip', args: { id: VM }, where: { id: '$id' }, expect: {} },
    resource_type: 'VM',
    done: 'Added.',
  }
}

async function makeFixture(
  inputOf: (platform: CloudStackLab) => CallInput,
): Promise<{ fixture: CloudStackLab; bound: BoundJob; input: CallInput }> {
  const { platform, cloudstack } = site
  platform.reset()
  const deps = {
    cloudstack,
    get database(): Database {
      throw new Error('these calls write no details of a machine')
    },
  }
  return { fixture: platform, bound: bindJob(computeCall, deps), input: inputOf(platform) }
}

const isDetached = (platform: CloudStackLab) => platform.state.tables.volumes.get(VOLUME)?.virtualmachineid === null

const walk: Walk<CloudStackLab> = {
  make: () => makeFixture(() => detach),
  completed(platform, job: JobRow, where) {
    assert.equal(job.job_status, 'completed', `${where}: ${job.failure_reason}`)
    assert.ok(isDetached(platform), where)
  },
  failed(_platform, job, where) {
    assert.equal(job.job_status, 'failed', where)
  },
}

const addresses = (platform: CloudStackLab) => nicOf(platform)?.secondaryips.length
const making: Walk<CloudStackLab> = {
  make: () => makeFixture(addAddress),
  completed(platform, job, where) {
    assert.equal(job.job_status, 'completed', `${where}: ${job.failure_reason}`)
    assert.equal(addresses(platform), 1, where)
  },
  failed(platform, job, where) {
    assert.equal(job.job_status, 'failed', where)
    assert.equal(addresses(platform), 0, where)
  },
}

test('a process killed at any point is followed by one that ends with a change that is done and seen', async () => {
  const points = await crashEverywhere(walk)
  assert.ok(points.includes('detachVolume:sent'), points.join())
})

test('what the platform makes before its job is made once, wherever the process is killed', async () => {
  const unsent: Walk<CloudStackLab> = {
    ...making,
    may_fail: 'killed before it sends, what was to be sent looks like what was lost, and must not be sent twice',
  }
  assert.ok((await crashEverywhere(unsent)).includes('addIpToNic:sent'))
})

test('a failure of any step fails the job', async () => {
  assert.equal(await failEverywhere(walk), 3)
})

test('every step may run twice, also for what the platform makes before its job', async () => {
  await repeatEverywhere(walk)
  await repeatEverywhere(making)
})

test('what was made is verified by its own id, also when the answer was lost', async () => {
  const made = await making.make()
  const body = JSON.stringify({ command: 'addIpToNic', times: 1 })
  await fetch(`${made.fixture.control_url}/lose-answer`, { method: 'POST', body })
  await repeatEverywhere({ ...making, make: async () => made })
})
