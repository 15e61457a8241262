// What a change must leave behind, as data that a job can keep, and the one way to verify it. The platform's word
// that something succeeded is not believed: its lists are asked (and may need a moment until they show it).
import { type Static, Type } from 'typebox'
import { ApiError } from '#src/kernel/errors.ts'
import { untilAnswered } from '#src/kernel/lost-answers.ts'
import type { Args } from './args.ts'
import type { CloudStack } from './client.ts'
import { type Raw, rowsOf, textOf, textsOf } from './fields.ts'
import { type ListOptions, PAGE_SIZE, WHOLE_SCOPE } from './lists.ts'
import { CloudStackError } from './platform-error.ts'
import { fieldName } from './field-name.ts'

interface Thing {
  command: string
  key: string
  /** For messages. */
  word: string
  args: Args
  /** Lists inside of the row that lead to it. */
  within?: readonly string[]
}

/** What can be verified, and where the platform lists it. */
const THINGS = {
  vm: vmThing('virtual machine'),
  nic: vmThing('NIC', 'nic'),
  secondary_ip: vmThing('secondary address', 'nic', 'secondaryip'),
  volume: { command: 'listVolumes', key: 'volume', word: 'volume', args: WHOLE_SCOPE },
  vm_snapshot: { command: 'listVMSnapshot', key: 'vmSnapshot', word: 'snapshot', args: WHOLE_SCOPE },
  snapshot: { command: 'listSnapshots', key: 'snapshot', word: 'snapshot', args: WHOLE_SCOPE },
  affinity_group: { command: 'listAffinityGroups', key: 'affinitygroup', word: 'affinity group', args: WHOLE_SCOPE },
  ssh_key: { command: 'listSSHKeyPairs', key: 'sshkeypair', word: 'SSH key', args: WHOLE_SCOPE },
  user_data: { command: 'listUserData', key: 'userdata', word: 'user data', args: WHOLE_SCOPE },
  template: {
    command: 'listTemplates', key: 'template', word: 'template', args: { templatefilter: 'all', listall: true },
  }, // biome-ignore format: one record
  iso: { command: 'listIsos', key: 'iso', word: 'ISO image', args: { isofilter: 'all', listall: true } },
  network: { command: 'listNetworks', key: 'network', word: 'guest network', args: WHOLE_SCOPE },
  port_forwarding: {
    command: 'listPortForwardingRules', key: 'portforwardingrule', word: 'port-forwarding rule', args: WHOLE_SCOPE,
  }, // biome-ignore format: one record
  firewall_rule: { command: 'listFirewallRules', key: 'firewallrule', word: 'firewall rule', args: WHOLE_SCOPE },
  egress_rule: { command: 'listEgressFirewallRules', key: 'firewallrule', word: 'egress rule', args: WHOLE_SCOPE },
  load_balancer: {
    command: 'listLoadBalancerRules',
    key: 'loadbalancerrule',
    word: 'load-balancer rule',
    args: WHOLE_SCOPE,
  },
  /** Of a rule, which is its argument. */
  balanced_machine: {
    command: 'listLoadBalancerRuleInstances', key: 'loadbalancerruleinstance', word: 'machine of the load-balancer rule', args: {},
  }, // biome-ignore format: one record
  public_ip: {
    command: 'listPublicIpAddresses', key: 'publicipaddress', word: 'public IP', args: { ...WHOLE_SCOPE, allocatedonly: false },
  }, // biome-ignore format: one record
  /** Has no filter by id: `where` finds it. */
  provider: {
    command: 'listNetworkServiceProviders', key: 'networkserviceprovider', word: 'network service provider', args: {},
  }, // biome-ignore format: one record
  router_element: elementThing('listVirtualRouterElements', 'virtualrouterelement'),
  lb_element: elementThing('listInternalLoadBalancerElements', 'internalloadbalancerelement'),
  ovs_element: elementThing('listOvsElements', 'ovselement'),
  gpu_device: { command: 'listGpuDevices', key: 'gpudevice', word: 'GPU device', args: {} },
  vgpu_profile: { command: 'listVgpuProfiles', key: 'vgpuprofile', word: 'vGPU profile', args: {} },
  disk_offering: {
    command: 'listDiskOfferings', key: 'diskoffering', word: 'disk offering', args: { listall: true, state: 'all' },
  }, // biome-ignore format: one record
  event: { command: 'listEvents', key: 'event', word: 'event', args: WHOLE_SCOPE },
  directory: { command: 'listLdapConfigurations', key: 'LdapConfiguration', word: 'directory server', args: {} },
  saml_user: { command: 'listSamlAuthorization', key: 'samlauthorization', word: 'user', args: {} },
} as const satisfies Record<string, Thing>

export type ThingName = keyof typeof THINGS

