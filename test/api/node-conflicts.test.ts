// Two things that want the same node or network at once, over real agents on captured hosts: one goes on, the other gets an error.
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import type { LabAgents } from '../../lab/agents.ts'
import { wellKnown } from '../../lab/site.ts'
import { ended, NOBODY } from '../support/platform-calls.ts'
import { startEnrolledAgents } from '../support/enrolled-agents.ts'
import { type Lab, startLab } from '../support/start-lab.ts'
import type { Reply } from '../support/http.ts'
import { until } from '../support/until.ts'

suite('conflicts on nodes', () => {
  let lab: Lab
  let agents: LabAgents
  let order: object
  before(async () => {
    lab = await startLab({ config: { nodes: { heartbeat_interval_ms: 300, offline_after_ms: 60_000 } } })
    agents = await startEnrolledAgents(lab, ['kvm-01', 'kvm-02'])
    const { body } = await lab.call('POST', '/network/guest-networks/list', {})
    const l2 = body.guest_networks.find((one: { type: string }) => one.type === 'L2')
    order = { zone_id: l2.zone_id, network_offering_id: l2.network_offering_id, kind: 'vlan', nic: 'bond0' }
  })
  after(async () => {
    await agents?.close()
    await lab?.close()
  })
  const waiting = { headers: { prefer: 'wait=60' } }
  const create = (name: string, segment_id: number, more: object = {}) =>
    lab.call('POST', '/network/guest-networks', { ...order, name, segment_id, ...more }, waiting)
  const at = (id: string): string => `/network/guest-networks/${id}`

  /** The first goes on; of the others at least one is refused with this code, and none fails in another way. */
  function oneAtATime(replies: readonly Reply[], code: string): void {
    const refused = replies.filter(({ status }) => status !== 200)
    assert.ok(refused.length > 0 && refused.length < replies.length, replies.map(({ text }) => text).join())
    for (const { status, body } of refused) assert.deepEqual([status, body.code], [409, code])
  }

  test('a network that machines use, or that has a job, is not deleted; one in an unknown zone is not made', async () => {
    const nowhere = await create('nowhere-801', 801, { zone_id: NOBODY })
    assert.deepEqual([nowhere.status, nowhere.body.code], [404, 'RESOURCE_NOT_FOUND'], nowhere.text)
    const made = await create('busy-800', 800)
    assert.equal(made.body.status, 'SUCCESS', made.text)
    const id: string = made.body.resource_id

    const check = () => lab.call('POST', `${at(id)}/check`, undefined, waiting)
    // A check is short: on a busy machine they may follow one another.
    const replies = await until('two of them meet', async () => {
      const all = await Promise.all([check(), check(), check(), check()])
      return all.some(({ status }) => status !== 200) && all
    })
    oneAtATime(replies, 'NETWORK_JOB_RUNNING')

    const vm = lab.platform.state.tables.vms.get(wellKnown.vms['web-01'])
    assert.ok(vm?.nics[0] !== undefined)
    const nic = { ...vm.nics[0], id: NOBODY.replace('4000', '4c01'), networkid: id, isdefault: false, secondaryips: [] }
    lab.platform.state.tables.vms.put({ ...vm, nics: [...vm.nics, nic] })
    const used = await lab.call('DELETE', at(id), undefined, waiting)
    assert.deepEqual([used.status, used.body.code], [409, 'NETWORK_IN_USE'], used.text)
    lab.platform.state.tables.vms.put(vm)
    assert.equal((await lab.call('DELETE', at(id), undefined, waiting)).body.status, 'SUCCESS')
  })

  test('of two rollouts of an MTU at once one is refused, and its nodes stay with the other', async () => {
    const declare = (management: number) => lab.call('PUT', '/network/mtu', { management })
    const replies = await Promise.all([declare(1400), declare(1400), declare(1400)])
    oneAtATime(replies, 'MTU_ROLLOUT_RUNNING')
    const won = replies.find(({ status }) => status === 200)
    assert.equal((await ended(lab, won?.body.job_id)).job_status, 'completed')
  })
})
