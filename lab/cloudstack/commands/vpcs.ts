/** Virtual private clouds; their tiers are networks made with the VPC's id. */
import type { Call, Commands } from '../call.ts'
import { ownerFields, text } from '../owner-view.ts'
import type { Json, Row } from '../row.ts'
import { visible } from '../scope.ts'
import { networkView } from '../network-view.ts'
import { listRows } from './infrastructure.ts'

export const vpcs: Commands = {
  listVPCs: (call) => {
    const mine = visible(call)
    const rows = call.state.tables.vpcs.filter((vpc) =>
      mine({ accountid: text(vpc['accountid']) ?? '', projectid: text(vpc['projectid']) }),
    )
    return listRows(
      call,
      rows.map((vpc) => ({ ...view(call, vpc), id: vpc.id })),
      ['name', 'zoneid', 'state', 'cidr', 'vpcofferingid'],
    )
  },
}

function view(call: Call, vpc: Row): Record<string, Json | undefined> {
  const { state } = call
  const { accountid, projectid, ...rest } = vpc
  const tiers = state.tables.networks.filter((network) => network.vpcid === vpc.id)
  return {
    ...rest,
    ...ownerFields(state, { accountid: text(accountid) ?? '', projectid: text(projectid) }),
    zonename: text(state.tables.zones.get(text(vpc['zoneid']))?.['name']),
    network: tiers.map((network) => networkView(state, network)),
  }
}
