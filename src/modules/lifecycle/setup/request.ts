// What a request for a setup must fulfil (node-lifecycle.md 6.1): every problem at once, and every VLAN filled in.
import { isIP } from 'node:net'
import type { NetworkRole, NodeSetupRequest } from '#src/contract/nodes/lifecycle-setup.ts'
import type { NodeNic } from '#src/contract/nodes/nics.ts'
import type { FieldError } from '#src/contract/problem.ts'
import type { ResolvedNic, SetupInput } from './input.ts'

/** What the node, the address store and the platform say. */
export interface RequestFacts {
  nics: readonly NodeNic[]
  /** In words, for messages. */
  site: string
  vlansOf(role: NetworkRole): readonly number[]
  /** Names of guest networks. */
  networks: ReadonlySet<string>
  /** Of a node that joins the management cluster. */
  joining: JoinFacts | undefined
}

export interface JoinFacts {
  /** Management address of the node. */
  address: string | null
  /** Addresses of the members. */
  members: readonly string[]
  virtual_addresses: readonly string[]
  /** Where all members find the database. */
  database_host: string | undefined
}

export interface CheckedRequest {
  problems: FieldError[]
  warnings: string[]
  nics: ResolvedNic[]
  bond: SetupInput['bond']
  guest_bridges: SetupInput['guest_bridges']
}

export function checkRequest(body: NodeSetupRequest, facts: RequestFacts): CheckedRequest {
  const checked: CheckedRequest = { problems: [], warnings: [], nics: [], bond: null, guest_bridges: [] }
  const refuse = (path: string, message: string): void => void checked.problems.push({ path: `body.${path}`, message })
  const nicOf = new Map(facts.nics.map((nic) => [nic.interfaceName, nic]))
  checkBond(body, nicOf, checked, refuse)
  for (const [name, assignment] of Object.entries(body.assignments)) {
    const path = `assignments.${name}`
    checkInterface(path, name, nicOf, checked.bond?.name, refuse)
    checked.nics.push({
      interface: name,
      untagged: (assignment.untagged ?? '') === '' ? null : (assignment.untagged as NetworkRole),
      tagged: (assignment.tagged ?? []).map(({ network, vlans = [] }, at) => {
        const filled = vlans.length > 0 ? vlans : facts.vlansOf(network)
        if (filled.length === 0)
          refuse(
            `${path}.tagged.${at}.vlans`,
            `${facts.site} has no VLAN of the role ${network}; name one or record it`,
          )
        return { role: network, vlans: [...filled] }
      }),
    })
    checkVlans(path, checked.nics.at(-1), refuse)
  }
  checkRoles(body, checked.nics, nicOf, refuse)
  checkGuestBridges(body, nicOf, facts, checked, refuse)
  if (body.role === 'management') checkManagement(body, checked.nics, refuse)
  if (facts.joining !== undefined) checkJoining(facts.joining, refuse)
  return checked
}

type Refuse = (path: string, message: string) => void
type Nics = ReadonlyMap<string, NodeNic>

function checkInterface(path: string, name: string, nics: Nics, bond: string | undefined, refuse: Refuse): void {
  if (name === bond) return
  const nic = nics.get(name)
  if (nic === undefined) return refuse(path, `the node has no interface ${name}; it has ${[...nics.keys()].join(', ')}`)
  if (nic.isBondSlave) refuse(path, `${name} is enslaved to ${nic.bondMaster ?? 'a bond'}; assign that one`)
  else if (!nic.isPhysical && !nic.isBondMaster) refuse(path, `${name} is neither a physical NIC nor a bond`)
}

function checkVlans(path: string, nic: ResolvedNic | undefined, refuse: Refuse): void {
  const seen = new Map<number, NetworkRole>()
  for (const { role, vlans } of nic?.tagged ?? []) {
    for (const vlan of vlans) {
      const other = seen.get(vlan)
      if (other !== undefined) refuse(`${path}.tagged`, `VLAN ${vlan} carries both ${other} and ${role}`)
      seen.set(vlan, role)
    }
  }
}

/** A role has one place on the node, and management stays where the node is reached. */
function checkRoles(body: NodeSetupRequest, assigned: readonly ResolvedNic[], nics: Nics, refuse: Refuse): void {
  const places = new Map<NetworkRole, string>()
  for (const { interface: name, untagged, tagged } of assigned) {
    const roles = [...(untagged === null ? [] : [untagged]), ...tagged.map(({ role }) => role)]
    for (const role of roles) {
      const other = places.get(role)
      if (other !== undefined)
        refuse(
          `assignments.${name}`,
          `the role ${role} is assigned to ${other === name ? 'it twice' : `${other}, too`}`,
        )
      places.set(role, name)
    }
  }
  const reached = [...nics.values()].find((nic) => nic.isManagementNIC)?.interfaceName
  const management = places.get('management')
  if (reached === undefined) return
  if (management !== undefined && management !== reached)
    refuse(`assignments.${management}`, `the node is reached on ${reached}, which keeps the role management`)
  else if (body.assignments[reached] !== undefined && management === undefined)
    refuse(`assignments.${reached}`, `the node is reached on ${reached}, so it must keep the role management`)
}

