// Two hundred callers at once at the built-in IPAM, over four replicas on one database.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { unconfiguredDhcp, unconfiguredDns } from '#src/drivers/ddi/unconfigured.ts'
import { ok, refused } from '../support/address-steps.ts'
import { type Replicas, startReplicas } from '../support/address-storm.ts'
import type { Reply } from '../support/http.ts'

const CALLERS = 200
const ROOM = 150

let replicas: Replicas
before(async () => {
  replicas = await startReplicas(4, () => ({ dhcp: unconfiguredDhcp(), dns: unconfiguredDns() }))
})
after(() => replicas?.close())

test('two hundred callers at four replicas get every free address of a prefix once, and the others a clear answer', async () => {
  const { call } = replicas
  const prefix = { cidr: '10.86.0.0/24', gateway: '10.86.0.1', excluded_ranges: ['10.86.0.152-10.86.0.254'] }
  const { id, total } = ok(await call('POST', '/ddi/ipam/prefixes', prefix), 201).data
  assert.equal(total, ROOM)
  const allocate = (number: number): Promise<Reply> =>
    call('POST', `/ddi/ipam/prefixes/${id}/addresses`, { owner_kind: 'node', owner_id: `node-${number}` })
  const replies = await Promise.all(Array.from({ length: CALLERS }, (_, number) => allocate(number)))
  const made = replies.flatMap((reply) => (reply.status === 201 ? [reply.body.data.address as string] : []))
  assert.deepEqual([made.length, new Set(made).size], [ROOM, ROOM])
  for (const reply of replies.filter((one) => one.status !== 201)) refused(reply, 409, 'IPAM_PREFIX_FULL', String(id))
  assert.equal(ok(await call('GET', `/ddi/ipam/addresses?prefix_id=${id}`)).data.total_count, ROOM)
})
