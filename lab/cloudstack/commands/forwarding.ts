/** Port forwarding and the firewall rules that open ports for it. */
import { randomUUID } from 'node:crypto'
import { invalid, ruleConflict } from '../api-fault.ts'
import { job } from '../call.ts'
import type { Call, Commands, Outcome } from '../call.ts'
import type { EventSubject } from '../event-log.ts'
import { needVm } from '../machines.ts'
import { firewallView, ruleView } from '../network-view.ts'
import type { Address, ForwardingRule } from '../network-records.ts'
import { idTest, keywordTest, paged, same, visible } from '../scope.ts'
import { needAddress } from './addresses.ts'

export const forwarding: Commands = {
  createPortForwardingRule: (call) => create(call),
  updatePortForwardingRule: (call) => {
    const { params, state } = call
    const rule = needRule(call)
    const start = params.int('privateport') ?? rule.privateport
    const end =
      params.int('privateendport') ??
      (params.int('privateport') === null ? rule.privateendport : start + (rule.publicendport - rule.publicport))
    checkPorts(start, end)
    if (end - start !== rule.publicendport - rule.publicport)
      throw invalid(
        'Unable to update the private port of port forwarding rule as the private port range is not consistent with the port range of the public ports',
      )
    return job({
      ...ruleJob(rule),
      duration_ms: 900,
      event: ruleEvent('NET.RULEMODIFY', 'updating port forwarding rule', rule),
      begin: () => {
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
        for (const opened of state.tables.firewallrules.by('address', rule.ipaddressid))
          if (opened.relatedruleid === rule.id) state.tables.firewallrules.remove(opened.id)
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
  createFirewallRule: (call) => {
    const { params, state } = call
    const address = needAddress(call, params.need('ipaddressid'))
    if (address.vpcid !== null) throw invalid('Unable to create firewall rule for the ip address: it belongs to a VPC')
    if (address.associatednetworkid === null)
      throw invalid('Unable to create firewall rule; ip is not associated with any network')
    const startport = params.int('startport')
    const rule = openPorts(
      call,
      address,
      params.need('protocol').toLowerCase(),
      startport,
      params.int('endport') ?? startport,
      params.list('cidrlist'),
      null,
    )
    return job({
      instancetype: 'FirewallRule',
      instanceid: rule.id,
      id: rule.id,
      queue: `address/${address.id}`,
      duration_ms: 600,
      event: {
        type: 'FIREWALL.OPEN',
        description: 'creating firewall rule',
        resourcetype: 'FirewallRule',
        resourceid: rule.id,
        resourcename: null,
      },
      end: () => firewallView(state, rule),
    })
  },
  listFirewallRules: (call) => {
    const mine = visible(call)
    const byId = idTest(call)
    const tests = (['ipaddressid', 'networkid'] as const).map((name) => ({ name, test: same(call, name) }))
    return paged(
      call,
      call.state.tables.firewallrules.filter(
        (rule) => mine(rule) && byId(rule.id) && tests.every(({ name, test }) => test(rule[name])),
      ),
      (rule) => firewallView(call.state, rule),
    )
  },
  deleteFirewallRule: (call) => {
    const rule = call.state.tables.firewallrules.get(call.params.need('id'))
    if (rule === null) throw invalid('Unable to find firewall rule by id: entity does not exist')
    return job({
      instancetype: 'FirewallRule',
      instanceid: rule.id,
      queue: `address/${rule.ipaddressid}`,
      duration_ms: 500,
      end: () => {
        call.state.tables.firewallrules.remove(rule.id)
        return null
      },
    })
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
    throw invalid(`Unable to create port forwarding rule; ip id=${address.id} has static nat enabled`)
  if (address.state !== 'Allocated' || networkid === null)
    throw invalid(
      `Unable to create port forwarding rule for the ipAddress id=${address.id} as ip is not associated with any network and no networkId is passed in`,
    )
  if (address.associatednetworkid !== null && address.associatednetworkid !== networkid)
    throw ruleConflict(`The IP address ${address.ipaddress} is in use for a different network`)
  const nic = vm.nics.find((one) => one.networkid === networkid)
  if (nic === undefined)
    throw invalid(`Unable to create port forwarding rule: Vm doesn't belong to network ${networkid}`)
  const protocol = params.need('protocol').toLowerCase()
  if (protocol !== 'tcp' && protocol !== 'udp') throw invalid(`Protocol ${protocol} is not supported`)
  const ports = portsOf(call)
  for (const rule of state.tables.rules.by('address', address.id)) {
    if (rule.protocol === protocol && ports.publicport <= rule.publicendport && rule.publicport <= ports.publicendport)
      throw ruleConflict(
        `The range specified, ${ports.publicport}-${ports.publicendport}, conflicts with rule ${rule.id} which has ${rule.publicport}-${rule.publicendport}`,
      )
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
  if (open) openPorts(call, address, protocol, ports.publicport, ports.publicendport, params.list('cidrlist'), rule.id)
  return job({
    ...ruleJob(rule),
    id: rule.id,
    duration_ms: 900,
    event: ruleEvent('NET.RULEADD', 'creating port forwarding rule', rule),
    end: () => ruleView(state, state.tables.rules.put({ ...rule, state: 'Active' })),
    fail: () => {
      for (const opened of state.tables.firewallrules.by('address', address.id))
        if (opened.relatedruleid === rule.id) state.tables.firewallrules.remove(opened.id)
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
  checkPorts(publicport, publicendport)
  checkPorts(privateport, privateendport)
  if (publicendport - publicport !== privateendport - privateport)
    throw invalid('Source port and destination port ranges should be of equal sizes.')
  return { publicport, publicendport, privateport, privateendport }
}

function checkPorts(start: number, end: number): void {
  for (const port of [start, end]) if (port < 1 || port > 65_535) throw invalid(`Invalid value for port: ${port}`)
  if (start > end) throw invalid(`Start port can't be bigger than end port: ${start}-${end}`)
}

/** Without a list of sources the port is open to everybody. */
function openPorts(
  call: Call,
  address: Address,
  protocol: string,
  startport: number | null,
  endport: number | null,
  cidrlist: string[],
  relatedruleid: string | null,
): Parameters<typeof firewallView>[1] {
  const clash = call.state.tables.firewallrules
    .by('address', address.id)
    .find((one) => one.protocol === protocol && one.startport === startport && one.endport === endport)
  if (clash !== undefined) {
    if (relatedruleid === null)
      throw ruleConflict(`The range specified, ${startport}-${endport}, conflicts with rule ${clash.id}`)
    return clash
  }
  return call.state.tables.firewallrules.put({
    id: randomUUID(),
    protocol,
    startport,
    endport,
    ipaddressid: address.id,
    networkid: address.associatednetworkid,
    cidrlist: cidrlist.length === 0 ? ['0.0.0.0/0'] : cidrlist,
    state: 'Active',
    relatedruleid,
    accountid: address.accountid,
    projectid: address.projectid,
  })
}
