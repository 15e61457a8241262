// The area `base`: name, hosts, time zone, time servers, kernel settings and package repositories of a node.
import { isIP } from 'node:net'
import { BaseDocument } from '#src/contract/nodes/desired-documents.ts'
import { invalidField } from '#src/kernel/errors.ts'
import type { DesiredArea } from './area.ts'
import type { Effect } from './commands.ts'
import type { ManagedFile, Place } from './managed-files.ts'
import { type AreaPlan, createPlannedArea } from './planned-area.ts'

const SOURCES = '/etc/chrony/sources.d/groundplane.sources'
const REPOSITORIES = '/etc/apt/sources.list.d/groundplane.sources'
const ZONES = '/usr/share/zoneinfo'

export function createBaseArea(place: Place, state_dir: string): DesiredArea {
  return createPlannedArea({
    name: 'base',
    schema: BaseDocument,
    place,
    state_dir,
    plan: (document) => planBase(document, place),
  })
}

async function planBase(document: BaseDocument, { host }: Place): Promise<AreaPlan> {
  const { time_zone } = document
  for (const [at, { address }] of (document.hosts ?? []).entries()) {
    if (isIP(address) === 0) throw invalidField(`document.hosts.${at}.address`, `${address} is not an IP address`)
  }
  if (
    time_zone !== undefined &&
    (await host.list(ZONES)) !== null &&
    (await host.read(`${ZONES}/${time_zone}`)) === null
  )
    throw invalidField('document.time_zone', `the node does not know the time zone ${time_zone}`)
  return { packages: [], files: baseFiles(document), effects: baseEffects(document) }
}

/** Exported for its test. */
export function baseFiles(document: BaseDocument): ManagedFile[] {
  const { hostname, fqdn, hosts = [], time_zone, time_servers = [], sysctl = {}, repositories = [] } = document
  // A name with an address of its own must not lead to loopback: other programs ask who they are by it.
  const has_address = fqdn === undefined || hosts.some(({ names }) => names.includes(fqdn))
  const own_names = has_address ? [] : [`127.0.1.1 ${fqdn} ${hostname}`]
  const files: ManagedFile[] = [
    { kind: 'whole', path: '/etc/hostname', text: `${hostname}\n`, replaces: true },
    { kind: 'kernel', path: '/proc/sys/kernel/hostname', text: hostname },
    {
      kind: 'block',
      path: '/etc/hosts',
      lines: [...own_names, ...hosts.map(({ address, names }) => `${address} ${names.join(' ')}`)],
    },
  ]
  if (time_zone !== undefined) {
    files.push({ kind: 'link', path: '/etc/localtime', target: `${ZONES}/${time_zone}` })
    files.push({ kind: 'whole', path: '/etc/timezone', text: `${time_zone}\n`, replaces: true })
  }
  if (time_servers.length > 0) {
    const text = time_servers.map((server) => `server ${server} iburst\n`).join('')
    files.push({ kind: 'whole', path: SOURCES, text })
  }
  const settings = Object.entries(sysctl)
  if (settings.length > 0) {
    const text = settings.map(([key, value]) => `${key} = ${value}\n`).join('')
    files.push({ kind: 'whole', path: '/etc/sysctl.d/90-groundplane.conf', text })
    for (const [key, value] of settings) files.push({ kind: 'kernel', path: kernelPath(key), text: value })
  }
  for (const [at, { key }] of repositories.entries()) {
    if (key !== undefined) files.push({ kind: 'whole', path: keyPath(at), text: key })
  }
  if (repositories.length > 0) files.push({ kind: 'whole', path: REPOSITORIES, text: sourcesText(repositories) })
  return files.filter((file) => file.kind !== 'block' || file.lines.length > 0)
}

function baseEffects({ time_servers = [], repositories = [] }: BaseDocument): Effect[] {
  const effects: Effect[] = []
  if (time_servers.length > 0) effects.push({ commands: [['chronyc', 'reload', 'sources']], after: [SOURCES] })
  if (repositories.length > 0)
    effects.push({ commands: [['apt-get', '-q', 'update']], after: [REPOSITORIES], timeout_ms: 10 * 60_000 })
  return effects
}

function sourcesText(repositories: NonNullable<BaseDocument['repositories']>): string {
  return repositories
    .map(
      ({ uri, suites, components, key }, at) =>
      [
        'Types: deb', `URIs: ${uri}`, `Suites: ${suites.join(' ')}`, `Components: ${components.join(' ')}`,
        ...(key === undefined ? [] : [`Signed-By: ${keyPath(at)}`]), '',
      ].join('\n'), // biome-ignore format: one paragraph
    )
    .join('\n')
}

function keyPath(at: number): string {
  return `/etc/apt/keyrings/groundplane-${at + 1}.asc`
}

/** As sysctl reads it: with a slash in the name, slashes separate and dots belong to it. */
function kernelPath(key: string): string {
  return `/proc/sys/${key.includes('/') ? key : key.replaceAll('.', '/')}`
}
