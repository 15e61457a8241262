// The area `fabric`: the routing daemons (FRR) of a node as a leaf of the overlay fabric.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { FabricDocument } from '#src/contract/nodes/desired-documents.ts'
import { ApiError } from '#src/kernel/errors.ts'
import type { DesiredArea } from './area.ts'
import { serviceRuns } from './commands.ts'
import type { ManagedFile, Place } from './managed-files.ts'
import { createPlannedArea } from './planned-area.ts'

const UNIT = 'frr'
const CONFIG = '/etc/frr/frr.conf'
const MARK = '! Written by Groundplane.'
const DAEMONS = '/etc/frr/daemons'

export function createFabricArea(place: Place, state_dir: string): DesiredArea {
  return createPlannedArea({
    name: 'fabric',
    schema: FabricDocument,
    place,
    state_dir,
    async plan(document) {
      await requireNoRouter(place)
      const effects = serviceRuns(place.host, UNIT, [CONFIG, DAEMONS])
      return { packages: document.packages, files: fabricFiles(document), effects }
    },
    // What the node told the fabric is withdrawn, so that nobody sends to it any more.
    before_removal: [
      ['systemctl', 'stop', UNIT],
      ['systemctl', 'disable', UNIT],
    ],
  })
}

/** Whoever made this node a router before keeps their configuration. */
async function requireNoRouter({ root }: Place): Promise<void> {
  const now = await readFile(join(root, CONFIG), 'utf8').catch(() => '')
  if (now.startsWith(MARK) || !/^router /m.test(now)) return
  throw new ApiError('DESIRED_CONFLICT', `${CONFIG} makes this node a router already; move it away first.`)
}

/** Exported for its test. The package brings a configuration without any router. */
export function fabricFiles({ as_number, address, route_reflectors }: FabricDocument): ManagedFile[] {
  const lines = [
    MARK,
    'frr defaults datacenter',
    `router bgp ${as_number}`,
    ` bgp router-id ${address}`,
    ' no bgp default ipv4-unicast',
    ' neighbor reflectors peer-group',
    ' neighbor reflectors remote-as internal',
    ` neighbor reflectors update-source ${address}`,
    ...route_reflectors.map((reflector) => ` neighbor ${reflector} peer-group reflectors`),
    ' address-family l2vpn evpn',
    '  neighbor reflectors activate',
    '  advertise-all-vni',
    ' exit-address-family',
    'exit',
  ]
  return [
    { kind: 'keys', path: DAEMONS, values: { bgpd: 'yes' }, separator: '=' },
    { kind: 'whole', path: CONFIG, text: `${lines.join('\n')}\n`, mode: 0o640, replaces: true },
  ]
}