function vmThing(word: string, ...within: string[]): Thing {
  const details = 'min,group,nics,servoff,tmpl,iso,affgrp'
  return { command: 'listVirtualMachines', key: 'virtualmachine', word, args: { ...WHOLE_SCOPE, details }, within }
}

function elementThing(command: string, key: string): Thing {
  return { command, key, word: 'element of a network service provider', args: {} }
}

const Expected = Type.Union([
  Type.String(),
  Type.Number(),
  /** `false` is also true of a field that is left out, as the platform does with some flags. */
  Type.Boolean(),
  /** The field is empty or left out. */
  Type.Null(),
  /** One of these. */
  Type.Array(Type.String()),
  /** Any other value. */
  Type.Object({ not: Type.String() }),
  /** Storage rounds sizes up. */
  Type.Object({ at_least: Type.Number(), below: Type.Optional(Type.Number()) }),
  /** A list that holds exactly these texts, or things with these ids. */
  Type.Object({ exactly: Type.Array(Type.String()) }),
])
type Expected = Static<typeof Expected>

/** Names of fields and arguments are the platform's. `$id`: what the call itself has made. */
export const Postcondition = Type.Object({
  thing: Type.Unsafe<ThingName>(Type.String()),
  args: Type.Record(Type.String(), Type.String()),
  /** Which of the rows; all of them when left out. */
  where: Type.Optional(Type.Record(Type.String(), Type.String())),
  /** One of these rows shows all of this. */
  expect: Type.Record(Type.String(), Expected),
  /** There may also be no such row; with an empty `expect` there must be none. */
  gone: Type.Optional(Type.Literal(true)),
})
export type Postcondition = Static<typeof Postcondition>

/** The platform shows no trace of the change; the reason is for whoever reads the code. */
export interface Unverified {
  unverified: string
}

export type Verification = Postcondition | Unverified

export function unverified(reason: string): Unverified {
  return { unverified: reason }
}

export function isPostcondition(verification: Verification): verification is Postcondition {
  return 'thing' in verification
}

/** The expectations without those that the request leaves out. */
export function given(expect: Record<string, Expected | undefined>): Record<string, Expected> {
  const set = Object.entries(expect).filter((entry): entry is [string, Expected] => entry[1] !== undefined)
  return Object.fromEntries(set)
}

export interface Observation {
  holds: boolean
  /** What is there, where that is not what is expected. */
  words: string
  /** Jobs of the platform that are changing it at the moment. */
  pending_job_ids: string[]
}

/** Asks once. `made_id` stands in for `$id`. */
export async function observe(
  cloudstack: CloudStack,
  postcondition: Postcondition,
  made_id: string | null,
  options: ListOptions = {},
): Promise<Observation> {
  const thing: Thing = THINGS[postcondition.thing]
  // Without the id any other thing of the kind would answer for the one that was made.
  if (made_id === null && namesMade(postcondition)) {
    const words = `it did not say which ${thing.word} it made; look for it before you repeat this`
    return { holds: false, words, pending_job_ids: [] }
  }
  const args = filled(postcondition.args, made_id)
  const where = filled(postcondition.where ?? {}, made_id)
  const top = await listed(cloudstack, thing, args, options)
  const rows = (thing.within ?? [])
    .reduce((found, name) => found.flatMap((row) => rowsOf(row, name)), top)
    .filter((row) => Object.entries(where).every(([name, value]) => textOf(row, name) === value))
  const pending_job_ids = top
    .filter((row) => textOf(row, 'jobstatus') === '0')
    .flatMap((row) => textOf(row, 'jobid') ?? [])
  return { ...judged(postcondition, thing, rows), pending_job_ids }
}

function judged(
  postcondition: Postcondition,
  { word }: Thing,
  rows: readonly Raw[],
): Omit<Observation, 'pending_job_ids'> {
  const expected = Object.entries(postcondition.expect)
  const [first] = rows
  if (first === undefined) return { holds: postcondition.gone === true, words: `there is no such ${word}` }
  if (postcondition.gone === true && expected.length === 0) return { holds: false, words: `the ${word} is still there` }
  const holds = rows.some((row) => expected.every(([name, value]) => shows(row, name, value)))
  const off = expected
    .filter(([name, value]) => !shows(first, name, value))
    .map(([name, value]) => difference(first, name, value))
  return { holds, words: `the ${word} ${off.join(' and ')}` }
}

function shows(row: Raw, name: string, expected: Expected): boolean {
  const text = textOf(row, name)
  const blank = text === null || text === ''
  if (expected === null || expected === '') return blank
  if (expected === false) return blank || text === 'false'
  if (typeof expected !== 'object') return text === String(expected)
  if (Array.isArray(expected)) return text !== null && expected.includes(text)
  if ('not' in expected) return !blank && text !== expected.not
  if ('exactly' in expected) return sameTexts(elementsOf(row, name), expected.exactly)
  const number = Number(text ?? Number.NaN)
  return number >= expected.at_least && number < (expected.below ?? Number.POSITIVE_INFINITY)
}

