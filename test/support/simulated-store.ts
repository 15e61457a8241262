// The simulated distributed store with the client that speaks to it, in one process.
import assert from 'node:assert/strict'
import { cephState, simulatedCeph, type SimulatedCeph } from '../../lab/ceph/cluster.ts'
import { type Ceph, createCeph } from '#src/drivers/ceph/client.ts'
import { checkConfig } from '#src/kernel/config.ts'

export function simulatedStore(hosts: readonly string[]): SimulatedCeph & { ceph: Ceph } {
  const cluster = simulatedCeph(cephState(hosts))
  const { ceph: settings } = checkConfig({ ceph: { conf: '/etc/ceph/ceph.conf' } })
  const ceph = createCeph(settings, {
    run: async (_tool, args, { stdin = '' } = {}) => ({ outcome: 'exited', ...cluster.answer(args, stdin) }),
  })
  return { ...cluster, ceph: ceph ?? assert.fail() }
}
