/** Port forwarding. */
import { randomUUID } from 'node:crypto'
import { invalid, ruleConflict } from '../api-fault.ts'
import { job } from '../call.ts'
import type { Call, Commands, Outcome } from '../call.ts'
import { cidrRange } from '../addressing.ts'
import type { EventSubject } from '../event-log.ts'
import { addressText, numberOf } from '../texts.ts'
import { needVm } from '../machines.ts'
import { ruleView } from '../network-view.ts'
import type { ForwardingRule } from '../network-records.ts'
import { idTest, keywordTest, paged, same, visible } from '../scope.ts'
import { needAddress } from './addresses.ts'
import { closePorts, openPorts } from './firewall.ts'

export const forwarding: Commands = {
  createPortForwardingRule: (call) => create(call),
  updatePortForwardingRule: (call) => {
    const { params, state } = call
    const rule = needRule(call)
    const start = params.int('privateport') ?? rule.privateport
    const end =
      params.int('privateendport') ??
      (params.int('privateport') === null ? rule.privateendport : start + (rule.publicendport - rule.publicport))
    return job({
      ...ruleJob(rule),
      duration_ms: 900,
      event: ruleEvent('NET.RULEMODIFY', 'updating port forwarding rule', rule),
      begin: () => {
        for (const port of [start, end])
          if (port < 0 || port > 65_535) throw invalid(`privatePort is an invalid value: ${port}`)
        if (end - start !== rule.publicendport - rule.publicport)
          throw invalid(
            `Unable to update the private port range of port forwarding rule as  the provided port range is not consistent with the port range : ${rule.publicport} to ${rule.publicendport}`,
          )
        const target = state.tables.vms.get(params.text('virtualmachineid'))
        if (target !== null && !target.nics.some((nic) => nic.networkid === rule.networkid))
          throw invalid("Vm doesn't belong to network associated with ipAddress")
        // Upstream revokes the rule and applies it again: a short gap.
        state.tables.rules.put({ ...needRule(call), state: 'Revoke' })
      },
      end: () =>
        ruleView(
          state,
          state.tables.rules.put({
            ...needRule(call),
            state: 'Active',
            privateport: start,
            privateendport: end,
            vmguestip: params.text('vmguestip') ?? rule.vmguestip,
            virtualmachineid: params.text('virtualmachineid') ?? rule.virtualmachineid,
            cidrlist: params.has('cidrlist') ? params.list('cidrlist') : rule.cidrlist,
          }),
        ),
    })
  },
  deletePortForwardingRule: (call) => {
    const { state } = call
    const rule = needRule(call)
    return job({
      ...ruleJob(rule),
      duration_ms: 700,
      event: ruleEvent('NET.RULEDELETE', 'deleting port forwarding rule', rule),
      begin: () => {
        state.tables.rules.put({ ...rule, state: 'Revoke' })
      },
      end: () => {
        closePorts(state, rule)
        state.tables.rules.remove(rule.id)
        return null
      },
      fail: () => {
        state.tables.rules.put(rule)
      },
    })
  },
  listPortForwardingRules: (call) => {
    const mine = visible(call)
    const byId = idTest(call)
    const keyword = keywordTest(call)
    const tests = (['ipaddressid', 'networkid'] as const).map((name) => ({ name, test: same(call, name) }))
    const found = call.state.tables.rules.filter(
      (rule) =>
        mine(rule) && byId(rule.id) && keyword(rule.protocol) && tests.every(({ name, test }) => test(rule[name])),
    )
    return paged(call, found, (rule) => ruleView(call.state, rule))
  },
}

function needRule(call: Call): ForwardingRule {
  const rule = call.state.tables.rules.get(call.params.need('id'))
  if (rule === null) throw invalid('Unable to find port forwarding rule: entity does not exist')
  return rule
}

function ruleJob(rule: ForwardingRule): { instancetype: string; instanceid: string; queue: string } {
  return { instancetype: 'PortForwardingRule', instanceid: rule.id, queue: `address/${rule.ipaddressid}` }
}

function ruleEvent(type: string, description: string, rule: ForwardingRule): EventSubject {
  return {
    type,
    description: `${description} ${rule.publicport}-${rule.publicendport}`,
    resourcetype: 'PortForwardingRule',
    resourceid: rule.id,
    resourcename: null,
  }
}

