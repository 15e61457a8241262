// nodeSetupStart: from a machine with an agent to a hypervisor or a management node, step by step (node-lifecycle.md 6). A setup that
// fails undoes nothing itself: the rollback that follows it reads what is there, whatever the setup believes to have done.
import { defineJob, followUp } from '#src/jobs/define.ts'
import { enrolConfigured, moveNode } from '#src/store/node-lifecycle.ts'
import { findNode } from '#src/store/nodes.ts'
import { MANAGEMENT_CHANGES } from '../cluster/ports.ts'
import { rollbackAdmission, rollbackStartJob } from '../rollback/rollback.job.ts'
import { addressesAreHeld, allocateAddresses, hasNames, nameIsPublished, planAddresses, publishName, wantsAddresses } from './addresses.ts' // biome-ignore format: one line
import { area, type SetupStep } from './area-step.ts'
import { baseOf, bridgesOf, hypervisorOf, networkOf, platformAgentOf } from './documents.ts'
import { hasFabric, joinFabric } from './fabric.ts'
import { discoverGpus, hasGpus } from './gpus.ts'
import { enableHost, hostIsEnabled, hostIsUp, registerHost } from './host.ts'
import { SetupInput, type SetupDeps, type SetupRun, SetupState } from './input.ts'
import { joinSteps } from './join.ts'
import { checkBmc, connectAgent, hasBmc } from './machine.ts'
import { verifyNetwork } from './network-check.ts'
import { connectStore, hasStore } from './store.ts'

const MINUTES = 60_000

const forHypervisors = ({ input }: SetupRun): string | true => input.role === 'compute' || 'a management node is no hypervisor' // biome-ignore format: one rule
const notPartOfSetup = (what: string) => (): string => `setup does not ${what}: use its own tools`

const hasPlatform = (run: SetupRun): string | true => {
  if (!run.deps.cloudstack.configured) return 'no compute platform is configured'
  return forHypervisors(run)
}

const steps: readonly SetupStep[] = [
  { name: 'bmc-check', title: 'Check the BMC', applies: hasBmc, run: checkBmc },
  { name: 'agent-connect', title: 'Reach the agent', run: connectAgent },
  { name: 'plan', title: 'Plan addresses and network', run: planAddresses },
  {
    name: 'addresses',
    title: 'Allocate addresses',
    applies: wantsAddresses,
    holds: addressesAreHeld,
    run: allocateAddresses,
  },
  {
    name: 'dns',
    title: 'Publish the name',
    applies: hasNames,
    holds: nameIsPublished,
    run: publishName,
  },
  {
    name: 'network-apply',
    title: 'Apply the network',
    weight: 3,
    applies: async (run) => (await networkOf(run)) !== null || 'no interface is assigned beside that of management',
    ...area('network', networkOf),
  },
  { name: 'network-verify', title: 'Verify the network', run: verifyNetwork },
  {
    name: 'base-system',
    title: 'Prepare the operating system',
    weight: 2,
    timeout_ms: 20 * MINUTES,
    ...area('base', baseOf),
  },
  {
    name: 'hypervisor',
    title: 'Install the hypervisor',
    weight: 5,
    timeout_ms: 60 * MINUTES,
    applies: forHypervisors,
    ...area('hypervisor', hypervisorOf),
  },
  {
    name: 'bridges',
    title: 'Make the bridges of guest networks',
    applies: async (run) => {
      if (run.input.role !== 'compute') return forHypervisors(run)
      return (await bridgesOf(run)).bridges.length > 0 || 'no guest network that is built on nodes is asked for'
    },
    ...area('bridges', bridgesOf),
  },
  {
    name: 'storage-client',
    title: 'Connect to the distributed store',
    weight: 2,
    timeout_ms: 60 * MINUTES,
    applies: hasStore,
    ...connectStore,
  },
  {
    name: 'storage-disks',
    title: 'Give disks to the distributed store',
    applies: notPartOfSetup('give disks to the distributed store'),
    run: async () => {},
  },
  {
    name: 'platform-agent',
    title: 'Install the agent of the platform',
    weight: 3,
    timeout_ms: 60 * MINUTES,
    applies: hasPlatform,
    ...area('platform-agent', platformAgentOf),
  },
  {
    name: 'host-register',
    title: 'Register the host with the platform',
    weight: 3,
    timeout_ms: 30 * MINUTES,
    applies: hasPlatform,
    holds: hostIsUp,
    run: registerHost,
  },
  {
    name: 'fabric',
    title: 'Join the fabric',
    weight: 2,
    timeout_ms: 30 * MINUTES,
    applies: hasFabric,
    ...joinFabric,
  },
  { name: 'gpu', title: 'Discover GPUs', applies: hasGpus, run: discoverGpus },
  {
    name: 'enable',
    title: 'Offer the host to machines',
    applies: hasPlatform,
    holds: hostIsEnabled,
    run: enableHost,
  },
  ...joinSteps,
  {
    name: 'enrol',
    title: 'Enrol with monitoring and benchmarks',
    holds: async ({ deps, input }) => {
      const node = await findNode(deps.database.db, input.bmc_ip)
      return node?.role === input.role && node.benchmark_enabled === input.benchmark_enabled
    },
    run: (run) => {
      const { bmc_ip, role, benchmark_enabled } = run.input
      return run.fenced((trx) => enrolConfigured(trx, bmc_ip, { role, benchmark_enabled }))
    },
  },
  {
    name: 'finish',
    title: 'Put the node into service',
    run: async (run) => {
      await run.fenced((trx) => moveNode(trx, run.input.bmc_ip, 'configuring', 'configured', run.job_id))
    },
  },
]

export const nodeSetupStartJob = defineJob<SetupDeps>()({
  type: 'node.setup',
  input: SetupInput,
  state: SetupState,
  resource_type: 'NODE',
  limits: [
    { of: ({ bmc_ip }) => `node ${bmc_ip}`, most: 1, refuse: 'NODE_JOB_RUNNING' },
    { of: () => 'setups of nodes', most: ({ setup }) => setup.parallel },
    { of: ({ role }) => (role === 'management' ? MANAGEMENT_CHANGES : undefined), most: 1 },
  ],
  steps,
  on_failure: 'stop',
  async failed({ input: { bmc_ip, role, hold_on_failure }, state, caller, job_id }, trx) {
    const node = await moveNode(trx, bmc_ip, ['configuring', 'configured'], 'configure_failed', job_id)
    if (hold_on_failure) return undefined
    const admission = await rollbackAdmission(trx, node, { by: caller.username, role, seen: state })
    return followUp('rollback', rollbackStartJob, 'rollbackStart', admission)
  },
  done: ({ input }) => `Node ${input.bmc_ip} is in service as ${input.role}.`,
})
