// The words of a command: how an operation name (`vmNicAdd`) becomes `groundplane vm nic-add`.
import type { Area } from '#src/contract/route.ts'

export interface CommandName {
  /** First word: the noun in kebab-case. */
  group: string
  /** Second word: the rest of the operation name in kebab-case. */
  command: string
  /** A shorter second word that is understood as well. */
  alias?: string
}

/** Nouns of several words that no area is named after. The longest that fits is taken. */
const NOUNS = [
  'appEvent', 'blockImage', 'bootImage', 'diskOffering', 'dhcpLease', 'dhcpReservation', 'dhcpScope', 'dnsRecord', 'dnsZone',
  'importCandidate', 'ipamAddress', 'ipamPrefix', 'ipamRole', 'ipamSite', 'ipamVlan', 'osType',
  'serviceOffering', 'serviceProvider', 'systemVm',
] // biome-ignore format: a list of words

/**
 * What people look for under one word: operations that begin with the noun belong to the group, the rest of their name is
 * the command (`vmDiskAttach` is `vm disk-attach`), after the prefix where there is one (`vgpuProfileList` is
 * `gpu profile-list`). The first that fits is taken.
 */
const FAMILIES: readonly { noun: string; group: string; prefix?: string }[] = [
  { noun: 'vm', group: 'vm' },
  { noun: 'bmc', group: 'bmc' },
  { noun: 'kvm', group: 'kvm' },
  { noun: 'volume', group: 'volume' },
  { noun: 'publicIp', group: 'ip' },
  { noun: 'portForwarding', group: 'forward' },
  { noun: 'firewallRule', group: 'firewall' },
  { noun: 'gpu', group: 'gpu' },
  { noun: 'vgpuProfile', group: 'gpu', prefix: 'profile' },
  { noun: 'guestNetwork', group: 'network' },
  { noun: 'network', group: 'network' },
  { noun: 'camera', group: 'camera' },
  { noun: 'nvr', group: 'nvr' },
  { noun: 'node', group: 'node' },
  { noun: 'decommission', group: 'node', prefix: 'decommission' },
  { noun: 'rollback', group: 'node', prefix: 'rollback' },
  { noun: 'wipe', group: 'node', prefix: 'wipe' },
  { noun: 'hostStorage', group: 'node', prefix: 'storage' },
  { noun: 'hostDisk', group: 'node', prefix: 'disk' },
  { noun: 'clusterstore', group: 'node', prefix: 'clusterstore' },
  { noun: 'eligibleNics', group: 'node', prefix: 'eligible-nics' },
  { noun: 'frr', group: 'node', prefix: 'routing' },
]

/** Groups that read better, or that are words of the program itself. */
const GROUPS: Readonly<Record<string, string>> = {
  event: 'events',
  agent: 'agent-api',
  lab: 'lab-api',
  control: 'control-api',
  context: 'context-api',
  completion: 'completion-api',
  status: 'status-api',
  search: 'search-api',
  login: 'login-api',
  help: 'help-api',
}

/** Second names of groups: the noun that the operations have, for those who know that one. */
export const GROUP_ALIASES: Readonly<Record<string, string>> = {
  ip: 'public-ip',
  forward: 'port-forwarding',
  firewall: 'firewall-rule',
  network: 'guest-network',
}

/** Operations whose command is not the rest of their name. */
const COMMANDS: Readonly<Record<string, string>> = {
  eventStream: 'follow',
  cameraEventStreamOpen: 'watch',
  cameraLatestGet: 'snapshot',
  cameraClipGet: 'clip',
  nodeHealthRead: 'health',
  nodeSetupStart: 'setup',
  nodeNicsList: 'nics',
  hostDiskList: 'disks',
  clusterstoreDiskList: 'clusterstore-disks',
  eligibleNicsList: 'eligible-nics',
  frrDashboardRead: 'routing',
  decommissionStart: 'decommission',
  rollbackStart: 'rollback',
  fleetHealthRead: 'health',
}

/** The thing a group is mostly about: its commands do without its word (`gpu convert` is `gpu device-convert`). */
const MAIN_THINGS: Readonly<Record<string, string>> = { gpu: 'device' }

export function commandName(operation: string, area: Pick<Area, 'name'>): CommandName {
  const words = wordsOf(operation)
  const family = FAMILIES.find(({ noun }) => isOf(operation, noun))
  const noun = family === undefined ? nounOf(words, area.name) : wordsOf(family.noun).length
  const rest = [...(family?.prefix === undefined ? [] : [family.prefix]), ...words.slice(noun)]
  const plain = kebab(words.slice(0, noun))
  const group = family?.group ?? GROUPS[plain] ?? plain
  const main = MAIN_THINGS[group]
  return {
    group,
    // An operation that is its noun alone still needs a verb.
    command: COMMANDS[operation] ?? (kebab(rest) || 'get'),
    ...(main !== undefined && rest.length > 1 && rest[0]?.toLowerCase() === main
      ? { alias: kebab(rest.slice(1)) }
      : {}),
  }
}

/** Verbs that people try first, each with those that mean it where no command is called so. */
const USUAL: readonly (readonly [string, readonly string[]])[] = [
  ['ls', ['list']],
  ['show', ['get']],
  ['create', ['provision', 'acquire', 'register', 'allocate', 'add']],
  ['delete', ['destroy', 'release', 'remove', 'revoke', 'end']],
]

/** The usual verbs of a group's commands, each of which is given with all its names. */
export function verbAliases(commands: readonly (readonly string[])[]): Map<string, string[]> {
  const taken = new Set(commands.flat())
  const aliases = new Map<string, string[]>()
  for (const [usual, verbs] of USUAL) {
    const names = taken.has(usual) ? undefined : commands.find((one) => one.some((name) => verbs.includes(name)))
    const [name] = names ?? []
    if (name !== undefined) aliases.set(name, [...(aliases.get(name) ?? []), usual])
  }
  return aliases
}

/** Whether an operation is one of a noun: `vmStart` of `vm`, but not `vmwareList`. */
export function isOf(operation: string, noun: string): boolean {
  return operation.startsWith(noun) && !/^[a-z0-9]/.test(operation.slice(noun.length))
}

/** `virtual_machine_id`, `interfaceName`, `bmcIP`, `X-Target-Node` in one spelling: words with dashes. */
export function kebabName(name: string): string {
  return kebab(name.split(/[^A-Za-z0-9]+/).flatMap(wordsOf))
}

function kebab(words: readonly string[]): string {
  return words.map((word) => word.toLowerCase()).join('-')
}

function wordsOf(name: string): string[] {
  return name.match(/[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z0-9]+|[0-9]+/g) ?? []
}

/** How many leading words name the thing: a noun of the table or the area's own name, else the first word. */
function nounOf(words: readonly string[], area_name: string): number {
  const text = kebab(words)
  const area = kebabName(area_name)
  const known = [...NOUNS.map(kebabName), area, area.replace(/s$/, '')]
  const fitting = known.filter((noun) => text === noun || text.startsWith(`${noun}-`))
  return Math.max(1, ...fitting.map((noun) => noun.split('-').length))
}
