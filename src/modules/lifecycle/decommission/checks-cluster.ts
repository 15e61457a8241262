// What the management cluster has to say before one of its nodes leaves.
import { type CheckSpec, fail, from, notRead, pass, warn } from './verdict.ts'

const management: Pick<CheckSpec, 'roles'> = { roles: ['management'] }

export const CLUSTER_CHECKS: readonly CheckSpec[] = [
  {
    ...management,
    name: 'mgmt-quorum',
    judge: from('cluster', 'fail', ({ others_healthy }) => {
      if (others_healthy === 0) return fail('No other management node answers.')
      if (others_healthy === 1)
        return warn('One other management node answers: there is no redundancy until a new one joins.')
      return pass(`${others_healthy} other management nodes answer.`)
    }),
  },
  {
    ...management,
    name: 'db-role',
    judge: from('cluster', 'fail', ({ database, has_caught_up_standby }) => {
      if (database === 'standby') return pass('The database of this node is a standby.')
      if (database === 'unknown') return fail(notRead('nothing says which node has the primary database'))
      return has_caught_up_standby
        ? warn('This node has the primary database: another one takes over.')
        : fail('This node has the primary database, and no standby has caught up with it.')
    }),
  },
  {
    ...management,
    name: 'db-slot',
    judge: from('cluster', 'fail', ({ slot, database }, _wish) => {
      if (slot === null)
        return database === 'primary'
          ? pass('A primary holds no slot.')
          : warn('No replication slot of this node was found.')
      return slot.active_for === null
        ? pass(`The replication slot ${slot.name} is known.`)
        : fail(`The replication slot ${slot.name} is used by ${slot.active_for}, which is not this node.`)
    }),
  },
  {
    ...management,
    name: 'vip-holder',
    judge: from('cluster', 'fail', ({ vip, can_take_vip }) => {
      if (vip === 'none') return pass('The node is no member that could hold a virtual address.')
      if (vip === 'other') return pass('Another member holds the virtual addresses.')
      if (vip === 'unknown') return fail(notRead('no member says that it holds the virtual addresses'))
      return can_take_vip
        ? warn('This node holds the virtual addresses: they move to another member.')
        : fail('This node holds the virtual addresses, and no other member answers.')
    }),
  },
  {
    ...management,
    name: 'dns-dhcp-role',
    judge: from('cluster', 'fail', ({ served_here }) =>
      served_here.length === 0
        ? pass('No server for names or DHCP is configured at an address of this node.')
        : fail(`${served_here.join(' and ')} is on this node: move the server, then change the configuration.`),
    ),
  },
]
