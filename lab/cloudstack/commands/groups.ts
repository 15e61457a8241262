/** What machines are given along the way: affinity groups, registered user data. */
import { randomUUID } from 'node:crypto'
import { invalid } from '../api-fault.ts'
import { type Call, type Commands, job } from '../call.ts'
import type { EventSubject } from '../event-log.ts'
import { ownerFields } from '../owner-view.ts'
import type { AffinityGroup, UserData } from '../records.ts'
import type { Json } from '../row.ts'
import { idTest, keywordTest, ownerFor, paged, same, visible } from '../scope.ts'
import { object, success } from '../wire.ts'

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
      groupViews(call),
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
      end: () => groupViews(call)(group),
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
    const [byId, keyword, name] = [idTest(call), keywordTest(call), same(call, 'name')]
    const found = call.state.tables.userdata.filter(
      (one) => mine(one) && byId(one.id) && keyword(one.name) && name(one.name),
    )
    return paged(call, found, (one) => dataView(call, one))
  },
  registerUserData: (call) => {
    const { params, state } = call
    const [name, userdata] = [params.need('name'), params.need('userdata')]
    const owner = ownerFor(call)
    const own = state.tables.userdata.filter(
      (one) => one.accountid === owner.accountid && one.projectid === owner.projectid,
    )
    if (own.some((one) => one.name === name))
      throw invalid(`A userdata with name ${name} already exists for this account.`)
    const same_text = own.find((one) => one.userdata === userdata)
    if (same_text !== undefined)
      throw invalid(`Userdata ${same_text.name} with same content already exists for this account.`)
    const one = { id: randomUUID(), name, userdata, ...owner }
    state.tables.userdata.put(one)
    return object(dataView(call, one))
  },
  deleteUserData: (call) => {
    const { params, state } = call
    const one = state.tables.userdata.get(params.need('id'))
    if (one === null) throw invalid('Unable to find userdata: entity does not exist')
    state.tables.userdata.remove(one.id)
    return success()
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

/** Members are counted once for all groups of a list: machines may be many thousands. */
function groupViews({ state }: Call): (group: AffinityGroup) => Record<string, Json> {
  const members = new Map<string, string[]>()
  for (const vm of state.tables.vms.values())
    for (const id of vm.affinitygroupids) members.set(id, [...(members.get(id) ?? []), vm.id])
  return (group) => ({
    id: group.id,
    name: group.name,
    description: group.description,
    type: group.type,
    ...ownerFields(state, group),
    virtualmachineIds: members.get(group.id) ?? [],
  })
}

function dataView(call: Call, one: UserData): Record<string, Json> {
  const { id, name, userdata } = one
  return { id, name, userdata, ...ownerFields(call.state, one), hasannotations: false }
}
