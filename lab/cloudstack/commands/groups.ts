/** What machines are given along the way: affinity groups, registered user data, key pairs. */
import { randomUUID } from 'node:crypto'
import { invalid } from '../api-fault.ts'
import { job } from '../call.ts'
import type { Call, Commands } from '../call.ts'
import { setVm } from '../machines.ts'
import type { Json } from '../row.ts'
import { idTest, keywordTest, paged, same, visible } from '../scope.ts'
import { listRows } from './infrastructure.ts'

export const groups: Commands = {
  createAffinityGroup: (call) => {
    const { params, state } = call
    const type = params.need('type')
    if (!AFFINITY_TYPES.includes(type))
      throw invalid(`Unable to create affinity group, invalid affinity group type ${type}`)
    const owner = { accountid: ownerAccount(call), projectid: params.text('projectid') }
    if (
      state.tables.affinitygroups.find(
        (one) => one.name === params.need('name') && one.accountid === owner.accountid,
      ) !== null
    )
      throw invalid(`Unable to create affinity group, a group with name ${params.need('name')} already exists.`)
    const group = state.tables.affinitygroups.put({
      id: randomUUID(),
      name: params.need('name'),
      description: params.text('description'),
      type,
      ...owner,
    })
    return job({
      instancetype: 'AffinityGroup',
      instanceid: group.id,
      id: group.id,
      duration_ms: 200,
      event: {
        type: 'AG.CREATE',
        description: 'creating affinity group',
        resourcetype: 'AffinityGroup',
        resourceid: group.id,
        resourcename: group.name,
      },
      end: () => groupView(call, group.id),
    })
  },
  deleteAffinityGroup: (call) => {
    const { params, state } = call
    const group =
      state.tables.affinitygroups.get(params.text('id')) ??
      state.tables.affinitygroups.find((one) => one.name === params.text('name'))
    if (group === null) throw invalid('Unable to find affinity group: entity does not exist')
    return job({
      instancetype: 'AffinityGroup',
      instanceid: group.id,
      duration_ms: 200,
      end: () => {
        for (const vm of state.tables.vms.filter((one) => one.affinitygroupids.includes(group.id)))
          setVm(state, vm.id, { affinitygroupids: vm.affinitygroupids.filter((id) => id !== group.id) })
        state.tables.affinitygroups.remove(group.id)
        return null
      },
    })
  },
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
  listAffinityGroupTypes: (call) => paged(call, AFFINITY_TYPES, (type) => ({ type })),
  listUserData: (call) => listRows(call, call.state.tables.userdata.values(), ['name']),
  registerUserData: (call) => {
    const { params, state } = call
    if (state.tables.userdata.find((one) => one['name'] === params.need('name')) !== null)
      throw invalid(`A userdata with name: ${params.need('name')} already exists.`)
    const row = state.tables.userdata.put({
      id: randomUUID(),
      name: params.need('name'),
      userdata: params.need('userdata'),
      params: params.text('params'),
      account: call.caller.account.name,
    })
    return { kind: 'object', value: { ...row } }
  },
  listSSHKeyPairs: (call) => listRows(call, call.state.tables.sshkeypairs.values(), ['name', 'fingerprint']),
}

const AFFINITY_TYPES = [
  'host anti-affinity',
  'host affinity',
  'non-strict host anti-affinity',
  'non-strict host affinity',
]

function ownerAccount(call: Call): string {
  const name = call.params.text('account')
  const domainid = call.params.text('domainid')
  if (name === null) return call.caller.account.id
  const account = call.state.tables.accounts.find((one) => one.name === name && one.domainid === domainid)
  if (account === null) throw invalid(`Unable to find account ${name} in domain ${domainid ?? ''}`)
  return account.id
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
