/** What machines are given along the way: affinity groups, registered user data. */
import { randomUUID } from 'node:crypto'
import { invalid } from '../api-fault.ts'
import { type Call, type Commands, job } from '../call.ts'
import type { EventSubject } from '../event-log.ts'
import { ownerFields, text } from '../owner-view.ts'
import type { AffinityGroup } from '../records.ts'
import type { Json } from '../row.ts'
import { idTest, keywordTest, ownerFor, paged, same, visible } from '../scope.ts'
import { listRows } from './infrastructure.ts'

export const groups: Commands = {
  listAffinityGroups: (call) => {
    const mine = visible(call)
    const byId = idTest(call)
    const keyword = keywordTest(call)
    const tests = (['name', 'type'] as const).map((name) => ({ name, test: same(call, name) }))
    const vm = call.state.tables.vms.get(call.params.text('virtualmachineid'))
    return paged(
      call,
      call.state.tables.affinitygroups.filter(
        (one) =>
          mine(one) &&
          byId(one.id) &&
          keyword(one.name) &&
          (vm === null || vm.affinitygroupids.includes(one.id)) &&
          tests.every(({ name, test }) => test(one[name])),
      ),
      (one) => groupView(call, one.id),
    )
  },
  createAffinityGroup: (call) => {
    const { params, state } = call
    const [name, type] = [params.need('name'), params.need('type')]
    if (!TYPES.includes(type))
      throw invalid(
        `Unable to create affinity group, invalid affinity group type: ${type}. Valid values are ${TYPES.join(',')}`,
      )
    const owner = ownerFor(call)
    const mine = state.tables.affinitygroups.filter((one) => one.accountid === owner.accountid)
    if (mine.some((one) => one.name === name && one.projectid === owner.projectid))
      throw invalid(`Unable to create affinity group, a group with name ${name} already exists.`)
    const group = { id: randomUUID(), name, description: params.text('description'), type, ...owner }
    state.tables.affinitygroups.put(group)
    return job({
      instancetype: 'AffinityGroup',
      instanceid: group.id,
      id: group.id,
      duration_ms: 300,
      event: groupEvent('AG.CREATE', 'creating Affinity Group', group),
      end: () => groupView(call, group.id),
    })
  },
  deleteAffinityGroup: (call) => {
    const { params, state } = call
    const group = state.tables.affinitygroups.get(params.need('id'))
    if (group === null) throw invalid('Unable to find affinity group: entity does not exist')
    return job({
      instancetype: 'AffinityGroup',
      instanceid: group.id,
      duration_ms: 300,
      event: groupEvent('AG.DELETE', 'deleting Affinity Group', group),
      end: () => {
        for (const vm of state.tables.vms.by('account', group.accountid))
          if (vm.affinitygroupids.includes(group.id))
            state.tables.vms.put({ ...vm, affinitygroupids: vm.affinitygroupids.filter((id) => id !== group.id) })
        state.tables.affinitygroups.remove(group.id)
        return null
      },
    })
  },
  listUserData: (call) => {
    const mine = visible(call)
    const rows = call.state.tables.userdata.filter((one) =>
      mine({ accountid: text(one['accountid']) ?? '', projectid: text(one['projectid']) }),
    )
    return listRows(call, rows, ['name'])
  },
}

const TYPES = [
  'non-strict host affinity', 'host affinity', 'host anti-affinity', 'ExplicitDedication', 'non-strict host anti-affinity',
] // biome-ignore format: as the platform lists them

function groupEvent(type: string, description: string, { id, name }: AffinityGroup): EventSubject {
  return {
    type,
    description: `${description}. Id: ${id}`,
    resourcetype: 'AffinityGroup',
    resourceid: id,
    resourcename: name,
  }
}

function groupView(call: Call, id: string): Record<string, Json> {
  const group = call.state.tables.affinitygroups.get(id)
  if (group === null) return {}
  const members = call.state.tables.vms.by('account', group.accountid).filter((vm) => vm.affinitygroupids.includes(id))
  return {
    id,
    name: group.name,
    description: group.description,
    type: group.type,
    ...ownerFields(call.state, group),
    virtualmachineIds: members.map((vm) => vm.id),
  }
}
