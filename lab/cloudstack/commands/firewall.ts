/** The firewall of isolated networks: what addresses let in, what networks let out, and what other rules open along the way. */
import { randomUUID } from 'node:crypto'
import { cidrRange } from '../addressing.ts'
import { badParameter, invalid, ruleConflict } from '../api-fault.ts'
import { job } from '../call.ts'
import type { Call, Commands, Outcome } from '../call.ts'
import type { EventSubject } from '../event-log.ts'
import { firewallView, servicesOf } from '../network-view.ts'
import type { Address, FirewallRule } from '../network-records.ts'
import { idTest, paged, same, visible } from '../scope.ts'
import type { SimulatorState } from '../state.ts'
import { numberOf } from '../texts.ts'
import { needAddress } from './addresses.ts'
import { needNetwork } from './vm-deploy.ts'

type Direction = FirewallRule['traffictype']

export const firewall: Commands = {
  listFirewallRules: (call) => listRules(call, 'Ingress'),
  listEgressFirewallRules: (call) => listRules(call, 'Egress'),
  createFirewallRule: (call) => {
    const { params } = call
    const address = needAddress(call, params.need('ipaddressid'))
    if (address.associatednetworkid === null)
      throw invalid('Unable to create firewall rule ; ip with specified id is not associated with any network')
    if (address.vpcid !== null) throw invalid('Unable to create firewall rule for VPC ip')
    return createRule(call, {
      ...packets(call, ['tcp', 'udp', 'icmp']),
      traffictype: 'Ingress',
      ipaddressid: address.id,
      networkid: address.associatednetworkid,
      cidrlist: cidrs(call, 'cidrlist', 'Source', EVERYWHERE),
      destcidrlist: [],
      accountid: address.accountid,
      projectid: address.projectid,
    })
  },
  createEgressFirewallRule: (call) => {
    const { params } = call
    const network = needNetwork(call, params.need('networkid'))
    const whole = network.cidr ?? EVERYWHERE
    const sources = cidrs(call, 'cidrlist', 'Source', whole)
    const beyond = sources.find((one) => one !== EVERYWHERE && !inside(one, whole))
    if (beyond !== undefined) throw badParameter(`[${beyond}] is not within the guest CIDR [${whole}]. `)
    const destcidrlist = cidrs(call, 'destcidrlist', 'Destination', null)
    if (params.need('protocol').toLowerCase() === 'all' && params.has('startport'))
      throw invalid(
        `Unable to create firewall rule for the network id=[${numberOf(network.id)}] due to: ports must not be informed to protocol ALL, as it does not require them.`,
      )
    if (network.vpcid !== null)
      throw invalid(
        `Unable to create firewall rule for the network id=[${numberOf(network.id)}] as firewall egress rule can be created only for non VPC networks.`,
      )
    if (!servicesOf(network).includes('Firewall'))
      throw invalid(`Egress firewall rules are not supported for ${network.type}  networks`)
    return createRule(call, {
      ...packets(call, ['tcp', 'udp', 'icmp', 'all']),
      traffictype: 'Egress',
      ipaddressid: null,
      networkid: network.id,
      cidrlist: sources.map((one) => (one === EVERYWHERE ? whole : one)),
      destcidrlist,
      accountid: network.accountid,
      projectid: network.projectid,
    })
  },
  deleteFirewallRule: (call) => deleteRule(call, 'Ingress'),
  deleteEgressFirewallRule: (call) => deleteRule(call, 'Egress'),
}

const EVERYWHERE = '0.0.0.0/0'

function listRules(call: Call, traffictype: Direction): Outcome {
  const [mine, byId] = [visible(call), idTest(call)]
  const tests = (['ipaddressid', 'networkid'] as const).map((name) => ({ name, test: same(call, name) }))
  const found = call.state.tables.firewallrules.filter(
    (rule) =>
      rule.traffictype === traffictype &&
      mine(rule) &&
      byId(rule.id) &&
      tests.every(({ name, test }) => test(rule[name])),
  )
  return paged(call, found, (rule) => firewallView(call.state, rule))
}

type NewRule = Omit<FirewallRule, 'id' | 'state' | 'relatedruleid'>

function createRule(call: Call, wanted: NewRule): Outcome {
  const { firewallrules } = call.state.tables
  requireNoConflict(
    wanted.traffictype === 'Ingress'
      ? firewallrules.by('address', wanted.ipaddressid)
      : firewallrules.by('network', wanted.networkid).filter((one) => one.traffictype === 'Egress'),
    wanted,
  )
  const rule = firewallrules.put({ ...wanted, id: randomUUID(), state: 'Add', relatedruleid: null })
  return job({
    ...ruleJob(rule),
    id: rule.id,
    duration_ms: 700,
    event: ruleEvent('OPEN', 'creating', rule),
    end: () => firewallView(call.state, firewallrules.put({ ...rule, state: 'Active' })),
    fail: () => {
      firewallrules.remove(rule.id)
    },
  })
}

function deleteRule(call: Call, traffictype: Direction): Outcome {
  const { firewallrules } = call.state.tables
  const rule = firewallrules.get(call.params.need('id'))
  if (rule === null || rule.traffictype !== traffictype)
    throw invalid(`Unable to find ${call.params.need('id')} having purpose [Firewall, Ipv6Firewall]`)
  return job({
    ...ruleJob(rule),
    duration_ms: 500,
    event: ruleEvent('CLOSE', 'revoking', rule),
    begin: () => {
      firewallrules.put({ ...rule, state: 'Revoke' })
    },
    end: () => {
      firewallrules.remove(rule.id)
      return null
    },
    fail: () => {
      firewallrules.put(rule)
    },
  })
}

