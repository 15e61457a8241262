// The steps by which a management node joins the cluster (node-lifecycle.md 6.3): its database, its control plane, its place in
// the list of members, and what is made of that list.
import { ha } from '#src/contract/ha/ha.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { haMembers, setHaMember } from '#src/store/ha-members.ts'
import { isCaughtUp, ownSlot, primaryOf, serversOf, slotOf, standbyDocument } from '../cluster/database.ts'
import { areRolledOut, holders, rollOut } from '../cluster/failover.ts'
import { answersPeers, servicesDocument } from '../cluster/services.ts'
import { memberOf, otherMembers } from '../cluster/ports.ts'
import { syncKeys } from '../cluster/keys.ts'
import { area, type SetupStep } from './area-step.ts'
import { nicsOf } from './facts.ts'
import type { SetupRun } from './input.ts'
import { nodeOf } from './machine.ts'

const MINUTES = 60_000
const HOURS = 60 * MINUTES
const SCRIPTS_MS = 30_000

const joins = ({ deps, input }: SetupRun): string | true => {
  if (input.role !== 'management') return 'a hypervisor is no member of the management cluster'
  return deps.cluster.own_address === undefined ? 'this control plane is no member of a cluster (ha.address)' : true
}

const withDatabase = (run: SetupRun): string | true => {
  const member = joins(run)
  if (member !== true) return member
  return run.deps.cluster.servers === undefined
    ? 'no database is replicated between the members (database.replication)'
    : true
}

const withFailover = (run: SetupRun): string | true => {
  const member = joins(run)
  if (member !== true) return member
  return run.deps.cluster.virtual_addresses.length === 0
    ? 'no address moves between the members (ha.virtual_addresses)'
    : true
}

/** Of the node on the cluster network. */
const addressOf = ({ state }: SetupRun): string => state.node_ip ?? ''

const database = area('database', standbyDocument)
const services = area('services', (run) => servicesDocument(run, addressOf(run)))

export const joinSteps: readonly SetupStep[] = [
  {
    name: 'trust',
    title: 'Check that the node has a certificate of the cluster',
    applies: joins,
    holds: async (run) => (await nodeOf(run)).certificate !== null,
    run: async ({ input }) => {
      throw new ApiError('NODE_STATE', `The agent of node ${input.bmc_ip} has not enrolled; make a token for it.`)
    },
    retries: 0,
  },
  {
    name: 'db-slot',
    title: 'Reserve the log that the database of the node will need',
    applies: withDatabase,
    holds: async (run) => {
      const slot = await ownSlot(run)
      return slot !== undefined && (!slot.active || slot.client_address === addressOf(run))
    },
    run: async (run) => {
      const { address } = await primaryOf(run)
      await serversOf(run).ensureSlot(address, slotOf(run.input), addressOf(run))
      await run.note('INFO', `The primary database on ${address} has the slot ${slotOf(run.input)}.`)
    },
  },
  {
    name: 'db-clone',
    title: 'Copy the database',
    weight: 10,
    timeout_ms: 12 * HOURS,
    applies: withDatabase,
    ...database,
  },
  {
    name: 'db-standby',
    title: 'Let the copy catch up',
    weight: 2,
    timeout_ms: 2 * HOURS,
    applies: withDatabase,
    holds: (run) => isCaughtUp(run, addressOf(run)),
    run: keepUp,
  },
  {
    name: 'services',
    title: 'Start the control plane',
    weight: 2,
    applies: joins,
    holds: async (run) => (await services.holds(run)) === true && (await answersPeers(run, addressOf(run))),
    run: async (run) => {
      await services.run(run)
      if (!(await answersPeers(run, addressOf(run)))) await run.repeatAfter(run.deps.cluster.poll_ms)
    },
  },
  {
    name: 'scripts',
    title: 'Bring the scripts of failover',
    applies: withFailover,
    holds: async ({ state }) => (state.scripts === undefined ? false : state.scripts === 'restored' ? true : 'unknown'),
    run: restoreScripts,
    outstanding:
      'Name `failover` in the settings of the agent, so that it watches the scripts (docs/guides/high-availability.md).',
  },
  {
    name: 'member-add',
    title: 'Make the node a member',
    applies: joins,
    holds: async (run) => (await memberOf(run))?.address === addressOf(run),
    run: enlist,
  },
  {
    name: 'failover-daemon',
    title: 'Roll failover out to all members',
    weight: 3,
    timeout_ms: 60 * MINUTES,
    applies: withFailover,
    holds: async (run) => {
      const members = await haMembers(run.deps.database.db)
      return (await areRolledOut(run, members)) && (await holders(run, members)).length === 1
    },
    run: async (run) => {
      const members = await haMembers(run.deps.database.db)
      await rollOut(run, members, { joining: run.input.bmc_ip })
      // An election takes seconds where nobody had the address before.
      if ((await holders(run, members)).length !== 1) await run.repeatAfter(run.deps.cluster.poll_ms)
    },
  },
  {
    name: 'filesync-keys',
    title: 'Exchange the keys by which members copy files',
    applies: joins,
    holds: async ({ deps }) =>
      (await haMembers(deps.database.db)).every(({ filesync_key }) => filesync_key !== null) ? true : 'unknown',
    run: async (run) => void (await syncKeys(run)),
    outstanding: 'Keys of members are still missing; they ask each other again every few seconds (ha.check_ms).',
  },
  {
    name: 'dns-dhcp',
    title: 'Join the servers for names and addresses',
    applies: (run) => {
      const member = joins(run)
      return member === true ? 'servers for names and DHCP are configured beside the members (dns, dhcp)' : member
    },
    run: async () => {},
  },
]

