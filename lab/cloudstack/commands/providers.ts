/** Network service providers and the elements behind them. */
import { randomUUID } from 'node:crypto'
import { internal, invalid } from '../api-fault.ts'
import { job } from '../call.ts'
import type { Call, Commands, Handler } from '../call.ts'
import type { EventSubject } from '../event-log.ts'
import type { Element, Provider } from '../network-records.ts'
import type { Json } from '../row.ts'
import { idTest, keywordTest, paged, pagedByLength, same } from '../scope.ts'

const SERVICES: Readonly<Record<string, string[]>> = {
  VirtualRouter: [
    'Vpn',
    'Dhcp',
    'Dns',
    'Gateway',
    'Firewall',
    'Lb',
    'SourceNat',
    'StaticNat',
    'PortForwarding',
    'UserData',
  ],
  VpcVirtualRouter: [
    'Vpn',
    'Dhcp',
    'Dns',
    'Gateway',
    'Lb',
    'SourceNat',
    'StaticNat',
    'PortForwarding',
    'UserData',
    'NetworkACL',
  ],
  InternalLbVm: ['Lb'],
  SecurityGroupProvider: ['SecurityGroup'],
  ConfigDrive: ['UserData', 'Dhcp', 'Dns'],
  Ovs: ['Connectivity', 'StaticNat', 'PortForwarding', 'Lb'],
  Netscaler: ['Lb', 'StaticNat'],
  F5BigIp: ['Lb'],
  JuniperSRX: ['Firewall', 'SourceNat', 'StaticNat', 'PortForwarding'],
  PaloAlto: ['Firewall', 'SourceNat', 'StaticNat', 'PortForwarding'],
  NiciraNvp: ['Connectivity', 'SourceNat', 'StaticNat', 'PortForwarding'],
  CiscoVnmc: ['Firewall', 'SourceNat'],
  BrocadeVcs: ['Connectivity'],
  Opendaylight: ['Connectivity'],
  BigSwitchBcf: ['Connectivity'],
  GloboDns: ['Dns'],
  Tungsten: ['Connectivity', 'Firewall'],
  Nsx: ['Connectivity', 'Firewall', 'SourceNat'],
  Netris: ['Connectivity', 'Firewall', 'SourceNat'],
}

/** Providers of which single services may be switched on. */
const SINGLE = new Set(['Netscaler', 'ConfigDrive', 'Tungsten', 'NiciraNvp', 'Nsx'])

export const providers: Commands = {
  addNetworkServiceProvider: (call) => {
    const { params, state } = call
    const name = params.need('name')
    const services = SERVICES[name]
    if (services === undefined) throw invalid(`Invalid Network Service Provider=${name}`)
    const physicalnetworkid = params.need('physicalnetworkid')
    if (!state.tables.physicalnetworks.has(physicalnetworkid))
      throw invalid('Unable to find physical network: entity does not exist')
    if (state.tables.providers.find((one) => one.name === name && one.physicalnetworkid === physicalnetworkid) !== null)
      throw internal(
        `The '${name}' provider already exists on physical network : PhysicalNetwork ${JSON.stringify({ uuid: physicalnetworkid })}`,
      )
    const wanted = params.list('servicelist')
    if (wanted.length > 0 && wanted.length < services.length && !SINGLE.has(name))
      throw invalid(
        `Cannot enable subset of Services, Please specify the complete list of Services for this Service Provider`,
      )
    const unknown = wanted.find((one) => !services.includes(one))
    if (unknown !== undefined) throw invalid(`Service ${unknown} is not supported by the provider ${name}`)
    const one = state.tables.providers.put({
      id: randomUUID(),
      name,
      physicalnetworkid,
      destinationphysicalnetworkid: params.text('destinationphysicalnetworkid'),
      state: 'Disabled',
      servicelist: wanted.length > 0 ? wanted : services,
      canenableindividualservice: SINGLE.has(name),
    })
    return job({
      ...providerJob(one),
      id: one.id,
      duration_ms: 500,
      event: providerEvent('SERVICE.PROVIDER.CREATE', 'Adding physical network ServiceProvider', one),
      end: () => view(need(call, one.id)),
    })
  },
  updateNetworkServiceProvider: (call) => {
    const { params, state } = call
    const one = need(call, params.need('id'))
    const wanted = params.text('state')
    const services = params.list('servicelist')
    return job({
      ...providerJob(one),
      duration_ms: 500,
      event: providerEvent('SERVICE.PROVIDER.UPDATE', 'Updating physical network ServiceProvider', one),
      begin: () => {
        if (wanted !== null && wanted.toLowerCase() === 'shutdown')
          throw invalid("Updating the provider state to 'Shutdown' is not supported")
        if (wanted !== null && !/^(enabled|disabled)$/i.test(wanted))
          throw invalid(`Unable to resolve state '${wanted}' to a supported value {Enabled or Disabled}`)
        if (services.length > 0 && !one.canenableindividualservice)
          throw invalid(`Cannot update set of Services for this Service Provider '${one.name}'`)
        if (wanted !== null && /^enabled$/i.test(wanted) && !isReady(call, one))
          throw internal(`Provider is not ready, cannot Enable the provider, please configure the provider first`)
      },
      end: () =>
        view(
          state.tables.providers.put({
            ...need(call, one.id),
            state: wanted === null ? one.state : /^enabled$/i.test(wanted) ? 'Enabled' : 'Disabled',
            servicelist: services.length > 0 ? services : one.servicelist,
          }),
        ),
    })
  },
  listNetworkServiceProviders: (call) => {
    const tests = (['physicalnetworkid', 'name', 'state'] as const).map((name) => ({ name, test: same(call, name) }))
    const keyword = keywordTest(call)
    return paged(
      call,
      call.state.tables.providers.filter(
        (one) => keyword(one.name) && tests.every(({ name, test }) => test(one[name])),
      ),
      view,
    )
  },
  /** providertype is declared as a UUID over a text field, so the parameter check refuses every value of it before this runs. */
  createVirtualRouterElement: createElement(
    'virtualrouter',
    ['VirtualRouter', 'VpcVirtualRouter'],
    'Failed to add Virtual Router entity to physical network',
  ),
  createInternalLoadBalancerElement: createElement(
    'internallb',
    ['InternalLbVm'],
    'Failed to add Internal Load Balancer entity to physical network',
  ),
  configureVirtualRouterElement: configureElement('virtualrouter', 'Failed to configure the virtual router element'),
  configureInternalLoadBalancerElement: configureElement(
    'internallb',
    'Cannot invoke "org.apache.cloudstack.network.element.InternalLoadBalancerElementService.configureInternalLoadBalancerElement(long, boolean)" because "service" is null',
  ),
  configureOvsElement: configureElement('ovs', 'Failed to configure the ovs element'),
  listVirtualRouterElements: listElements('virtualrouter'),
  listInternalLoadBalancerElements: listElements('internallb'),
  listOvsElements: listElements('ovs'),
}