function checkBond(body: NodeSetupRequest, nics: Nics, checked: CheckedRequest, refuse: Refuse): void {
  const members = body.bondSlaveOverride ?? []
  if (members.length === 0) return
  const names = Object.keys(body.assignments).filter((name) => !nics.has(name) && /^bond[0-9]{1,3}$/.test(name))
  const [name] = names
  if (name === undefined || names.length > 1) {
    refuse('bondSlaveOverride', 'exactly one assignment must name the new bond, such as bond0')
    return
  }
  checked.bond = { name, members: [...members] }
  const speeds = new Set<string>()
  for (const [at, member] of members.entries()) {
    const path = `bondSlaveOverride.${at}`
    const nic = nics.get(member)
    if (nic === undefined) refuse(path, `the node has no interface ${member}`)
    else if (!nic.isPhysical) refuse(path, `${member} is no physical NIC`)
    else if (nic.isManagementNIC) refuse(path, `${member} carries the management address and is never enslaved`)
    else if (nic.isBondSlave) refuse(path, `${member} is enslaved to ${nic.bondMaster ?? 'a bond'} already`)
    else if (body.assignments[member] !== undefined) refuse(path, `${member} has an assignment of its own`)
    else speeds.add(nic.speed)
    if (members.indexOf(member) !== at) refuse(path, `${member} is named twice`)
  }
  if (speeds.size > 1) checked.warnings.push(`The members of ${name} differ in speed: ${[...speeds].join(', ')}.`)
}

function checkGuestBridges(
  body: NodeSetupRequest,
  nics: Nics,
  { networks }: RequestFacts,
  checked: CheckedRequest,
  refuse: Refuse,
): void {
  for (const [at, { bridge, nic }] of (body.guest_bridges ?? []).entries()) {
    const path = `guest_bridges.${at}`
    if (!networks.has(bridge)) refuse(`${path}.bridge`, `no guest network is named ${bridge}`)
    if (nic !== checked.bond?.name && !nics.has(nic)) refuse(`${path}.nic`, `the node has no interface ${nic}`)
    if (checked.guest_bridges.some(({ network }) => network === bridge)) refuse(`${path}.bridge`, 'is named twice')
    checked.guest_bridges.push({ network: bridge, nic })
  }
}

const NOT_MANAGEMENT: ReadonlySet<NetworkRole> = new Set(['storage', 'benchmark', 'guest'])

function checkManagement(body: NodeSetupRequest, assigned: readonly ResolvedNic[], refuse: Refuse): void {
  const why = 'a management node carries no virtual machines and no disks of the store'
  if ((body.guest_bridges ?? []).length > 0) refuse('guest_bridges', why)
  if (body.benchmark_enabled === true) refuse('benchmark_enabled', why)
  for (const { interface: name, untagged, tagged } of assigned) {
    for (const role of [untagged, ...tagged.map((one) => one.role)]) {
      if (role !== null && NOT_MANAGEMENT.has(role)) refuse(`assignments.${name}`, `${role}: ${why}`)
    }
  }
}

/** What would fail on the way otherwise, when much has been done already. */
function checkJoining({ address, members, virtual_addresses, database_host }: JoinFacts, refuse: Refuse): void {
  if (address === null) return refuse('bmc_ip', 'the node has no management address; register it with node_ip')
  if (members.length === 0)
    refuse('role', 'the cluster has no member yet: name this node’s with `groundplane ha member-set`')
  if (members.includes(address)) refuse('bmc_ip', `another member has the address ${address}`)
  if (virtual_addresses.includes(address)) refuse('bmc_ip', `${address} is a virtual address of the cluster`)
  if (virtual_addresses.length > 0 && virtual_addresses.every((one) => isIP(one) !== isIP(address)))
    refuse('bmc_ip', `no virtual address is of the same kind as ${address}`)
  if (database_host !== undefined && LOCAL.test(database_host))
    refuse('role', `database.url leads to ${database_host || 'a socket'}, which a second member cannot reach`)
}

const LOCAL = /^(localhost|127\..*|\[?::1\]?|)$/
