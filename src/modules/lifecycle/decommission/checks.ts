// The checks before a decommission: what each asks, and which of them a caller may take upon them. A source that could not be
// read is never a pass.
import { PLATFORM_CHECKS } from './checks-platform.ts'
import { CLUSTER_CHECKS } from './checks-cluster.ts'
import { STORAGE_CHECKS } from './checks-storage.ts'
import type { PreflightWish, Readings } from './readings.ts'
import { type CheckSpec, fail, from, pass, type Verdict, warn } from './verdict.ts'
import type { VmPlan } from './vm-plan.ts'

export interface Check {
  name: string
  message: string
  status: Verdict['status']
}

const NODE_CHECKS: readonly CheckSpec[] = [
  {
    name: 'node-known',
    judge: ({ node }) =>
      node.node_ip === null
        ? warn(`No address of the operating system of node ${node.bmc_ip} is recorded.`)
        : pass(`Node ${node.bmc_ip} has the address ${node.node_ip}.`),
  },
  {
    name: 'no-running-job',
    judge: ({ running_job }) =>
      running_job === undefined
        ? pass('No job of this node is running.')
        : fail(`Job ${running_job} of this node is running; wait for its end or cancel it.`),
  },
  {
    name: 'role-supported',
    judge: ({ node: { role } }) => {
      if (role === 'compute') return pass('The node is a compute node.')
      if (role === 'management')
        return fail(
          'Management nodes cannot be decommissioned by this version: their services are moved by hand first.',
        )
      return fail('The node has no role; set it up, or register it with the role compute.')
    },
  },
  {
    name: 'bmc-reachable',
    accepted: 'accept',
    judge: ({ bmc }, { wipe }) => {
      if ('missing' in bmc) {
        const outstanding = 'what is left is to wipe the disks and to switch the machine off by hand'
        if (wipe === 'none') return warn(`The BMC cannot be reached: ${bmc.missing}; ${outstanding}.`)
        return fail(
          `The disks cannot be wiped: the BMC cannot be reached: ${bmc.missing}. If you accept it, ${outstanding}.`,
        )
      }
      if (wipe !== 'none' && !bmc.read.boots_images)
        return fail('The disks cannot be wiped: the BMC has no virtual drive that the machine starts from.')
      return pass('The BMC answers with the stored credentials.')
    },
  },
  { name: 'bmc-identity', judge: judgeIdentity },
  {
    name: 'agent-reachable',
    judge: from('agent', 'warn', () => pass('The agent of the node answers.')),
  },
]

const LAST_CHECKS: readonly CheckSpec[] = [
  {
    name: 'fabric-role',
    judge: from('fabric', 'fail', ({ role, silent }) => {
      if (role === 'last_reflector') return fail('Other routers reach each other through this node alone.')
      if (role === 'reflector') return warn('The node reflects routes; its clients have another route reflector.')
      if (silent.length > 0) return warn(`The routers of ${silent.join(', ')} do not answer.`)
      return pass(role === 'none' ? 'The node has no session of the fabric.' : 'No other router needs the node.')
    }),
  },
  {
    name: 'addresses',
    judge: from('addresses', 'warn', ({ held, unknown }) =>
      unknown.length > 0
        ? warn(`The address store does not know ${unknown.join(', ')}, which the node has.`)
        : pass(`${held.length} addresses and names are bound to the node.`),
    ),
  },
  {
    name: 'disks',
    judge: from('disks', 'fail', ({ known, unknown, shared }) => {
      if (shared.length > 0)
        return fail(
          `The disks ${shared.join(', ')} are recorded for another node as well: wiping them would destroy its data. Detach them first.`,
        )
      if (unknown.length > 0)
        return warn(`The disks ${unknown.join(', ')} are not recorded for the node and are not wiped.`)
      return pass(`${known.length} disks are known by their serial number.`)
    }),
  },
  {
    name: 'wipe-image',
    judge: from('wipe_image', 'warn', (file) =>
      file === null
        ? warn('No wipe image is configured (bmc.wipe_image): the disks will have to be wiped by hand.')
        : pass(`The wipe image is ${file}.`),
    ),
  },
]

const CHECKS: readonly CheckSpec[] = [
  ...NODE_CHECKS,
  ...PLATFORM_CHECKS,
  ...STORAGE_CHECKS,
  ...CLUSTER_CHECKS,
  ...LAST_CHECKS,
]

/** Names that `accept` may hold. */
export const ACCEPTABLE: readonly string[] = CHECKS.filter(({ accepted }) => accepted?.startsWith('accept')).map(
  ({ name }) => name,
)

/** Those of the node's role, in their order. `plan` is undefined while the platform cannot be read. */
export function judge(readings: Readings, plan: VmPlan | undefined, wish: PreflightWish): Check[] {
  const { role } = readings.node
  const asked = CHECKS.filter(({ roles }) => roles === undefined || role === null || roles.includes(role))
  return asked.map((check) => {
    const verdict = check.judge(readings, wish, plan)
    return { name: check.name, ...(isTaken(check, wish) ? taken(verdict) : verdict) }
  })
}

/** Whether the caller takes the failure of the check upon them. */
function isTaken({ name, accepted }: CheckSpec, { force, accept }: PreflightWish): boolean {
  if (accepted === 'force') return force
  if (accepted === 'accept') return accept.includes(name)
  return accepted === 'accept_with_force' && force && accept.includes(name)
}

function taken(verdict: Verdict): Verdict {
  return verdict.status === 'fail' ? warn(`${verdict.message} Accepted.`) : verdict
}

function judgeIdentity({ bmc, recorded }: Readings): Verdict {
  if ('missing' in bmc) return warn(`Which machine it is cannot be told: ${bmc.missing}.`)
  const { serial, uuid } = bmc.read
  const pairs = [
    ['serial number', recorded?.serial ?? null, serial],
    ['UUID', recorded?.uuid ?? null, uuid],
  ] as const
  const compared = pairs.filter(([, before, now]) => before !== null && now !== null)
  const other = compared.find(([, before, now]) => before?.toLowerCase() !== now?.toLowerCase())
  if (other !== undefined)
    return fail(`The BMC tells the ${other[0]} ${other[2]}, recorded is ${other[1]}: this is another machine.`)
  if (compared.length > 0) return pass('The BMC tells the recorded identity of the machine.')
  return warn('No identity of the machine is recorded: collect the inventory of its BMC to have it checked.')
}
