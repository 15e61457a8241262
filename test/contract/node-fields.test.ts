// What nodes report says in the contract where it comes from.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FrrNode } from '#src/contract/network/frr.ts'
import { NodeNet } from '#src/contract/network/node-net.ts'
import { Disk, LocalpoolSubsystem } from '#src/contract/storage/host.ts'
import { schemaFields } from '../../tools/schema-fields.ts'

const INNER = [
  'KernelNet',
  'SocketCounts',
  'MainBridge',
  'MtuMismatch',
  'MonitoredNic',
  'QueueDiscipline',
  'RingBuffer',
]

for (const [name, schema] of Object.entries({ NodeNet, FrrNode, Disk, LocalpoolSubsystem })) {
  test(`every field of ${name} names the file, command or rule that it comes from`, () => {
    const silent = schemaFields(schema, INNER)
      .filter(({ path, description }) => !path.startsWith('unavailable') && !description.includes('Source: '))
      .map(({ path }) => path)
    assert.deepEqual(silent, [])
  })
}