/** The platform writes names of services in its own way. */
function sameTexts(one: readonly string[], other: readonly string[]): boolean {
  const plain = (texts: readonly string[]) => [...new Set(texts.map((text) => text.toLowerCase()))].toSorted()
  return plain(one).join('\n') === plain(other).join('\n')
}

function elementsOf(row: Raw, name: string): string[] {
  const objects = rowsOf(row, name)
  return objects.length === 0 ? textsOf(row, name) : objects.map((one) => textOf(one, 'id') ?? '')
}

function difference(row: Raw, name: string, expected: Expected): string {
  const text = textOf(row, name)
  const seen = elementsOf(row, name).length > 0 ? elementsOf(row, name).join(', ') : (text ?? 'nothing')
  const wanted = wordsFor(expected)
  return name === 'state'
    ? `is ${seen}, expected ${wanted}`
    : `has ${seen} as ${FIELDS[name] ?? fieldName(name)}, expected ${wanted}`
}

function wordsFor(expected: Expected): string {
  if (expected === null) return 'nothing'
  if (typeof expected !== 'object') return String(expected)
  if (Array.isArray(expected)) return expected.join(' or ')
  if ('not' in expected) return 'another'
  if ('exactly' in expected) return expected.exactly.join(', ') || 'none'
  return expected.below === undefined
    ? `${expected.at_least} or more`
    : `${expected.at_least}, and less than ${expected.below}`
}

/** Fields that callers know by another name than the platform’s words make. */
const FIELDS: Readonly<Record<string, string>> = {
  size: 'size_bytes',
  cpunumber: 'cpu_cores',
  cpuspeed: 'cpu_speed_mhz',
  memory: 'memory_mb',
  isdefault: 'is_default',
  isstaticnat: 'associated',
  privateport: 'private_port_start',
  privateendport: 'private_port_end',
  affinitygroup: 'affinity_groups',
  servicelist: 'services',
  managedstate: 'managed_state',
  displaytext: 'display_text',
  displayname: 'display_name',
  networkdomain: 'network_domain',
  miniops: 'min_iops',
  maxiops: 'max_iops',
  current: 'is_current',
}

function filled(args: Readonly<Record<string, string>>, made_id: string | null): Record<string, string> {
  return Object.fromEntries(
    Object.entries(args).map(([name, value]) => [name, value === MADE_ID ? (made_id ?? '') : value]),
  )
}

const MADE_ID = '$id'

function namesMade({ args, where = {} }: Postcondition): boolean {
  return [args, where].some((named) => Object.values(named).includes(MADE_ID))
}

/** An id that the platform does not know any more is refused, not answered with nothing. */
async function listed(cloudstack: CloudStack, thing: Thing, args: Args, options: ListOptions): Promise<Raw[]> {
  try {
    const paged = { ...thing.args, ...args, page: 1, pagesize: PAGE_SIZE }
    return rowsOf(await cloudstack.call(thing.command, paged, options), thing.key)
  } catch (error) {
    if (error instanceof CloudStackError && error.status === 431) return []
    throw error
  }
}

export interface Verifying {
  signal?: AbortSignal
  made_id?: string | null
  /** How long a platform that does not answer is asked again. */
  patience_ms?: number
}

const ASK_AGAIN_MS = [250, 750, 2000]
const PATIENCE_MS = 60_000

/** What the platform keeps showing instead; null as soon as it shows what is expected. */
export async function findMismatch(
  cloudstack: CloudStack,
  postcondition: Postcondition,
  { signal, made_id = null, patience_ms = PATIENCE_MS }: Verifying = {},
): Promise<Observation | null> {
  const patience = { even_refused: true, for_ms: patience_ms }
  const check = () => untilAnswered(signal, () => observe(cloudstack, postcondition, made_id, { signal }), patience)
  let observation = await check()
  for (const wait_ms of ASK_AGAIN_MS) {
    if (observation.holds) return null
    await cloudstack.pause(wait_ms, signal)
    observation = await check()
  }
  return observation.holds ? null : observation
}

/** Throws CHANGE_NOT_SEEN when the platform keeps showing something else. */
export async function verify(
  cloudstack: CloudStack,
  postcondition: Postcondition,
  options: Verifying = {},
): Promise<void> {
  const observation = await findMismatch(cloudstack, postcondition, options)
  if (observation === null) return
  throw new ApiError('CHANGE_NOT_SEEN', `The compute platform reports success, but ${observation.words}.`)
}

/** Everything that the postcondition names: jobs of the platform are about one of these. */
export function subjectsOf(postcondition: Postcondition, made_id: string | null): Set<string> {
  const named = [postcondition.args, postcondition.where ?? {}].flatMap((args) => Object.values(filled(args, made_id)))
  return new Set(named)
}
