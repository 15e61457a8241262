// The area `platform-agent`: the compute platform's agent on a hypervisor. It writes its own settings into the same file, so ours
// are single lines there.
import { PlatformAgentDocument } from '#src/contract/nodes/desired-documents.ts'
import { invalidField } from '#src/kernel/errors.ts'
import type { DesiredArea } from './area.ts'
import { serviceRuns } from './commands.ts'
import type { ManagedFile, Place } from './managed-files.ts'
import { createPlannedArea } from './planned-area.ts'

const UNIT = 'cloudstack-agent'
const PROPERTIES = '/etc/cloudstack/agent/agent.properties'

export function createPlatformAgentArea(place: Place, state_dir: string): DesiredArea {
  return createPlannedArea({
    name: 'platform-agent',
    schema: PlatformAgentDocument,
    place,
    state_dir,
    plan: (document) => ({
      packages: document.packages,
      files: [agentProperties(document)],
      effects: serviceRuns(place.host, UNIT, [PROPERTIES]),
    }),
    before_removal: [
      ['systemctl', 'stop', UNIT],
      ['systemctl', 'disable', UNIT],
    ],
  })
}

/** Exported for its test. */
export function agentProperties(document: PlatformAgentDocument): ManagedFile {
  const { management_hosts, port = 8250, zone, pod, cluster, guid, properties = {} } = document
  const own: Record<string, string> = {
    host: management_hosts.join(','),
    port: `${port}`,
    zone,
    pod,
    cluster,
    guid,
    'private.network.device': document.private_device,
    'public.network.device': document.public_device,
    'guest.network.device': document.guest_device,
  }
  const twice = Object.keys(properties).find((name) => Object.hasOwn(own, name))
  if (twice !== undefined) throw invalidField(`document.properties.${twice}`, 'it has a field of its own')
  // A backslash at the end would take the next line with it.
  const values = Object.entries({ ...own, ...properties }).map(([name, value]) => [
    name,
    value.replaceAll('\\', '\\\\'),
  ])
  return { kind: 'keys', path: PROPERTIES, values: Object.fromEntries(values), separator: '=' }
}
