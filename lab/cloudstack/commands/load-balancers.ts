/** Load-balancer rules of public addresses, and the machines behind them. */
import { randomUUID } from 'node:crypto'
import { cidrRange } from '../addressing.ts'
import { badParameter, internal, invalid, ruleConflict } from '../api-fault.ts'
import { job } from '../call.ts'
import type { Call, Commands, Outcome } from '../call.ts'
import type { EventSubject } from '../event-log.ts'
import { loadBalancerView, servicesOf } from '../network-view.ts'
import type { LoadBalancer } from '../network-records.ts'
import type { Vm } from '../records.ts'
import { idTest, keywordTest, paged, same, visible } from '../scope.ts'
import { numberOf } from '../texts.ts'
import { vmView } from '../vm-view.ts'
import { list } from '../wire.ts'
import { needAddress } from './addresses.ts'
import { closePorts, openPorts } from './firewall.ts'
import { needNetwork } from './vm-deploy.ts'

const ALGORITHMS = ['source', 'roundrobin', 'leastconn']

export const loadBalancers: Commands = {
  listLoadBalancerRules: (call) => {
    const [mine, byId, keyword] = [visible(call), idTest(call), keywordTest(call)]
    const [name, address, network] = [same(call, 'name'), same(call, 'publicipid'), same(call, 'networkid')]
    const vm = call.params.text('virtualmachineid')
    const found = call.state.tables.loadbalancers.filter(
      (one) =>
        mine(one) &&
        byId(one.id) &&
        keyword(one.name) &&
        name(one.name) &&
        address(one.ipaddressid) &&
        network(one.networkid) &&
        (vm === null || one.virtualmachineids.includes(vm)),
    )
    return paged(call, found, (one) => loadBalancerView(call.state, one))
  },
  // All of them, whatever page is asked for.
  listLoadBalancerRuleInstances: (call) => {
    const { params, state } = call
    const rule = needRule(call)
    const applied = params.bool('applied') ?? true
    const gone = ['Destroyed', 'Expunging', 'Error', 'Unknown']
    const vms = state.tables.vms.filter(
      (vm) =>
        vm.nics.some((nic) => nic.networkid === rule.networkid) &&
        !gone.includes(vm.state) &&
        rule.virtualmachineids.includes(vm.id) === applied,
    )
    return list(
      vms.map((vm) => ({ ...vmView(state, vm), servicestate: rule.virtualmachineids.includes(vm.id) ? 'UP' : null })),
      vms.length,
    )
  },
  createLoadBalancerRule: (call) => create(call),
  updateLoadBalancerRule: (call) => {
    const { params, state } = call
    const rule = needRule(call)
    return job({
      ...ruleJob(rule),
      duration_ms: 700,
      event: ruleEvent('UPDATE', 'updating load balancer rule', rule),
      begin: () => requireAlgorithm(params.text('algorithm') ?? rule.algorithm),
      end: () =>
        loadBalancerView(
          state,
          state.tables.loadbalancers.put({
            ...needRule(call),
            name: params.text('name') ?? rule.name,
            description: params.text('description') ?? rule.description,
            algorithm: params.text('algorithm')?.toLowerCase() ?? rule.algorithm,
          }),
        ),
    })
  },
  deleteLoadBalancerRule: (call) => {
    const { loadbalancers } = call.state.tables
    const rule = needRule(call)
    return job({
      ...ruleJob(rule),
      duration_ms: 700,
      event: ruleEvent('DELETE', 'deleting load balancer', rule),
      begin: () => {
        loadbalancers.put({ ...rule, state: 'Revoke' })
      },
      end: () => {
        closePorts(call.state, rule)
        loadbalancers.remove(rule.id)
        return null
      },
      fail: () => {
        loadbalancers.put(rule)
      },
    })
  },
  assignToLoadBalancerRule: (call) => {
    const rule = needRule(call)
    const ids = call.params.list('virtualmachineids')
    return job({
      ...ruleJob(rule),
      duration_ms: 800,
      event: ruleEvent('ASSIGN.TO.RULE', 'assigning to load balancer', rule),
      begin: () => {
        for (const id of ids) requireMachine(call, id, rule)
      },
      end: () => setMachines(call, (before) => [...before, ...ids]),
    })
  },
  removeFromLoadBalancerRule: (call) => {
    const rule = needRule(call)
    const ids = call.params.list('virtualmachineids')
    return job({
      ...ruleJob(rule),
      duration_ms: 800,
      event: ruleEvent('REMOVE.FROM.RULE', 'removing from load balancer', rule),
      end: () => setMachines(call, (before) => before.filter((id) => !ids.includes(id))),
    })
  },
}

function needRule(call: Call): LoadBalancer {
  const rule = call.state.tables.loadbalancers.get(call.params.need('id'))
  if (rule === null) throw invalid(`Invalid load balancer id: ${call.params.need('id')}`)
  return rule
}