/** A copy that streams for a moment may fall behind in the next. */
async function keepUp(run: SetupRun): Promise<void> {
  const { settle_ms, poll_ms } = run.deps.cluster
  const is_close = await isCaughtUp(run, addressOf(run))
  const since = is_close ? run.state.caught_up_at || Date.now() : 0
  if (since !== run.state.caught_up_at) await run.save({ caught_up_at: since })
  if (!is_close || Date.now() - since < settle_ms) return run.repeatAfter(poll_ms)
}

async function restoreScripts(run: SetupRun): Promise<void> {
  const { agents } = run.deps
  const client = agents.client(
    await nodeOf(run),
    { haScriptsReconcile: ha.routes.haScriptsReconcile },
    { timeout_ms: SCRIPTS_MS, signal: run.signal, job: run },
  )
  try {
    const { restored } = await client.haScriptsReconcile()
    await run.save({ scripts: 'restored' })
    await run.note('INFO', `${restored.length} scripts of failover were brought.`)
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 'HA_NOT_CONFIGURED')) throw error
    await run.save({ scripts: 'unwatched' })
  }
}

/** Behind all others in the order of failover. */
async function enlist(run: SetupRun): Promise<void> {
  const { deps, input, signal } = run
  const nics = await nicsOf(deps.agents, await nodeOf(run), { signal, job: run })
  const device = nics.find(({ ipAddress }) => ipAddress?.split('/')[0] === addressOf(run)) ?? nics.find(({ isManagementNIC }) => isManagementNIC) // biome-ignore format: one choice
  if (device === undefined) throw new ApiError('NODE_STATE', `No interface of the node has ${addressOf(run)}; give it to one, or register the node with another node_ip.`) // biome-ignore format: one sentence
  const before = (await memberOf(run)) ?? (await otherMembers(run)).at(-1)
  const priority = before === undefined ? FIRST_PRIORITY : Math.max(1, before.bmc_ip === input.bmc_ip ? before.priority : before.priority - 10) // biome-ignore format: one choice
  const member = { address: addressOf(run), interface: device.interfaceName, priority }
  await run.fenced((trx) => setHaMember(trx, input.bmc_ip, member))
  await run.note('INFO', `The node is a member at ${member.address} on ${member.interface}.`, { priority })
}

const FIRST_PRIORITY = 200