function need(call: Call, id: string): Provider {
  const one = call.state.tables.providers.get(id)
  if (one === null) throw invalid("Network Service Provider doesn't exist: entity does not exist")
  return one
}

function providerJob(one: Provider): { instancetype: string; instanceid: string; queue: string } {
  return { instancetype: 'PhysicalNetworkServiceProvider', instanceid: one.id, queue: `provider/${one.id}` }
}

function providerEvent(type: string, description: string, one: Provider): EventSubject {
  return {
    type,
    description: `${description}: ${one.name}`,
    resourcetype: 'PhysicalNetworkServiceProvider',
    resourceid: one.id,
    resourcename: one.name,
  }
}

function view(one: Provider): Record<string, Json> {
  return {
    id: one.id,
    name: one.name,
    physicalnetworkid: one.physicalnetworkid,
    state: one.state,
    servicelist: one.servicelist,
    canenableindividualservice: one.canenableindividualservice,
  }
}

const NEEDS_ELEMENT = new Set(['VirtualRouter', 'VpcVirtualRouter', 'InternalLbVm', 'Ovs'])
const NEEDS_DEVICE = new Set([
  'Netscaler',
  'F5BigIp',
  'JuniperSRX',
  'PaloAlto',
  'NiciraNvp',
  'CiscoVnmc',
  'BrocadeVcs',
  'Opendaylight',
  'BigSwitchBcf',
  'GloboDns',
  'Tungsten',
  'Nsx',
  'Netris',
])

/** An element must exist and be enabled first; appliances have none here and are never ready. */
function isReady(call: Call, one: Provider): boolean {
  if (NEEDS_DEVICE.has(one.name)) return false
  return (
    !NEEDS_ELEMENT.has(one.name) ||
    call.state.tables.elements.find((element) => element.nspid === one.id && element.enabled) !== null
  )
}

function createElement(kind: Element['kind'], names: string[], error: string): Handler {
  return (call) => {
    const { params, state } = call
    const provider = state.tables.providers.get(params.need('nspid'))
    if (
      provider === null ||
      !names.includes(provider.name) ||
      state.tables.elements.find((one) => one.nspid === provider.id) !== null
    )
      throw internal(error)
    const element = state.tables.elements.put({ id: randomUUID(), kind, nspid: provider.id, enabled: false })
    return job({
      instancetype: 'None',
      instanceid: element.id,
      id: element.id,
      duration_ms: 300,
      end: () => elementView(element),
    })
  }
}

function configureElement(kind: Element['kind'], error: string): Handler {
  return (call) => {
    const { params, state } = call
    const id = params.need('id')
    return job({
      instancetype: 'None',
      instanceid: id,
      duration_ms: 300,
      begin: () => {
        if (state.tables.elements.get(id)?.kind !== kind) throw internal(error)
      },
      end: () => {
        const element = state.tables.elements.get(id)
        if (element === null) throw internal(error)
        return elementView(state.tables.elements.put({ ...element, enabled: params.bool('enabled') ?? false }))
      },
    })
  }
}

function listElements(kind: Element['kind']): Handler {
  return (call) => {
    const byId = idTest(call)
    const nsp = same(call, 'nspid')
    const enabled = call.params.bool('enabled')
    return pagedByLength(
      call,
      call.state.tables.elements.filter(
        (one) => one.kind === kind && byId(one.id) && nsp(one.nspid) && (enabled === null || one.enabled === enabled),
      ),
      elementView,
    )
  }
}

function elementView(one: Element): Record<string, Json> {
  return { id: one.id, nspid: one.nspid, enabled: one.enabled }
}