/** Without a list of sources the port is open to everybody. What is open already stays as it is. */
export function openPorts(
  call: Call,
  address: Address,
  { cidrlist, ...ports }: { protocol: string; startport: number; endport: number; cidrlist: string[] },
  relatedruleid: string,
): void {
  const { firewallrules } = call.state.tables
  const open = firewallrules
    .by('address', address.id)
    .some(
      (one) => one.protocol === ports.protocol && one.startport === ports.startport && one.endport === ports.endport,
    )
  if (open) return
  firewallrules.put({
    id: randomUUID(),
    ...ports,
    icmptype: null,
    icmpcode: null,
    traffictype: 'Ingress',
    ipaddressid: address.id,
    networkid: address.associatednetworkid,
    cidrlist: cidrlist.length === 0 ? [EVERYWHERE] : cidrlist,
    destcidrlist: [],
    state: 'Active',
    relatedruleid,
    accountid: address.accountid,
    projectid: address.projectid,
  })
}

/** What was opened for a rule goes with it. */
export function closePorts(state: SimulatorState, rule: { id: string; ipaddressid: string }): void {
  const { firewallrules } = state.tables
  for (const opened of firewallrules.by('address', rule.ipaddressid))
    if (opened.relatedruleid === rule.id) firewallrules.remove(opened.id)
}

type Packets = Pick<FirewallRule, 'protocol' | 'startport' | 'endport' | 'icmptype' | 'icmpcode'>

function packets({ params }: Call, protocols: readonly string[]): Packets {
  const protocol = params.need('protocol').toLowerCase()
  const startport = params.int('startport')
  const endport = params.int('endport') ?? startport
  const icmp = protocol === 'icmp'
  for (const [words, port] of [
    ['publicPort', startport],
    ['Public port range', endport],
  ] as const)
    if (port !== null && (port < 0 || port > 65_535)) throw invalid(`${words} is an invalid value: ${port}`)
  if (startport !== null && endport !== null && startport > endport)
    throw invalid("Start port can't be bigger than end port")
  if (!protocols.includes(protocol)) throw invalid(`Protocol ${protocol} is not supported in zone 1`)
  if (!icmp && (params.has('icmptype') || params.has('icmpcode')))
    throw invalid('Can specify icmpCode and icmpType for ICMP protocol only')
  if (icmp && startport !== null) throw invalid("Can't specify start/end port when protocol is ICMP")
  const any = icmp ? -1 : null
  return {
    protocol,
    startport,
    endport,
    icmptype: params.int('icmptype') ?? any,
    icmpcode: params.int('icmpcode') ?? any,
  }
}

function cidrs({ params }: Call, name: string, words: string, otherwise: string | null): string[] {
  const given = params.list(name)
  const bad = given.find((one) => cidrRange(one) === null)
  if (bad !== undefined) throw badParameter(`${words} CIDRs formatting error [${bad}].`)
  return given.length === 0 && otherwise !== null ? [otherwise] : given
}

function inside(one: string, whole: string): boolean {
  const [inner, outer] = [cidrRange(one), cidrRange(whole)]
  return inner !== null && outer !== null && inner.first >= outer.first && inner.last <= outer.last
}

/** Rules for other sources or destinations may overlap. */
function requireNoConflict(rules: readonly FirewallRule[], wanted: NewRule): void {
  for (const rule of rules) {
    const same = rule.protocol === wanted.protocol && meet(rule.cidrlist, wanted.cidrlist)
    if (!same || !meet(rule.destcidrlist, wanted.destcidrlist)) continue
    const text = `FirewallRule ${JSON.stringify({ id: numberOf(rule.id), networkId: numberOf(rule.networkid ?? '0'), purpose: 'Firewall', state: rule.state, uuid: rule.id })}`
    if (wanted.protocol === 'icmp') {
      if (rule.icmptype === wanted.icmptype && rule.icmpcode === wanted.icmpcode)
        throw invalid(`New rule conflicts with existing rule: ${text}`)
      continue
    }
    const [first, last] = [wanted.startport, wanted.endport]
    if (first === null && rule.startport === null)
      throw ruleConflict(`There is already a firewall rule specified with protocol = ${wanted.protocol} and no ports`)
    if (first === null || last === null || rule.startport === null || rule.endport === null) continue
    if (first <= rule.endport && rule.startport <= last)
      throw ruleConflict(
        `The range specified, ${first}-${last}, conflicts with rule ${text} which has ${rule.startport}-${rule.endport}`,
      )
  }
}

function meet(one: readonly string[], other: readonly string[]): boolean {
  return (one.length === 0 && other.length === 0) || one.some((cidr) => other.includes(cidr))
}

function ruleJob(rule: FirewallRule): { instancetype: string; instanceid: string; queue: string } {
  return { instancetype: 'FirewallRule', instanceid: rule.id, queue: `network/${rule.networkid}` }
}

function ruleEvent(verb: 'OPEN' | 'CLOSE', doing: string, rule: FirewallRule): EventSubject {
  const egress = rule.traffictype === 'Egress'
  return {
    type: `FIREWALL${egress ? '.EGRESS' : ''}.${verb}`,
    description: `${doing} ${egress ? 'egress ' : ''}firewall rule. Rule Id: ${numberOf(rule.id)}`,
    resourcetype: 'FirewallRule',
    resourceid: rule.id,
    resourcename: null,
  }
}