function create(call: Call): Outcome {
  const { params, state } = call
  const address = needAddress(call, params.need('ipaddressid'))
  const vm = needVm(state, params.need('virtualmachineid'))
  const networkid = params.text('networkid') ?? address.associatednetworkid
  const open = params.bool('openfirewall') ?? address.vpcid === null
  if (open && address.vpcid !== null) throw invalid("Can't have openFirewall=true when IP address belongs to VPC")
  if (address.isstaticnat)
    throw invalid(`Unable to create port forwarding rule; ip ${addressText(address)} has static nat enabled`)
  if (address.state !== 'Allocated' || networkid === null)
    throw invalid(
      `Unable to create port forwarding rule for the ipAddress id=${address.id} as ip is not associated with any network and no networkId is passed in`,
    )
  const nic = vm.nics.find((one) => one.networkid === networkid)
  const elsewhere = address.associatednetworkid !== null && address.associatednetworkid !== networkid
  if (nic === undefined || elsewhere) throw invalid("Vm doesn't belong to network associated with ipAddress")
  const protocol = params.need('protocol').toLowerCase()
  if (protocol !== 'tcp' && protocol !== 'udp') throw invalid(`Protocol ${protocol} is not supported in zone 1`)
  const ports = portsOf(call)
  const cidrs = params.list('cidrlist')
  const bad = cidrs.find((one) => cidrRange(one) === null)
  if (bad !== undefined) throw invalid(`The given source CIDR [${bad}] is invalid.`)
  for (const rule of state.tables.rules.by('address', address.id)) {
    const overlaps = ports.publicport <= rule.publicendport && rule.publicport <= ports.publicendport
    // Rules for other sources may overlap.
    if (rule.protocol === protocol && overlaps && rule.cidrlist.join() === cidrs.join()) {
      const text = JSON.stringify({
        id: numberOf(rule.id),
        purpose: 'PortForwarding',
        state: rule.state,
        uuid: rule.id,
      })
      throw ruleConflict(
        `The range specified, ${ports.publicport}-${ports.publicendport}, conflicts with rule FirewallRule ${text} which has ${rule.publicport}-${rule.publicendport}`,
      )
    }
  }
  const rule = state.tables.rules.put({
    id: randomUUID(),
    protocol,
    ...ports,
    ipaddressid: address.id,
    virtualmachineid: vm.id,
    networkid,
    vmguestip: params.text('vmguestip') ?? nic.ipaddress,
    cidrlist: params.list('cidrlist'),
    state: 'Add',
    fordisplay: params.bool('fordisplay') ?? true,
    accountid: address.accountid,
    projectid: address.projectid,
  })
  // An address of a VPC belongs to a tier from its first rule on.
  if (address.associatednetworkid === null) state.tables.addresses.put({ ...address, associatednetworkid: networkid })
  if (open) {
    const opened = { protocol, startport: ports.publicport, endport: ports.publicendport, cidrlist: cidrs }
    openPorts(call, address, opened, rule.id)
  }
  return job({
    ...ruleJob(rule),
    id: rule.id,
    duration_ms: 900,
    event: ruleEvent('NET.RULEADD', 'creating port forwarding rule', rule),
    end: () => ruleView(state, state.tables.rules.put({ ...rule, state: 'Active' })),
    fail: () => {
      closePorts(state, rule)
      state.tables.rules.remove(rule.id)
    },
  })
}

function portsOf(call: Call): {
  publicport: number
  publicendport: number
  privateport: number
  privateendport: number
} {
  const { params } = call
  const publicport = params.int('publicport') ?? 0
  const privateport = params.int('privateport') ?? 0
  const publicendport = params.int('publicendport') ?? publicport
  const privateendport = params.int('privateendport') ?? privateport
  checkPorts('publicPort', publicport, publicendport)
  checkPorts('privatePort', privateport, privateendport)
  if (publicendport - publicport !== privateendport - privateport)
    throw invalid('Source port and destination port ranges should be of equal sizes.')
  if (publicport !== publicendport && publicport !== privateport)
    throw invalid('Private port start should be equal to public port start')
  return { publicport, publicendport, privateport, privateendport }
}

function checkPorts(name: string, start: number, end: number): void {
  for (const port of [start, end]) if (port < 0 || port > 65_535) throw invalid(`${name} is an invalid value: ${port}`)
  if (start > end) throw invalid("Start port can't be bigger than end port")
}
