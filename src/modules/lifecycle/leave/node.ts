// Steps on the node itself and at our own door: its configuration, its credentials, its power.
import { DESIRED_AREAS, type DesiredAreaName } from '#src/contract/nodes/agent-desired.ts'
import { chooseResetType, readPower, readResetTypes, sendReset } from '#src/drivers/redfish/power.ts'
import type { Holds } from '#src/jobs/define.ts'
import { ApiError, UpstreamError } from '#src/kernel/errors.ts'
import { asApiError } from '#src/kernel/http/errors.ts'
import { lockNode, revokeAgent } from '#src/store/nodes.ts'
import { DECOMMISSION_STEPS as TITLES } from '../decommission/steps.ts'
import { readDesired, removeDesired } from '../desired.ts'
import { ownNics } from '../setup/machine.ts'
import { type LeaveRun, type LeaveStep, nodeOf } from './run.ts'

export const fabricRemove: LeaveStep = {
  name: 'fabric-remove',
  title: TITLES['fabric-remove'],
  applies: () => 'No controller of the fabric is configured: the routers on the node go with its configuration.',
  run: async () => {},
}

export const revoke: LeaveStep = {
  name: 'revoke',
  title: TITLES.revoke,
  holds: async (run) => (await nodeOf(run)).certificate === null,
  run: (run) =>
    run.fenced(async (trx) => {
      const row = await lockNode(trx, run.input.bmc_ip)
      if (row !== undefined) await revokeAgent(trx, row, 'the node left')
    }),
}

export const powerOff: LeaveStep = {
  name: 'power-off',
  title: TITLES['power-off'],
  applies: ({ input }) => (input.power_off ? true : 'The caller wants the machine to stay on.'),
  holds: isOff,
  run: switchOff,
  outstanding: async ({ input }) => [
    `Check that the machine of BMC ${input.bmc_ip} is switched off: its BMC does not say so.`,
  ],
}

/** Unknown while the BMC does not answer. */
export async function isOff(run: LeaveRun): Promise<Holds> {
  try {
    const bmc = await run.deps.bmcs.open(run.input)
    return (await readPower(bmc, { signal: run.signal })).power_on === false
  } catch (error) {
    return unknownAfter(run, error)
  }
}

/** What an unreachable system leaves open; everything else ends the step. */
export async function unknownAfter(run: LeaveRun, error: unknown): Promise<'unknown'> {
  if (!(error instanceof ApiError || error instanceof UpstreamError)) throw error
  run.signal.throwIfAborted()
  await run.note('WARN', asApiError(error, null).message)
  return 'unknown'
}

async function switchOff(run: LeaveRun): Promise<void> {
  try {
    const bmc = await run.deps.bmcs.open(run.input)
    const types = await readResetTypes(bmc, { signal: run.signal })
    await sendReset(bmc, chooseResetType('off', types), { signal: run.signal })
    const deadline = Date.now() + run.deps.config.bmc.patience_seconds * 1000
    while ((await readPower(bmc, { signal: run.signal })).power_on !== false && Date.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, run.deps.config.bmc.follow_ms))
      run.signal.throwIfAborted()
    }
  } catch (error) {
    await unknownAfter(run, error)
  }
}

const target = (run: LeaveRun) => ({ agents: run.deps.agents, node: () => nodeOf(run) })

/** Nothing is read or removed through an agent that runs on another machine by now. */
async function requireOwnMachine(run: LeaveRun): Promise<void> {
  await ownNics(run.deps, await nodeOf(run), { signal: run.signal, job: run })
}

async function isEmpty(run: LeaveRun, area: DesiredAreaName): Promise<boolean> {
  const { verdict, pending } = await readDesired(target(run), run, area)
  return verdict === 'empty' && pending === null
}

/** Whether the agent says that nothing of our network is on the node; unknown without its word. */
export async function hasNoNetwork(run: LeaveRun): Promise<Holds> {
  if ((await nodeOf(run)).certificate === null) return 'unknown'
  try {
    await requireOwnMachine(run)
    return await isEmpty(run, 'network')
  } catch (error) {
    return unknownAfter(run, error)
  }
}

/** What depends on others comes first; the network last, for everything else goes through it. */
const AREAS = DESIRED_AREAS.toReversed()

/**
 * Takes our configuration off the node. A wipe supersedes it, so a node that does not answer is no reason to stop. `network`: also
 * its network, which then is as it was before its setup.
 */
export function nodeTeardown({ network }: { network: boolean }): LeaveStep {
  const areas = AREAS.filter((area) => network || area !== 'network')
  return {
    name: 'node-teardown',
    title: TITLES['node-teardown'],
    weight: 3,
    applies: async (run) => ((await nodeOf(run)).certificate === null ? 'The node has no agent.' : true),
    async holds(run): Promise<Holds> {
      try {
        await requireOwnMachine(run)
        for (const area of areas) if (!(await isEmpty(run, area))) return false
        return true
      } catch (error) {
        return unknownAfter(run, error)
      }
    },
    async run(run) {
      try {
        await requireOwnMachine(run)
        for (const area of areas) if (!(await isEmpty(run, area))) await removeDesired(target(run), run, area)
      } catch (error) {
        await unknownAfter(run, error)
      }
    },
    outstanding: async ({ input }) => [
      `Node ${input.bmc_ip} did not let its configuration be removed: wipe it, or install it from scratch.`,
    ],
  }
}
