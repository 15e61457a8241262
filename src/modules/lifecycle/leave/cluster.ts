// Steps by which a management node leaves the cluster (node-lifecycle.md 7.4). Each asks the world what is there, so they serve a
// rollback as well.
import type { DesiredAreaName } from '#src/contract/nodes/agent-desired.ts'
import type { Holds } from '#src/jobs/define.ts'
import { ApiError } from '#src/kernel/errors.ts'
import { type HaMemberRow, haMembers, removeHaMember } from '#src/store/ha-members.ts'
import { primaryOf, serversNow, serversOf, slotOf, switchOver, switchoverFrom } from '../cluster/database.ts'
import {
  areRolledOut, configuredOf, failoverDocument, holders, holdsAddress, rollOut, targetOf,
} from '../cluster/failover.ts' // biome-ignore format: one import
import { syncKeys } from '../cluster/keys.ts'
import { memberOf, otherMembers } from '../cluster/ports.ts'
import { answersPeers, servicesDocument } from '../cluster/services.ts'
import { DECOMMISSION_STEPS as TITLES } from '../decommission/steps.ts'
import { applyDesired, readDesired, removeDesired } from '../desired.ts'
import { isOff, unknownAfter } from './node.ts'
import { type LeaveRun, type LeaveStep, nodeOf } from './run.ts'

const MINUTES = 60_000
const NO_MEMBER = 'The node is no member of the management cluster.'

const isMember = async (run: LeaveRun): Promise<string | true> =>
  (await memberOf(run)) === undefined ? NO_MEMBER : true

const withFailover = async (run: LeaveRun): Promise<string | true> => {
  if (run.deps.cluster.virtual_addresses.length === 0)
    return 'No address moves between the members (ha.virtual_addresses).'
  return isMember(run)
}

const withDatabase = async (run: LeaveRun): Promise<string | true> => {
  if (run.deps.cluster.servers === undefined)
    return 'No database is replicated between the members (database.replication).'
  return isMember(run)
}

/** A slot may be there although the node never became a member. */
async function withSlot(run: LeaveRun): Promise<string | true> {
  if (run.input.role === 'compute') return NO_MEMBER
  const applies = await withDatabase(run)
  if (applies === true || run.deps.cluster.servers === undefined) return applies
  return (await slotsOf(run)).includes(slotOf(run.input)) ? true : applies
}

async function ownMember(run: LeaveRun): Promise<HaMemberRow> {
  const member = await memberOf(run)
  if (member === undefined) throw new ApiError('HA_MEMBER_NOT_FOUND', NO_MEMBER)
  return member
}

/** Also of a node whose setup ended before it was a member. */
async function ownAddress(run: LeaveRun): Promise<string> {
  return (await memberOf(run))?.address ?? (await nodeOf(run)).node_ip ?? ''
}

/** Its configuration goes, where it was us who made it; a cancel then brings it back. */
async function takeOff(run: LeaveRun, area: DesiredAreaName): Promise<void> {
  try {
    const { verdict } = await readDesired(ownTarget(run), run, area)
    const taken_off = run.state.taken_off ?? []
    if (verdict !== 'empty' && !taken_off.includes(area)) await run.save({ taken_off: [...taken_off, area] })
    await removeDesired(ownTarget(run), run, area)
  } catch (error) {
    await unknownAfter(run, error)
  }
}

async function isTakenOff(run: LeaveRun, area: DesiredAreaName): Promise<Holds> {
  try {
    return (await readDesired(ownTarget(run), run, area)).verdict === 'empty'
  } catch (error) {
    return unknownAfter(run, error)
  }
}

const ownTarget = (run: LeaveRun) => targetOf(run, run.input.bmc_ip)

/** Cleanly: a daemon that is killed leaves its addresses on the node. */
const vipMove: LeaveStep = {
  name: 'vip-move',
  title: TITLES['vip-move'],
  timeout_ms: 5 * MINUTES,
  applies: withFailover,
  holds: (run) => isElsewhere(run),
  async run(run) {
    await takeOff(run, 'failover')
    // Taken over within seconds, or by nobody: then the time-out says so.
    if ((await isElsewhere(run)) === false) await run.repeatAfter(run.deps.cluster.poll_ms)
    await run.note('INFO', 'The virtual addresses are on another member.')
  },
  undo: async (run) => {
    if (run.state.taken_off?.includes('failover') !== true) return
    const member = await ownMember(run)
    const document = failoverDocument(run.deps.cluster, member, await haMembers(run.deps.database.db))
    await applyDesired(ownTarget(run), run, 'failover', document)
  },
}

/** On exactly one other member, and not on this node: by its own word, or because it is off. */
async function isElsewhere(run: LeaveRun): Promise<Holds> {
  const others = await otherMembers(run)
  const is_there = await holdsAddress(run, run.input.bmc_ip).catch(async (error: unknown) => {
    await unknownAfter(run, error)
    return (await isOff(run)) === true ? false : 'unknown'
  })
  if (is_there !== false) return is_there === true ? false : 'unknown'
  return others.length === 0 || (await holders(run, others)).length === 1
}

/** Its requests end, and its jobs are taken over by the other members: this very job, perhaps. */
const drainApi: LeaveStep = {
  name: 'drain-api',
  title: TITLES['drain-api'],
  applies: isMember,
  async holds(run) {
    const { address } = await ownMember(run)
    if (await answersPeers(run, address)) return 'unknown'
    return isTakenOff(run, 'services')
  },
  run: (run) => takeOff(run, 'services'),
  undo: async (run) => {
    if (run.state.taken_off?.includes('services') !== true) return
    const { address } = await ownMember(run)
    await applyDesired(ownTarget(run), run, 'services', await servicesDocument(run, address))
  },
  outstanding: async ({ input }) => [
    `Check that the control plane on node ${input.bmc_ip} is stopped; it was not started by a setup, or did not say so.`,
  ],
}

