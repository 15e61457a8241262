// What the compute platform has to say before a host leaves.
import type { PlatformHost, PlatformReading } from './platform-reading.ts'
import type { PreflightWish } from './readings.ts'
import { type CheckSpec, fail, from, notRead, pass, type Verdict, warn } from './verdict.ts'
import type { VmPlan } from './vm-plan.ts'

const compute: Pick<CheckSpec, 'roles'> = { roles: ['compute'] }

export const PLATFORM_CHECKS: readonly CheckSpec[] = [
  {
    ...compute,
    name: 'platform-reachable',
    judge: from('platform', 'fail', () => pass('The compute platform answers.')),
  },
  { ...compute, name: 'host-state', accepted: 'accept', judge: onHost('fail', judgeState, NOT_A_HOST()) },
  {
    ...compute,
    name: 'cluster-maintenance',
    judge: onHost('fail', (_host, { neighbours }) => {
      const preparing = neighbours.find(({ resource_state }) => resource_state.endsWith('PrepareForMaintenance'))
      return preparing === undefined
        ? pass('No other host of the cluster is being emptied.')
        : fail(`Host ${preparing.name} of the same cluster is being emptied; wait until that is done.`)
    }),
  },
  {
    ...compute,
    name: 'transitional-vms',
    judge: onHost('fail', (_host, { vms }) => {
      const moving = vms.filter(({ state }) => TRANSITIONAL.has(state))
      return moving.length === 0
        ? pass('No machine is starting, stopping or migrating.')
        : fail(
            `Wait until these have come to rest: ${moving.map(({ name, state }) => `${name} (${state})`).join(', ')}.`,
          )
    }),
  },
  {
    ...compute,
    name: 'vm-migration',
    judge: onPlan('fail', ({ stays, moves, capacity }) =>
      stays.length === 0 && capacity.ok
        ? pass(`All ${moves.length} machines can move.`)
        : warn(
            `${moves.length} machines can move, ${stays.length} cannot${capacity.ok ? '' : ', and there is not room for all'}.`,
          ),
    ),
  },
  {
    ...compute,
    name: 'non-migratable-vms',
    judge: onPlan('fail', ({ stays }) =>
      stays.length === 0
        ? pass('Every machine can move.')
        : warn(
            `These would be destroyed: ${stays.map(({ name, stays: reason }) => `${name} (${reason})`).join(', ')}.`,
          ),
    ),
  },
  {
    ...compute,
    name: 'migration-capacity',
    accepted: 'accept_with_force',
    judge: onPlan('fail', ({ capacity, is_tight }) => {
      if (!capacity.ok) return fail(capacity.reason)
      return is_tight ? warn('Less than a tenth stays free on the other hosts.') : pass('The other hosts have room.')
    }),
  },
  { ...compute, name: 'last-host', accepted: 'force', judge: onHost('fail', judgeLast) },
  {
    ...compute,
    name: 'system-vms',
    judge: onPlan('warn', ({ routers, system }) =>
      routers.length + system.length === 0
        ? pass('No machine of the platform’s own runs here.')
        : warn(
            `Services of the zone are interrupted until these run elsewhere: ${[...system, ...routers].map(({ name }) => name).join(', ')}.`,
          ),
    ),
  },
  {
    ...compute,
    name: 'ha-enabled',
    judge: onHost('fail', (_host, { ha_enabled, vms }) => {
      if (ha_enabled === false && vms.length > 0)
        return fail(
          'High availability of machines is switched off in the zone: the platform then empties no host. Switch vm.ha.enabled on.',
        )
      return pass(
        ha_enabled === null ? 'This platform has no switch for it.' : 'The platform empties hosts of the zone.',
      )
    }),
  },
]

const TRANSITIONAL: ReadonlySet<string> = new Set(['Starting', 'Stopping', 'Migrating'])

function NOT_A_HOST(): Verdict {
  return warn('The compute platform knows no host of this node; nothing is moved or removed there.')
}

/** A check of the host. `absent`: what it says of a node that the platform does not know. */
function onHost(
  unread: 'warn' | 'fail',
  judge: (host: PlatformHost, platform: PlatformReading, wish: PreflightWish) => Verdict,
  absent: Verdict = pass('The platform knows no host of this node.'),
): CheckSpec['judge'] {
  return from('platform', unread, (platform, wish) =>
    platform.host === null ? absent : judge(platform.host, platform, wish),
  )
}

function onPlan(unread: 'warn' | 'fail', judge: (plan: VmPlan) => Verdict): CheckSpec['judge'] {
  return ({ platform }, _wish, plan) => {
    const reason = 'missing' in platform ? platform.missing : 'the machines were not read'
    return plan === undefined ? { status: unread, message: notRead(reason) } : judge(plan)
  }
}

function judgeState({ name, state, resource_state }: PlatformHost): Verdict {
  const shown = `Host ${name} is ${state}, ${resource_state}`
  if (resource_state.startsWith('ErrorIn'))
    return fail(`${shown}: an earlier maintenance failed. Cancel it on the platform first.`)
  if (state !== 'Up') return warn(`${shown}: machines may be running there unseen.`)
  return pass(`${shown}.`)
}

function judgeLast(host: PlatformHost, { neighbours, vms }: PlatformReading): Verdict {
  const others = neighbours.filter(({ state, resource_state }) => state === 'Up' && resource_state === 'Enabled')
  if (others.length > 0) return pass(`${others.length} other hosts of the cluster are up.`)
  if (vms.length === 0) return pass(`Host ${host.name} is the last one of its cluster, and empty.`)
  return fail(
    `Host ${host.name} is the last one of its cluster that is up: its ${vms.length} machines would be stopped or destroyed.`,
  )
}
