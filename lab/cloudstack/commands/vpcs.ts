/** Virtual private clouds; their tiers are networks made with the VPC's id. */
import { randomUUID } from 'node:crypto'
import { cidrRange } from '../addressing.ts'
import { invalid } from '../api-fault.ts'
import { job } from '../call.ts'
import type { Call, Commands } from '../call.ts'
import { ownerFields, text } from '../owner-view.ts'
import { requireQuota } from '../quota.ts'
import type { Json, Row } from '../row.ts'
import { ownerFor, visible } from '../scope.ts'
import { networkView } from '../network-view.ts'
import { wireDate } from '../wire.ts'
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
  createVPC: (call) => {
    const { params, state } = call
    const cidr = params.text('cidr')
    if (cidr === null || cidrRange(cidr) === null) throw invalid(`Invalid format of CIDR: ${cidr ?? ''}`)
    if (!state.tables.vpcofferings.has(params.need('vpcofferingid')))
      throw invalid('Unable to find vpc offering: entity does not exist')
    const owner = ownerFor(call)
    requireQuota(state, owner, [[7, 1]])
    const vpc = state.tables.vpcs.put({
      id: randomUUID(),
      name: params.need('name'),
      displaytext: params.text('displaytext') ?? params.need('name'),
      zoneid: params.need('zoneid'),
      vpcofferingid: params.need('vpcofferingid'),
      cidr,
      state: 'Enabled',
      networkdomain: params.text('networkdomain') ?? 'cs2cloud.internal',
      restartrequired: false,
      created: wireDate(Date.now()),
      accountid: owner.accountid,
      projectid: owner.projectid,
    })
    return job({
      ...vpcJob(vpc),
      id: vpc.id,
      duration_ms: 2000,
      event: {
        type: 'VPC.CREATE',
        description: 'creating VPC',
        resourcetype: 'Vpc',
        resourceid: vpc.id,
        resourcename: text(vpc['name']),
      },
      end: () => view(call, vpc),
    })
  },
  deleteVPC: (call) => {
    const vpc = needVpc(call)
    return job({
      ...vpcJob(vpc),
      duration_ms: 1500,
      event: {
        type: 'VPC.DELETE',
        description: 'Deleting VPC',
        resourcetype: 'Vpc',
        resourceid: vpc.id,
        resourcename: text(vpc['name']),
      },
      begin: () => {
        const tiers = call.state.tables.networks.filter((network) => network.vpcid === vpc.id)
        if (tiers.length > 0) throw invalid(`Can't delete VPC ${vpc.id} as its used by ${tiers.length} networks`)
      },
      end: () => {
        call.state.tables.vpcs.remove(vpc.id)
        return null
      },
    })
  },
}

function needVpc(call: Call): Row {
  const vpc = call.state.tables.vpcs.get(call.params.need('id'))
  if (vpc === null) throw invalid('Unable to find VPC: entity does not exist')
  return vpc
}

function vpcJob(vpc: Row): { instancetype: string; instanceid: string; queue: string } {
  return { instancetype: 'Vpc', instanceid: vpc.id, queue: `vpc/${vpc.id}` }
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
