/** What machines are given along the way: affinity groups, registered user data, key pairs. */
import type { Call, Commands } from '../call.ts'
import { text } from '../owner-view.ts'
import type { Json } from '../row.ts'
import { idTest, keywordTest, paged, same, visible } from '../scope.ts'
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
  listUserData: (call) => {
    const mine = visible(call)
    const rows = call.state.tables.userdata.filter((one) =>
      mine({ accountid: text(one['accountid']) ?? '', projectid: text(one['projectid']) }),
    )
    return listRows(call, rows, ['name'])
  },
}

function groupView(call: Call, id: string): Record<string, Json> {
  const group = call.state.tables.affinitygroups.get(id)
  if (group === null) return {}
  const account = call.state.tables.accounts.get(group.accountid)
  const members = call.state.tables.vms.by('account', group.accountid).filter((vm) => vm.affinitygroupids.includes(id))
  return {
    id,
    name: group.name,
    description: group.description,
    type: group.type,
    account: account?.name ?? null,
    domainid: account?.domainid ?? null,
    virtualmachineIds: members.map((vm) => vm.id),
  }
}
