// The nouns by what people look for, for a help page that fits on a screen.
import type { Area } from '#src/contract/route.ts'
import { commandName } from './command-names.ts'

/** What stands in no topic goes to the last one; `test/cli/commands.test.ts` finds nouns that are gone. */
export const TOPICS: readonly (readonly [string, readonly string[]])[] = [
  ['Machines', ['vm', 'volume', 'template', 'iso', 'os-type', 'service-offering', 'disk-offering', 'affinity-group', 'ssh-key', 'user-data', 'project', 'backup', 'gpu', 'import-candidate']],
  ['Networks', ['network', 'ip', 'forward', 'firewall', 'load-balancer', 'router', 'service-provider', 'mtu']],
  ['Addresses', ['dns-zone', 'dns-record', 'dhcp-scope', 'dhcp-reservation', 'dhcp-lease', 'ipam-site', 'ipam-role',
    'ipam-vlan', 'ipam-prefix', 'ipam-address', 'ddi']],
  ['Nodes', ['node', 'fleet', 'bmc', 'kvm', 'benchmark', 'ha']],
  ['Tenants, people', ['tenant', 'user', 'token', 'session', 'caller', 'password', 'audit']],
  ['What happens', ['events', 'job', 'timeline', 'app-event', 'alert']],
  ['Cameras', ['camera', 'nvr', 'face']],
  ['Platform', ['zone', 'cluster', 'host', 'system-vm', 'discovery']],
] // biome-ignore format: a table

const INDENT = 18
const WIDTH = 100

export function topHelp(areas: readonly Area[]): string {
  const nouns = new Set(
    areas.flatMap((area) =>
      Object.entries(area.routes)
        .filter(([, { access }]) => access !== 'cluster' && access !== 'callback')
        .map(([operation]) => commandName(operation, area).group),
    ),
  )
  const placed = new Set(TOPICS.flatMap(([, words]) => words))
  const rest = [...nouns].filter((noun) => !placed.has(noun)).sort()
  const topics = [...TOPICS, ['Service', rest] as const].map(
    ([topic, words]) => [topic, words.filter((word) => nouns.has(word))] as const,
  )
  const shown = topics.filter(([, words]) => words.length > 0).map(([topic, words]) => row(topic, words.join(', ')))
  return `Usage: groundplane NOUN VERB [NAME] [options]

  groundplane login https://cloud.example.internal
  groundplane vm list --state running
  groundplane vm start web-01 --wait
  groundplane node health
  groundplane search 10.1.0.31
  groundplane events follow

${shown.join('\n')}

${row('This program', 'login, context, status, doctor, search, completion; it also starts control, agent and lab')}

"groundplane NOUN" lists the verbs of a noun, "groundplane NOUN VERB --help" what a command takes and does.
list, show, create and delete work on every noun that has such a verb by another name (ls, get, provision, …).
Where an id is asked for, the name does as well; id:VALUE is taken as an id without looking.

General options: --url, --token, --context (or GROUNDPLANE_URL, GROUNDPLANE_TOKEN, GROUNDPLANE_CONTEXT), --version
Exit codes: 0 done, 1 failed or refused, 2 wrong command or input, 3 not allowed, 4 no such thing, 5 conflict,
            6 the service failed, 7 the service cannot be reached, 8 --wait ended first, 130 interrupted
`
}

/** Long lists go on below their beginning. */
function row(topic: string, text: string): string {
  const lines = ['']
  for (const word of text.split(' ')) {
    const line = lines.at(-1) ?? ''
    if (INDENT + line.length + word.length + 1 > WIDTH) lines.push(word)
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`
  }
  return `${topic.padEnd(INDENT)}${lines.join(`\n${' '.repeat(INDENT)}`)}`
}