/** `once`: what a half-finished switchover left is looked at twice before it goes on. */
const dbSwitchover: LeaveStep = {
  name: 'db-switchover',
  title: TITLES['db-switchover'],
  weight: 2,
  kind: 'once',
  async applies(run) {
    const applies = await withDatabase(run)
    if (applies !== true) return applies
    if (run.state.successor !== undefined) return true
    const { address } = await ownMember(run)
    return (await primaryOf(run)).address === address ? true : 'The database of the node is no primary.'
  },
  holds: isHandedOver,
  async run(run) {
    const from = await ownMember(run)
    if (run.state.successor === undefined) {
      const { to } = await switchoverFrom(run, from)
      await run.note('WARN', `The primary database moves from ${from.address} to ${to.address}.`)
      await run.save({ successor: to.bmc_ip })
    }
    const members = await otherMembers(run)
    const to = members.find(({ bmc_ip }) => bmc_ip === run.state.successor)
    if (to === undefined)
      throw new ApiError('NODE_STATE', `Member ${run.state.successor ?? ''}, which the database moves to, is gone.`)
    await switchOver(run, { from, to, others: members.filter((one) => one !== to) })
  },
}

/** One writable server, which is not on this node, and every other member streams from it. */
async function isHandedOver(run: LeaveRun): Promise<boolean> {
  const { address: own } = await ownMember(run)
  const servers = await serversNow(run)
  const [primary, ...more] = servers.filter(({ is_primary }) => is_primary)
  if (primary === undefined || more.length > 0 || primary.address === own) return false
  const others = (await otherMembers(run)).filter(({ address }) => address !== primary.address)
  const views = await serversOf(run).standbys(primary.address)
  return others.every(({ address }) => views.some((one) => one.address === address && one.streaming))
}

const dbDetach: LeaveStep = {
  name: 'db-detach',
  title: TITLES['db-detach'],
  applies: withSlot,
  async holds(run) {
    const address = await ownAddress(run)
    const primary = await primaryOf(run)
    if ((await serversOf(run).standbys(primary.address)).some((one) => one.address === address)) return false
    // One that was the primary is stopped, and its folder stays for the wipe.
    if (run.state.successor !== undefined) return true
    return isTakenOff(run, 'database')
  },
  run: (run) => takeOff(run, 'database'),
  outstanding: async ({ input }) => [`Stop the database on node ${input.bmc_ip}, which does not answer.`],
}

/** A slot that nobody reads from fills the disk of the primary. */
const slotDrop: LeaveStep = {
  name: 'slot-drop',
  title: TITLES['slot-drop'],
  applies: withSlot,
  holds: async (run) => !(await slotsOf(run)).includes(slotOf(run.input)),
  async run(run) {
    const primary = await primaryOf(run)
    const address = await ownAddress(run)
    await run.note('DESTRUCTIVE', `The slot ${slotOf(run.input)} is dropped on ${primary.address}.`)
    await serversOf(run).dropSlot(primary.address, slotOf(run.input), address, run.signal)
  },
}

async function slotsOf(run: LeaveRun): Promise<string[]> {
  const { address } = await primaryOf(run)
  return (await serversOf(run).slots(address)).map(({ name }) => name)
}

const peerConfig: LeaveStep = {
  name: 'peer-config',
  title: TITLES['peer-config'],
  timeout_ms: 30 * MINUTES,
  applies: withFailover,
  async holds(run) {
    const others = await otherMembers(run)
    return (await configuredOf(run, others)).length < others.length ? 'unknown' : areRolledOut(run, others)
  },
  async run(run) {
    const others = await otherMembers(run)
    await rollOut(run, others, { targets: await configuredOf(run, others) })
  },
  outstanding: async (run) => {
    const others = await otherMembers(run)
    const ours = await configuredOf(run, others)
    const by_hand = others.filter((member) => !ours.some(({ bmc_ip }) => bmc_ip === member.bmc_ip))
    return by_hand.map(({ address }) => `Remove the node from the configuration of keepalived on ${address}.`)
  },
}

const memberRemove: LeaveStep = {
  name: 'member-remove',
  title: TITLES['member-remove'],
  applies: isMember,
  holds: async (run) => (await memberOf(run)) === undefined,
  async run(run) {
    const member = await memberOf(run)
    if (member === undefined) return
    await run.save({ member_address: member.address })
    await run.fenced((trx) => removeHaMember(trx, run.input.bmc_ip))
  },
}

const filesyncRemove: LeaveStep = {
  name: 'filesync-remove',
  title: TITLES['filesync-remove'],
  applies: ({ state }) => (state.member_address === undefined ? NO_MEMBER : true),
  async run(run) {
    const silent = await syncKeys(run)
    if (silent.length > 0)
      await run.note('WARN', 'They void the keys by themselves once they see the list.', { silent })
  },
}

/** What a cancel brings back. */
export const moveAway: readonly LeaveStep[] = [vipMove, drainApi]
/** After the point of no return. */
export const leaveCluster: readonly LeaveStep[] = [
  dbSwitchover, dbDetach, slotDrop, peerConfig, memberRemove, filesyncRemove,
] // biome-ignore format: one list