function create(call: Call): Outcome {
  const { params, state } = call
  const algorithm = params.need('algorithm').toLowerCase()
  const [publicport, privateport] = [params.int('publicport') ?? 0, params.int('privateport') ?? 0]
  for (const [name, port] of Object.entries({ privatePort: privateport, publicPort: publicport }))
    if (port < 0 || port > 65_535) throw invalid(`${name} is an invalid value: ${port}`)
  requireAlgorithm(algorithm)
  const address = needAddress(call, params.text('publicipid'))
  if (address.isstaticnat)
    throw invalid('Unable to create load balancer rule; specified sourceip id has static nat enabled')
  const networkid = address.associatednetworkid ?? (address.vpcid === null ? null : params.text('networkid'))
  if (address.state !== 'Allocated' || networkid === null)
    throw invalid('Unable to create load balancer rule ; specified sourceip id is not associated with any network')
  if (!servicesOf(needNetwork(call, networkid)).includes('Lb'))
    throw invalid('LB service is not supported in specified network id')
  const cidrlist = params.list('cidrlist')
  const bad = cidrlist.find((one) => cidrRange(one) === null)
  if (bad !== undefined) throw badParameter(`CIDR [${bad}] is invalid.`)
  requireFreePort(call, address.id, publicport)
  const rule = state.tables.loadbalancers.put({
    id: randomUUID(),
    name: params.need('name'),
    description: params.text('description'),
    algorithm,
    protocol: params.text('protocol') ?? 'tcp',
    publicport,
    privateport,
    ipaddressid: address.id,
    networkid,
    cidrlist,
    state: 'Add',
    virtualmachineids: [],
    accountid: address.accountid,
    projectid: address.projectid,
  })
  if (address.associatednetworkid === null) state.tables.addresses.put({ ...address, associatednetworkid: networkid })
  if (params.bool('openfirewall') ?? address.vpcid === null)
    openPorts(call, address, { protocol: 'tcp', startport: publicport, endport: publicport, cidrlist: [] }, rule.id)
  return job({
    ...ruleJob(rule),
    id: rule.id,
    duration_ms: 900,
    event: ruleEvent('CREATE', 'creating load balancer', rule),
    end: () => loadBalancerView(state, needRuleOf(call, rule.id)),
    fail: () => {
      closePorts(state, rule)
      state.tables.loadbalancers.remove(rule.id)
    },
  })
}

function needRuleOf(call: Call, id: string): LoadBalancer {
  const rule = call.state.tables.loadbalancers.get(id)
  if (rule === null) throw internal('Failed to create load balancer rule')
  return rule
}

function requireAlgorithm(algorithm: string): void {
  if (!ALGORITHMS.includes(algorithm.toLowerCase())) throw invalid(`Invalid algorithm: ${algorithm}`)
}

/** A port of an address is balanced or forwarded once, whatever the protocols. */
function requireFreePort({ state }: Call, ipaddressid: string, port: number): void {
  const taken = [
    ...state.tables.loadbalancers.by('address', ipaddressid).map(({ id, publicport, state: now }) => ({
      id,
      now,
      first: publicport,
      last: publicport,
      purpose: 'LoadBalancing',
    })),
    ...state.tables.rules
      .by('address', ipaddressid)
      .map(({ id, state: now, publicport: first, publicendport: last }) => ({
        id,
        now,
        first,
        last,
        purpose: 'PortForwarding',
      })),
  ].find(({ first, last }) => first <= port && port <= last)
  if (taken === undefined) return
  const { id, now, first, last, purpose } = taken
  const text = JSON.stringify({ id: numberOf(id), purpose, state: now, uuid: id })
  throw ruleConflict(
    `The range specified, ${port}-${port}, conflicts with rule FirewallRule ${text} which has ${first}-${last}`,
  )
}

function requireMachine(call: Call, id: string, rule: LoadBalancer): Vm {
  const vm = call.state.tables.vms.get(id)
  if (vm === null || vm.state === 'Destroyed' || vm.state === 'Expunging')
    throw invalid('Invalid instance id specified')
  const nic = vm.nics.find((one) => one.networkid === rule.networkid)
  if (nic === undefined)
    throw invalid("VM with id specified cannot be added because it doesn't belong in the same network.")
  if (rule.virtualmachineids.includes(id))
    throw invalid(`VM ${vm.number} with ${nic.ipaddress} is already mapped to load balancer.`)
  return vm
}

/** Without machines there is nothing to apply: the state says Add then. */
function setMachines(call: Call, change: (before: readonly string[]) => string[]): null {
  const rule = needRule(call)
  const virtualmachineids = [...new Set(change(rule.virtualmachineids))]
  const state = virtualmachineids.length === 0 ? 'Add' : 'Active'
  call.state.tables.loadbalancers.put({ ...rule, virtualmachineids, state })
  return null
}

function ruleJob(rule: LoadBalancer): { instancetype: string; instanceid: string; queue: string } {
  return { instancetype: 'LoadBalancerRule', instanceid: rule.id, queue: `network/${rule.networkid}` }
}

function ruleEvent(verb: string, description: string, rule: LoadBalancer): EventSubject {
  return {
    type: `LB.${verb}`,
    description: `${description}. Load balancer Id: ${numberOf(rule.id)}`,
    resourcetype: 'LoadBalancerRule',
    resourceid: rule.id,
    resourcename: rule.name,
  }
}
