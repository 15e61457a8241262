// The words of a command: how an operation name (`vmNicAdd`) becomes `groundplane vm nic-add`.
import type { Area } from '#src/contract/route.ts'

export interface CommandName {
  /** First word: the noun in kebab-case. */
  group: string
  /** Second word: the rest of the operation name in kebab-case. */
  command: string
}

/** Nouns of several words that no area is named after. The longest that fits is taken. */
const NOUNS = [
  'appEvent', 'blockImage', 'diskOffering', 'dhcpLease', 'dhcpReservation', 'dhcpScope', 'dnsRecord', 'dnsZone',
  'eligibleNics', 'gpuCard', 'gpuDevice', 'gpuProfile', 'guestNetwork', 'ipamAddress', 'ipamPrefix', 'ipamSite',
  'ipamVlan', 'nvrPassword', 'portForwarding', 'publicIp', 'remoteKvm', 'serviceOffering', 'serviceProvider',
  'vgpuProfile', 'vmSettings', 'vmSnapshot',
] // biome-ignore format: a list of words

/** Groups that read better, or that are words of the program itself. */
const GROUPS: Readonly<Record<string, string>> = {
  event: 'events',
  agent: 'agent-api',
  lab: 'lab-api',
  control: 'control-api',
  context: 'context-api',
  completion: 'completion-api',
  status: 'status-api',
  login: 'login-api',
  help: 'help-api',
}

/** Operations whose command is not the rest of their name. */
const COMMANDS: Readonly<Record<string, string>> = { eventStream: 'follow' }

export function commandName(operation: string, area: Pick<Area, 'name'>): CommandName {
  const words = wordsOf(operation)
  const noun = nounOf(words, area.name)
  const group = kebab(words.slice(0, noun))
  return {
    group: GROUPS[group] ?? group,
    // An operation that is its noun alone still needs a verb.
    command: COMMANDS[operation] ?? (kebab(words.slice(noun)) || 'get'),
  }
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
