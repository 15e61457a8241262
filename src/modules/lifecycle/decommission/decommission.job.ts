// Job: a node is taken out of service (decommissionStart). Its machines move, its host, its place in the management cluster, its
// credentials, its data and its addresses go, in this order; what could not be done is left as an outstanding action.
import { defineJob } from '#src/jobs/define.ts'
import { forgetSystem } from '#src/store/nodes.ts'
import { moveNode } from '#src/store/node-lifecycle.ts'
import { addressRelease, dhcpRelease, dnsRemove } from '../leave/addresses.ts'
import { MANAGEMENT_CHANGES } from '../cluster/ports.ts'
import { leaveCluster, moveAway } from '../leave/cluster.ts'
import { fabricRemove, nodeTeardown, powerOff, revoke } from '../leave/node.ts'
import { fence } from '../leave/fence.ts'
import { cordon, destroyVms, hostDelete, maintenance, migrate, systemVms } from '../leave/platform.ts'
import { type LeaveDeps, LeaveInput, LeaveState, type LeaveStep, withSkips } from '../leave/run.ts'
import { storageDrain, storageRemove } from '../leave/storage.ts'
import { mediaCleanup, wipeBoot, wipeWait } from '../leave/wipe.ts'
import { DECOMMISSION_STEPS as TITLES } from './steps.ts'

const admit: LeaveStep = {
  name: 'admit',
  title: TITLES.admit,
  async run(run) {
    const { destroy, wipe, disks, findings } = run.input
    await run.note('INFO', `Admitted by ${run.caller.username}.`, {
      destroy: destroy.map(({ name }) => name),
      wipe,
      disks,
    })
    for (const finding of findings) await run.note('INFO', finding)
  },
}

const finish: LeaveStep = {
  name: 'finish',
  title: TITLES.finish,
  run: (run) =>
    run.fenced(async (trx) => {
      const { node_id } = await moveNode(trx, run.input.bmc_ip, 'decommissioning', 'discovered', run.job_id)
      await forgetSystem(trx, node_id)
    }),
}

export const decommissionStartJob = defineJob<LeaveDeps>()({
  type: 'node.decommission',
  input: LeaveInput,
  state: LeaveState,
  resource_type: 'NODE',
  limits: [
    { of: ({ bmc_ip }) => `node ${bmc_ip}`, most: 1, refuse: 'NODE_JOB_RUNNING' },
    { of: ({ role }) => (role === 'management' ? MANAGEMENT_CHANGES : undefined), most: 1 },
  ],
  steps: withSkips([
    admit, cordon, fence, migrate, destroyVms, systemVms, ...moveAway, maintenance, ...leaveCluster, storageDrain, storageRemove, hostDelete, fabricRemove, nodeTeardown({ network: false }),
    revoke, wipeBoot, wipeWait, mediaCleanup, powerOff, dhcpRelease, dnsRemove, addressRelease({ rolls_back: false }), finish,
  ]), // biome-ignore format: in their order
  // A failure holds the node for a retry; a cancel, which is possible until the host is in maintenance, brings it back into service.
  on_failure: 'undo_cancelled',
  undo: async (run) => {
    await run.fenced((trx) => moveNode(trx, run.input.bmc_ip, 'decommissioning', run.input.state, run.job_id))
  },
  done: ({ input }) => `Node ${input.bmc_ip} is free.`,
})
